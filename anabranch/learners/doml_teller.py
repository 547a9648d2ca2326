"""Telling P and beta in few bytes, and never wrongly for long, whatever messages are lost."""

from collections.abc import Sequence
from math import ceil
from typing import Any, Self

import numpy as np

from anabranch.errors import ModelError
from anabranch.learners.doml_settings import DomlSettings
from anabranch.learners.doml_wire import HALF, RANK, ROWS, widened
from anabranch.learners.states import saved_array
from anabranch.protocol import Array, State

__all__ = ["Teller"]

_MARGIN = 3
"""Messages beyond a round trip after which one that was not confirmed counts as lost."""
_FOLLOW, _LOSSY = 0.05, 0.3
"""Where confirmations have been overdue that often of late, none is waited for."""


class Teller:
    """What the neighbours were told, and so what they need to be told.

    Every message has a number, and is complete for those who had all up to its base. Neighbours
    confirm by the tags they echo. Where a confirmation is overdue, or often was, the base goes
    back to what everybody is known to have; it is 0, and the message full, at the beginning and
    every `refresh` messages.

    - "dense": full every time;
    - "changed": rows of P and beta that moved by more than `tolerance` of a row's mean square;
      neighbours that missed some get all rows told since;
    - "low-rank": the `rank` largest parts of (P, beta) less what was told, so that what is left
      out now comes later; full for neighbours that missed one;
    - "half": the same difference, whole, as float16 in units of its largest value.

    Attributes
    ----------
    version : number of the last message
    """

    def __init__(self, settings: DomlSettings, shape: tuple[int, int], dtype: Any) -> None:
        self.settings, self.dtype = settings, dtype
        self.version = 0
        self._loss = 0.0
        self._shape = shape
        self.reset()

    def reset(self, labels: int | None = None) -> None:
        """Forget what was told: coordinates or labels are other ones."""
        self._shape = self._shape if labels is None else (self._shape[0], labels)
        self._told: Array = np.zeros((2, *self._shape), self.dtype)
        self._at = np.zeros(self._shape[0])
        self._full_at, self._fresh = 0, True

    def tell(
        self, pair: Array, confirmed: Sequence[int], delay: float
    ) -> tuple[dict[str, Array], int, int]:
        """Give arrays of the next message, its parts, and its base.

        Parameters
        ----------
        pair : P and beta (2, d, q)
        confirmed : for each neighbour that is awake, the newest number it is known to have
        delay : one way, in steps
        """
        before = self.version
        self.version += 1
        if self.settings.wire == "dense":
            return _whole(pair), 0, 0
        base = self._base(before, confirmed, delay)
        if self.settings.wire == "changed":
            return self._rows(pair, base)
        if base == 0:
            self._told[:] = 0.0
        step = pair - self._told
        if self.settings.wire == "half":
            arrays, parts = _halved(step), HALF
        elif base:
            arrays, parts = _factors(step, self.settings.rank), RANK
        else:
            arrays, parts = _whole(pair), 0
        self._told += widened(arrays, parts, self.dtype)
        return arrays, parts, base

    def _base(self, before: int, confirmed: Sequence[int], delay: float) -> int:
        """Give the number up to which neighbours need not be told again."""
        overdue = any(before - number > 2 * ceil(delay) + _MARGIN for number in confirmed)
        self._loss += _FOLLOW * (float(overdue) - self._loss)
        base = before
        if self._fresh or self.version - self._full_at >= self.settings.refresh:
            base = 0
        elif overdue or self._loss > _LOSSY:
            base = min([before, *confirmed]) if self.settings.wire == "changed" else 0
        if base == 0:
            self._full_at, self._fresh = self.version, False
        return base

    def _rows(self, pair: Array, base: int) -> tuple[dict[str, Array], int, int]:
        moved = np.sqrt(np.square(pair - self._told, dtype=np.float64).sum(axis=2))
        size = np.sqrt(np.square(pair, dtype=np.float64).sum(axis=(1, 2)) / self._shape[0])
        new = (moved > self.settings.tolerance * size[:, None]).any(axis=0) | (base == 0)
        self._told[:, new] = pair[:, new]
        self._at[new] = self.version
        if base == 0:
            return _whole(pair), 0, 0
        rows = np.flatnonzero(self._at > base).astype(np.int32)
        told = self._told[:, rows]
        return {"rows": rows, "P": told[0].copy(), "beta": told[1].copy()}, ROWS, base

    def export(self) -> State:
        """Give the state."""
        dense = self.settings.wire == "dense"
        return {
            "told": self._told[:, :0].copy() if dense else self._told.copy(),
            "told_at": np.append(self._at, [self.version, self._full_at, self._fresh, self._loss]),
        }

    def restore(self, state: State) -> Self:
        """Take the state of `export`.

        Raises
        ------
        ModelError
            It is damaged.
        """
        rows = 0 if self.settings.wire == "dense" else self._shape[0]
        told = saved_array(state, "told", (2, rows, self._shape[1]))
        at = saved_array(state, "told_at", (self._shape[0] + 4,))
        if at.min() < 0.0:
            raise ModelError("damaged state: told_at is negative")
        self._told[:, :rows] = told
        self._at, last = at[:-4].copy(), at[-4:].tolist()
        self.version, self._full_at = int(last[0]), int(last[1])
        self._fresh, self._loss = bool(last[2]), last[3]
        return self


def _whole(pair: Array) -> dict[str, Array]:
    return {"P": pair[0].copy(), "beta": pair[1].copy()}


def _halved(step: Array) -> dict[str, Array]:
    """Give (2, d, q) as float16 in units of the largest values."""
    unit = np.abs(step).max(axis=(1, 2), initial=0.0).astype(np.float64)
    unit[unit == 0.0] = 1.0
    small = (step / unit[:, None, None]).astype(np.float16)
    return {"P": small[0], "beta": small[1], "unit": unit}


def _factors(step: Array, rank: int) -> dict[str, Array]:
    """Give the largest parts of (2, d, q), side by side, as left (d, r) times right (r, 2 q)."""
    U, s, V = np.linalg.svd(np.concatenate(tuple(step), axis=1), full_matrices=False)
    r = min(rank, len(s))
    return {"left": U[:, :r] * s[:r], "right": np.ascontiguousarray(V[:r])}
