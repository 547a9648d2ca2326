"""A ring of sparse rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from anabranch.errors import ModelError
from anabranch.kernels.window import compress, push_sparse
from anabranch.kernels.window_sparse import dense_rows, gram_of, products_of, spread, times
from anabranch.learners.doml_window_slots import Slots
from anabranch.learners.doml_window_sums import Sums
from anabranch.learners.states import saved_array
from anabranch.protocol import Array

__all__ = ["SparseRing"]


class SparseRing(Slots):
    """Values that are not zero, and their indices; as wide as the fullest row. See `Slots`.

    It keeps no rows that were replaced: the dual form needs none.
    """

    def __init__(self, features: int, outputs: int, slots: int, dtype: type) -> None:
        super().__init__(features, outputs, slots, dtype)
        self._indices = np.zeros((slots, 0), np.int32)
        self._values: Array = np.zeros((slots, 0), dtype)

    def push(self, X: Array, Y: Array, sums: Sums) -> None:
        """Take rows, oldest first; X'Y follows."""
        self._make_room(X)
        push_sparse(
            X,
            Y,
            self._indices,
            self._values,
            self.labels,
            self.norms,
            self.filled,
            self.counters,
            sums.total,
            sums.cross,
        )

    def _make_room(self, X: Array) -> None:
        """Widen the ring for the fullest row of X."""
        most = int(np.count_nonzero(X, axis=1).max(initial=0))
        width = self._indices.shape[1]
        if most > width:
            more = ((0, 0), (0, min(self.features, max(most, 2 * width)) - width))
            self._indices, self._values = np.pad(self._indices, more), np.pad(self._values, more)

    def matrix(self) -> Array:
        """Give X (count, d) by slots: a dense copy."""
        out: Array = np.empty((self.count, self.features), self.dtype)
        dense_rows(self._indices, self._values, self.filled, out)
        return out

    def gram(self) -> Array:
        """Give X'X (d, d) in float64."""
        out: Array = np.zeros((self.features, self.features))
        gram_of(self._indices, self._values, self.filled[: self.count], out)
        return out

    def cross(self) -> Array:
        """Give X'Y (d, q) in float64, summed up anew."""
        Y = self.labels[: self.count].astype(np.float64, copy=False)
        out: Array = np.zeros((self.features, Y.shape[1]))
        spread(self._indices, self._values, self.filled, Y, 1.0, out)
        return out

    def times(self, right: Array) -> Array:
        """Give X right, (count, q)."""
        out: Array = np.empty((self.count, right.shape[1]), self.dtype)
        times(self._indices, self._values, self.filled, right, out)
        return out

    def spread(self, left: Array, factor: float, out: Array) -> None:
        """Add factor X' left to `out` (d, q)."""
        spread(self._indices, self._values, self.filled, left, self.dtype(factor), out)

    def products(self, slots: Array) -> Array:
        """Give the products of the rows in `slots` with all rows, (p, count) in float64."""
        out = np.empty((len(slots), self.count))
        products_of(self._indices, self._values, self.filled, slots, self.features, out)
        return out

    def write(self, X: Array) -> None:
        """Put rows into the first slots; the counters stay."""
        self._make_room(X)
        compress(np.ascontiguousarray(X, self.dtype), self._indices, self._values)

    def rows_state(self) -> dict[str, Any]:
        """Give the values that are not zero, row by row, and where they are."""
        filled = self.filled[: self.count]
        used = np.arange(self._indices.shape[1]) < filled[:, None]
        return {
            "filled": filled.copy(),
            "indices": self._indices[: self.count][used],
            "values": self._values[: self.count][used],
        }

    def read_rows(self, state: Mapping[str, Any]) -> Array:
        """Give X from a state; raises `ModelError` where it is damaged."""
        filled = _whole(saved_array(state, "filled", (self.count,)), "filled", self.features)
        total = int(filled.sum())
        columns = _whole(saved_array(state, "indices", (total,)), "indices", self.features - 1)
        out: Array = np.zeros((self.count, self.features), self.dtype)
        out[np.repeat(np.arange(self.count), filled), columns] = saved_array(
            state, "values", (total,)
        )
        return out


def _whole(values: Array, name: str, most: int) -> Array:
    """Give numbers read from a state as indices.

    Raises
    ------
    ModelError
        One is not whole, or out of range.
    """
    whole = values.astype(np.int64)
    if (whole != values).any() or (whole < 0).any() or (whole > most).any():
        raise ModelError(f"damaged state: {name} has other values; allowed: 0 to {most}")
    return whole
