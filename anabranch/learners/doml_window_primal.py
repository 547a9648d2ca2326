"""The d x d inverse of a step, kept by Sherman-Morrison."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from anabranch.errors import ModelError
from anabranch.kernels.window_inverse import rank_one_now, rank_one_steps
from anabranch.learners.doml_window_inverse import Step, add_product, inverse_of
from anabranch.learners.states import saved_array
from anabranch.protocol import Array

__all__ = ["ChangingRows", "Primal"]


_SMALL = 128
"""Fields up to which it is faster to change B at once."""
_MOST_ROWS = 32
"""Rows of V at which it is taken into B, at the latest."""
_CHUNK = 16
"""Changes that are taken in together."""
_COPIES = 8
"""Passes over `right`, in passes over as many numbers of B."""


class ChangingRows(Protocol):
    """Rows whose changes are known one by one, and their X'X."""

    @property
    def changed(self) -> int:
        """How many rows came or went since the last step."""
        ...

    @property
    def spoiled(self) -> bool:
        """Whether they are no longer all known."""
        ...

    def changes(self) -> tuple[Array, Array]:
        """Give the rows that came and went since the last step; and +1 or -1 each."""
        ...

    def gram(self) -> Array:
        """Give X'X (d, d) in float64, of which the lower triangle counts."""
        ...


class Primal:
    """(c I + k X'X)^-1 = B - V' S V: a matrix B, and few rows V with signs S.

    A row that comes or goes adds one to V (Sherman-Morrison); when V is full it is taken into
    B, many rows at once, which costs a fraction of as many changes of B.

    Parameters
    ----------
    features, slots : d, s (0 where the rows are not kept)
    dtype : of the inverse
    """

    def __init__(self, features: int, slots: int, dtype: type) -> None:
        self.features, self.dtype = features, dtype
        self._most = self.most_changes(features, slots)
        self._base: Array = np.zeros((features, features), dtype)
        self._low: Array = np.zeros((_MOST_ROWS + _CHUNK, features), dtype)
        self._signs: Array = np.zeros(_MOST_ROWS + _CHUNK, dtype)
        self._memory: Array = np.empty((2, 0), dtype)
        self._used = 0

    @staticmethod
    def most_changes(features: int, slots: int) -> int:
        """Give how many changes cost as much as the inverse of X'X."""
        return (features + slots) // 4 + 1

    def outdated(self, rows: ChangingRows) -> bool:
        """Tell whether it is cheaper to build the inverse anew."""
        return rows.spoiled or rows.changed > self._most

    def renew(self, rows: ChangingRows, step: Step) -> None:
        """Build the inverse from X'X."""
        self._base = inverse_of(step.matrix(rows.gram()), self.dtype)
        self._used = 0

    def solve(self, rows: ChangingRows, step: Step, right: Array) -> Array | None:
        """Take the changes in and give (c I + k X'X)^-1 right; None if digits were lost."""
        changed, signs = rows.changes()
        if self.features <= _SMALL:
            most = step.largest(self.dtype)
            if not rank_one_now(self._base, changed, signs, step.scale, step.floor, most):
                return None
            return self._base @ right
        return self._solve_large(changed, signs, step, right)

    def _solve_large(self, changed: Array, signs: Array, step: Step, right: Array) -> Array | None:
        """As `solve`, with rows that change as given."""
        out = None
        for start in range(0, len(signs), _CHUNK):
            if self._used > _MOST_ROWS:
                self._fold()
            part = slice(start, start + _CHUNK)
            last = start + _CHUNK >= len(signs)
            # One pass over B for both, unless copying `right` costs more than another pass.
            both = last and _COPIES * right.shape[1] <= self.features
            out = self._absorb(changed[part], signs[part], right[:, : None if both else 0], step)
            if out is None:
                return None
        if self._used > _rows_of(*right.shape):
            self._fold()
        if out is None or out.shape != right.shape:
            out = self._times(right, np.empty_like(right))
        return out

    def _absorb(self, U: Array, signs: Array, right: Array, step: Step) -> Array | None:
        """Take a few changes in; gives the new inverse times `right`, or None."""
        p = len(signs)
        block, Z = self._scratch(p + right.shape[1])
        block[:, :p] = U.T
        block[:, p:] = right
        self._times(block, Z)
        most = step.largest(self.dtype)
        low, used = self._low, self._used
        if not rank_one_steps(Z, block, signs, step.scale, step.floor, most, low, used):
            return None
        self._signs[self._used : self._used + p] = signs
        self._used += p
        return Z[:, p:].copy()

    def _scratch(self, columns: int) -> tuple[Array, Array]:
        """Give two matrices (d, columns) to work in: new memory would cost more than the work."""
        size = self.features * columns
        if self._memory.shape[1] < size:
            self._memory = np.empty((2, size), self.dtype)
        first, second = self._memory[:, :size]
        return first.reshape(-1, columns), second.reshape(-1, columns)

    def _times(self, block: Array, out: Array) -> Array:
        """out = the inverse times `block`, as it stands."""
        np.matmul(self._base, block, out=out)
        if self._used:
            V = self._low[: self._used]
            add_product(-1.0, V, (V @ block) * self._signs[: self._used, None], out)
        return out

    def _fold(self) -> None:
        """Take V into B."""
        V = self._low[: self._used]
        add_product(-1.0, V, V * self._signs[: self._used, None], self._base)
        self._used = 0

    def export(self) -> dict[str, Any]:
        """Give B, V and S."""
        return {
            "inverse": self._base.copy(),
            "low": self._low[: self._used].copy(),
            "signs": self._signs[: self._used].copy(),
        }

    def fill(self, state: Mapping[str, Any], settled: int) -> None:
        """Take what `export` gave; raises `ModelError` where it is damaged."""
        self._base[:] = saved_array(state, "inverse", (self.features, self.features))
        signs = saved_array(state, "signs", (-1,))
        if len(signs) > _MOST_ROWS or not (np.abs(signs) == 1.0).all():
            raise ModelError(f"damaged state: {len(signs)} signs; allowed: {_MOST_ROWS}, 1 or -1")
        self._used = len(signs)
        self._signs[: self._used] = signs
        self._low[: self._used] = saved_array(state, "low", (self._used, self.features))


def _rows_of(features: int, outputs: int) -> int:
    """Give how many rows of V cost as much in the solutions as their taking into B does."""
    return min(_MOST_ROWS, int((8 * features / max(outputs, 1)) ** 0.5))
