"""The newest samples of a node, and the maintained inverse of its step."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from anabranch.errors import ConfigurationError, ModelError
from anabranch.learners.doml_window_endless import Endless
from anabranch.learners.doml_window_form import Inverse, WindowSettings
from anabranch.learners.doml_window_inverse import Step
from anabranch.learners.doml_window_slots import Slots
from anabranch.learners.doml_window_sums import Sums
from anabranch.learners.states import saved_array, saved_value, saved_whole
from anabranch.protocol import Array, freeze

__all__ = ["Window"]

_ENOUGH = 16
"""Rows that tell whether a stream is sparse."""
_MOST = 2**62


class Window:
    """The newest rows (x, y), their X'Y, and the solution of (c I + k X'X) P = R.

    Adding rows only stores them; `solve` brings the inverse up to date. So it does not matter,
    bit for bit, whether rows came one by one or together.

    Three forms, all of the same system: *primal* keeps the d x d inverse by rank-one steps,
    *dual* an s x s inverse over the rows, *sparse* that with the rows' zeros left out. "auto"
    chooses by the shape whenever the inverse is built anew: dual where s < d/4, sparse where
    s < d/2 and at most a tenth of the values is not zero, else primal. The inverse is built
    anew after `refactorise` rows, when k or c changed, when so many rows changed that it is
    cheaper, and when a row that goes would take too many digits along.

    Parameters
    ----------
    features, outputs : d, q
    capacity : s; None keeps X'X of all rows instead of rows, in the primal form
    dtype : of rows and solutions; float32 is off by some 1e-7 times the condition of the matrix
    form : see above
    refactorise : rows between; None: 1000, or 100 for primal float32

    Raises
    ------
    ConfigurationError
        A value is out of range.

    Examples
    --------
    >>> window = Window(2, 1, capacity=2)
    >>> window.add(np.array([[9.0, 9.0], [1.0, 0.0], [0.0, 2.0]]), np.ones((3, 1)))
    >>> window.tune(scale=1.0, shift=2.0)
    >>> window.solve(window.cross)  # (2 I + diag(1, 4))^-1 (1, 2)'
    array([[0.33333333],
           [0.33333333]])
    """

    def __init__(
        self,
        features: int,
        outputs: int,
        capacity: int | None,
        *,
        dtype: str = "float64",
        form: str = "auto",
        refactorise: int | None = None,
    ) -> None:
        self.settings = WindowSettings.of(features, capacity, dtype, form, refactorise)
        self._sums = Sums(np.zeros((features, outputs)), self.settings.type)
        self._rows = self.settings.rows("", outputs)
        self._inverse: Inverse | None = None
        self._using = ""
        self._chosen_at = self._age = 0
        self._step = Step(1.0, 2.0, self.settings.floor)
        self._stale = True
        self.renewals = 0

    @property
    def outputs(self) -> int:
        """q."""
        return int(self._sums.total.shape[1])

    @property
    def count(self) -> int:
        """Rows held, or summed up where none are held."""
        return self._rows.count

    @property
    def seen(self) -> int:
        """Rows taken since the beginning."""
        return self._rows.seen

    @property
    def using(self) -> str:
        """The form in use; "" before the first `solve`."""
        return self._using

    @property
    def trace(self) -> float:
        """tr X'X."""
        return self._rows.trace

    @property
    def cross(self) -> Array:
        """X'Y (d, q), frozen: a view, which changes with the rows."""
        self._rows.refresh(self._sums, only_lost=True)
        return freeze(self._sums.cross.view())

    @property
    def rows(self) -> tuple[Array, Array]:
        """X (count, d) and Y (count, q), the newest row last; frozen copies.

        Empty where no rows are held.
        """
        if isinstance(self._rows, Endless):
            empty = np.zeros((0, self.settings.features)), np.zeros((0, self.outputs))
            return freeze(empty[0]), freeze(empty[1])
        order = self._rows.order
        return freeze(self._rows.matrix()[order]), freeze(self._rows.labels[order])

    def add(self, X: Array, Y: Array) -> None:
        """Take rows X (n, d) and Y (n, q), oldest first; the oldest beyond `capacity` go."""
        kind = self.settings.type
        self._rows.push(np.ascontiguousarray(X, kind), np.ascontiguousarray(Y, kind), self._sums)

    def tune(self, scale: float, shift: float) -> None:
        """Set k and c of c I + k X'X; a change means that the inverse is built anew.

        Raises
        ------
        ConfigurationError
            One is not finite, k < 0, or c <= 0.
        """
        if not (0.0 <= scale < np.inf and 0.0 < shift < np.inf):
            raise ConfigurationError(
                f"no step: scale={scale!r}, shift={shift!r}; allowed: scale >= 0, shift > 0"
            )
        step = Step(float(scale), float(shift), self.settings.floor)
        self._stale |= step != self._step
        self._step = step

    @property
    def due(self) -> bool:
        """Whether the next `solve` builds the inverse anew, so that a new k or c costs nothing."""
        if self._inverse is None or self._stale:
            return True
        if self._age + self._rows.pending > self.settings.rows_between(self._using):
            return True
        if self._chosen_at < _ENOUGH <= self.seen and self._choice() != self._using:
            return True
        return self._inverse.outdated(self._rows)

    def solve(self, right: Array) -> Array:
        """Give (c I + k X'X)^-1 right, (d, q) both, once the inverse is up to date."""
        right = np.ascontiguousarray(right, self.settings.type)
        while True:
            inverse = self._renew() if self._inverse is None or self.due else self._inverse
            out = inverse.solve(self._rows, self._step, right)
            if out is not None:
                self._age += self._rows.pending
                self._rows.settle()
                return out
            self._stale = True

    def _choice(self) -> str:
        return self.settings.choose(self._rows.density)

    def _renew(self) -> Inverse:
        """Build the inverse anew, in the form that fits the rows now."""
        form = self._choice()
        if form != self._using or self._inverse is None:
            rows = self.settings.rows(form, self.outputs)
            if isinstance(rows, Slots) and isinstance(self._rows, Slots):
                rows.take(self._rows)
                self._rows = rows
            self._inverse, self._using = self.settings.inverse(form), form
        self._inverse.renew(self._rows, self._step)
        self._rows.settle()
        self._rows.refresh(self._sums)
        self._chosen_at, self._age, self._stale = self.seen, 0, False
        self.renewals += 1
        return self._inverse

    def replace(self, X: Array, Y: Array) -> None:
        """Put as many other rows in the place of all, oldest first.

        Raises
        ------
        ConfigurationError
            Their number is another, or no rows are held.
        """
        if isinstance(self._rows, Endless) or len(X) != self.count:
            held = 0 if isinstance(self._rows, Endless) else self.count
            raise ConfigurationError(f"other rows: {len(X)}; allowed: {held}")
        by_slot = np.argsort(self._rows.order)
        self._rows.put(np.asarray(X, self.settings.type)[by_slot], np.asarray(Y)[by_slot])
        self._rows.refresh(self._sums)
        self._stale = True

    def widen(self, columns: int | Sequence[int] | Array) -> None:
        """Add so many labels of zeros; or name, for each new column, the old one, -1 for zeros."""
        if isinstance(columns, int):
            columns = [*range(self.outputs), *[-1] * columns]
        chosen = np.asarray(columns, np.int64)
        self._sums = self._sums.widened(chosen)
        self._rows.widen(chosen)

    def export(self) -> dict[str, Any]:
        """Give the whole state, arrays and JSON values; `restore` continues bit for bit."""
        inverse = {} if self._inverse is None else self._inverse.export()
        return {
            **self.settings.export(),
            **self._rows.export(),
            **inverse,
            "cross": self._sums.total.copy(),
            "using": self._using,
            "scale": self._step.scale,
            "shift": self._step.shift,
            "age": self._age,
            "chosen_at": self._chosen_at,
            "stale": int(self._stale),
            "renewals": self.renewals,
        }

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Self:
        """Build a window from `export`.

        Raises
        ------
        ModelError
            The state is damaged.
        """
        given = WindowSettings.restore(state)
        total = saved_array(state, "cross", (given.features, -1))
        window = cls(
            given.features,
            total.shape[1],
            given.capacity,
            dtype=given.dtype,
            form=given.form,
            refactorise=given.refactorise,
        )
        window._sums = Sums(total, given.type)
        window._read(state)
        return window

    def _read(self, state: Mapping[str, Any]) -> None:
        """Take all but settings and sums from a state."""
        using = saved_value(state, "using")
        if using not in ("", *self.settings.possible):
            allowed = ", ".join(self.settings.possible)
            raise ModelError(f"damaged state: using={using!r}; allowed: {allowed}")
        self._rows = self.settings.rows(using, self.outputs)
        self._rows.fill(state)
        if using:
            self._using, self._inverse = using, self.settings.inverse(using)
            self._inverse.fill(state, self._rows.settled)
        scale, shift = (float(saved_array(state, name, ())) for name in ("scale", "shift"))
        if not (scale >= 0.0 and shift > 0.0):
            raise ModelError(f"damaged state: scale={scale}, shift={shift}; allowed: positive")
        self._step = Step(scale, shift, self.settings.floor)
        self._age = saved_whole(state, "age", _MOST)
        self._chosen_at = saved_whole(state, "chosen_at", _MOST)
        self._stale = saved_whole(state, "stale", 1) == 1
        self.renewals = saved_whole(state, "renewals", _MOST)
