"""A ring of dense rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from anabranch.kernels.window import GONE, gather, push
from anabranch.learners.doml_window_inverse import add_product
from anabranch.learners.doml_window_slots import Slots
from anabranch.learners.doml_window_sums import Sums
from anabranch.learners.states import saved_array
from anabranch.protocol import Array

__all__ = ["DenseRing"]


class DenseRing(Slots):
    """Rows as they came, one after another in memory; see `Slots`.

    Parameters
    ----------
    features, outputs, slots, dtype : as there
    keep : how many replaced rows are kept until the inverse is brought up to date
    """

    def __init__(self, features: int, outputs: int, slots: int, dtype: type, keep: int = 0) -> None:
        super().__init__(features, outputs, slots, dtype)
        self._ring: Array = np.zeros((slots, features), dtype)
        self._gone: Array = np.zeros((keep, features), dtype)
        self._changed: Array = np.empty((0, features), dtype)
        self._signs = np.empty(0)

    def push(self, X: Array, Y: Array, sums: Sums) -> None:
        """Take rows, oldest first; X'Y follows."""
        push(
            X,
            Y,
            self._ring,
            self.labels,
            self.norms,
            self.filled,
            self._gone,
            self.counters,
            sums.total,
            sums.cross,
        )

    def matrix(self) -> Array:
        """Give X (count, d) by slots: a view."""
        return self._ring[: self.count]

    @property
    def spoiled(self) -> bool:
        """Whether a row went that was not kept."""
        return int(self.counters[GONE]) > len(self._gone)

    @property
    def changed(self) -> int:
        """How many rows came or went since `settle`."""
        return min(self.pending, self.count) + int(self.counters[GONE])

    def changes(self) -> tuple[Array, Array]:
        """Give the rows that came, then those that went, since `settle`; and +1 or -1 each."""
        came = min(self.pending, self.count)
        if len(self._signs) < came + int(self.counters[GONE]):
            size = self.slots + len(self._gone)
            self._changed, self._signs = np.empty((size, self.features), self.dtype), np.empty(size)
        n = gather(self._ring, came, self._gone, self.counters, self._changed, self._signs)
        return self._changed[:n], self._signs[:n]

    def gram(self) -> Array:
        """Give X'X (d, d) in float64."""
        X = self.matrix().astype(np.float64, copy=False)
        return X.T @ X

    def cross(self) -> Array:
        """Give X'Y (d, q) in float64, summed up anew."""
        X = self.matrix().astype(np.float64, copy=False)
        return X.T @ self.labels[: self.count].astype(np.float64, copy=False)

    def times(self, right: Array) -> Array:
        """Give X right, (count, q)."""
        return self.matrix() @ right

    def spread(self, left: Array, factor: float, out: Array) -> None:
        """Add factor X' left to `out` (d, q)."""
        add_product(factor, self.matrix(), left, out)

    def products(self, slots: Array) -> Array:
        """Give the products of the rows in `slots` with all rows, (p, count) in float64."""
        products = self._ring[slots] @ self.matrix().T
        return products.astype(np.float64, copy=False)

    def write(self, X: Array) -> None:
        """Put rows into the first slots; the counters stay."""
        self._ring[: len(X)] = X

    def rows_state(self) -> dict[str, Any]:
        """Give the entries of a state that hold X, and the rows gone since `settle`."""
        return {"rows": self.matrix().copy(), "gone": self._gone[: self._kept()].copy()}

    def read_rows(self, state: Mapping[str, Any]) -> Array:
        """Give X from a state, and take the rows gone; `ModelError` where it is damaged."""
        kept = self._kept()
        self._gone[:kept] = saved_array(state, "gone", (kept, self.features))
        return saved_array(state, "rows", (self.count, self.features))

    def _kept(self) -> int:
        return min(int(self.counters[GONE]), len(self._gone))
