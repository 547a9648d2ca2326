"""The planes of an online NPSVOR node, and what of them its neighbours do not know yet."""

import numpy as np

from anabranch.errors import ModelError
from anabranch.kernels import npsvor_online as loops
from anabranch.learners.npsvor_online_settings import NpsvorSettings
from anabranch.learners.npsvor_online_wire import Delta, rounded
from anabranch.learners.states import saved_array, saved_value, saved_whole
from anabranch.protocol import Array, State
from anabranch.sparse import SparseRows

__all__ = ["Table"]

_SKETCH = 4096
"""Numbers that stand for the parameters where there are more of them."""


class Table:
    """Weights and sums of squared gradients (features + 1, 2 p), the bias in the last row.

    Rows that samples have changed since the last message are also kept as they were: that is
    what changes are relative to, and what all nodes have in common.

    Attributes
    ----------
    values : see `kernels.npsvor_online`
    """

    def __init__(self, settings: NpsvorSettings) -> None:
        self.settings = settings
        rows = settings.features + 1
        self.values = np.zeros((rows, 2 * settings.ranks), settings.held)
        self._marks = np.full(rows, -1, np.int32)
        self._slots = np.full(rows, -1, np.int32)
        self._counts = np.zeros(2, np.int64)
        self._bias = float(settings.bias)
        self._forget()

    def _forget(self) -> None:
        self._places = np.empty(0, np.uint32)
        self._saved = np.empty((0, self.values.shape[1]), self.settings.held)

    @property
    def lone(self) -> bool:
        """Whether nobody asks for changes."""
        return not self._marks.size

    @lone.setter
    def lone(self, lone: bool) -> None:
        if lone != self.lone:
            self._marks = np.full(0 if lone else len(self.values), -1, np.int32)
        if lone:
            self._counts[:] = 0
            self._forget()

    @property
    def changed(self) -> int:
        """How many rows of the table have changed since the last message."""
        return int(self._counts[0])

    @property
    def moving(self) -> int:
        """How many samples have changed them."""
        return int(self._counts[1])

    # Samples

    def margins(self, X: SparseRows, out: Array, seen: Array) -> None:
        """Write ranks (n,) and margins (n, p - 1) down, where there is room."""
        arrays = X.indptr, X.indices, X.values
        loops.margins(*arrays, self.values, self._bias, out, seen)

    def learn(self, X: SparseRows, y: Array, out: Array, seen: Array) -> None:
        """As `margins`, and step on each row after it."""
        self._make_room(len(X.indices) + 1)
        loops.learn_rows(
            X.indptr, X.indices, X.values, y, self.values, self._bias, self.settings.step,
            self.settings.epsilon, self._marks, self._places, self._saved, self._counts, out, seen,
        )  # fmt: skip

    def _make_room(self, more: int) -> None:
        wanted = min(self.changed + more, len(self.values))
        if self.lone or wanted <= len(self._places):
            return
        size = min(max(wanted, 2 * len(self._places)), len(self.values))
        places, saved = self._places, self._saved
        self._places = np.empty(size, np.uint32)
        self._saved = np.empty((size, self.values.shape[1]), self.settings.held)
        self._places[: len(places)], self._saved[: len(saved)] = places, saved

    # Changes

    def take(self, number: int) -> tuple[Delta, Array]:
        """Give what samples have changed, as it is told, and the rows as they were.

        From now on these rows hold what was told, to the last bit.
        """
        places = np.sort(self._places[: self.changed])
        dW = np.empty((len(places), self.settings.ranks), self.settings.held)
        dH = np.empty(len(places), self.settings.held)
        loops.changes(places, self._marks, self._saved, self.values, dW, dH)
        before = self._saved[self._marks[places]]
        self.put(places, before)
        self._marks[places] = -1
        self._counts[:] = 0
        delta = rounded(number, places, dW, dH, self.settings)
        self.add([delta], 0)
        return delta, before

    def put(self, places: Array, rows: Array) -> None:
        """Set rows of the table."""
        loops.put_rows(self.values, places, rows)

    def add(self, deltas: list[Delta], known: int, least: int = 1) -> None:
        """Add changes of one group, the first `known` of which were added before; n_j >= least."""
        held = self.settings.held
        parts = [delta.widened(held) for delta in deltas]
        indices, dW, dH = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        first = sum(len(delta.indices) for delta in deltas[:known])
        loops.add_changes(
            indices, dW, dH, first, least, self.values, self._marks, self._saved, self._slots
        )

    # All of it

    def base(self) -> tuple[Array, Array]:
        """Give places and rows of what is not all zero, without what samples have changed."""
        values = self.values.copy()
        values[self._places[: self.changed]] = self._saved[: self.changed]
        there = np.flatnonzero(values.any(axis=1))
        return there.astype(np.uint32), values[there]

    def rebase(self, places: Array, rows: Array) -> None:
        """Begin from another `base`, to which what samples have changed is added."""
        used, p = self.changed, self.settings.ranks
        changed = self._places[:used]
        moved = self.values[changed] - self._saved[:used]
        self.values[:] = 0.0
        self.values[places] = rows
        self._saved[:used] = self.values[changed]
        moved[:, p:] = np.maximum(moved[:, p:], 0.0)
        sums = self.values[changed] + moved
        self.values[changed] = np.clip(sums, -loops.LARGEST, loops.LARGEST)

    def soften(self, share: float) -> None:
        """Multiply the sums of squared gradients, also of rows as they were."""
        factor, p = self.settings.held.type(share), self.settings.ranks
        self.values[:, p:] *= factor
        self._saved[: self.changed, p:] *= factor

    def parameters(self) -> Array:
        """Give the weights as one vector, or a sketch of them that keeps distances."""
        p = self.settings.ranks
        if len(self.values) * p <= _SKETCH:
            return self.values[:, :p].astype(np.float64).ravel()
        out = np.zeros(_SKETCH)
        loops.sketch(self.values, out)
        return out

    # States

    def model(self) -> State:
        """Give the rows that are not all zero."""
        p = self.settings.ranks
        there = np.flatnonzero(self.values.any(axis=1))
        rows = self.values[there]
        return {
            "places": there.astype(np.uint32),
            "weights": rows[:, :p].copy(),
            "squares": rows[:, p:].copy(),
        }

    def export(self) -> State:
        """Give the rest of the state."""
        used = self.changed
        return {
            "lone": self.lone,
            "moving": self.moving,
            "changed": self._places[:used].copy(),
            "base": self._saved[:used].copy(),
        }

    def restore(self, state: State) -> None:
        """Take it back; raises ModelError."""
        p = self.settings.ranks
        places = saved_places(state, "places", len(self.values))
        weights = saved_array(state, "weights", (len(places), p))
        squares = saved_array(state, "squares", (len(places), p))
        if (squares < 0.0).any() or max(
            np.abs(weights).max(initial=0.0), squares.max(initial=0.0)
        ) > loops.LARGEST:
            raise ModelError(f"damaged state: a number is out of range; allowed: {loops.LARGEST:g}")
        self.values[places, :p], self.values[places, p:] = weights, squares
        if "changed" in state:
            self._restore_changes(state)

    def _restore_changes(self, state: State) -> None:
        self.lone = bool(saved_value(state, "lone"))
        changed = saved_places(state, "changed", len(self.values), increasing=False)
        base = saved_array(state, "base", (len(changed), self.values.shape[1]))
        if self.lone:
            return
        self._make_room(len(changed))
        used = len(changed)
        self._places[:used], self._saved[:used] = changed, base
        self._marks[changed] = np.arange(used)
        self._counts[:] = used, saved_whole(state, "moving", 1 << 62)


def saved_places(state: State, name: str, limit: int, *, increasing: bool = True) -> Array:
    """Read different whole numbers below `limit`; raises ModelError."""
    numbers = saved_array(state, name, (-1,))
    places = numbers.astype(np.uint32)
    ordered = places if increasing else np.sort(places)
    good = (numbers >= 0.0) & (numbers < limit) & (numbers == np.floor(numbers))
    if not good.all() or not (ordered[1:] > ordered[:-1]).all():
        raise ModelError(f"damaged state: {name} are no places; allowed: different, below {limit}")
    return places
