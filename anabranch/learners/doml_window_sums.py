"""X'Y of a window."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from anabranch.learners.states import saved_array
from anabranch.protocol import Array

__all__ = ["Sums", "pick_columns"]


class Sums:
    """X'Y, summed in float64, with a copy in the window's type.

    Attributes
    ----------
    total : (d, q) float64
    cross : (d, q) in the window's type; `total` itself where that is float64
    """

    def __init__(self, total: Array, dtype: type) -> None:
        self.total = np.ascontiguousarray(total, dtype=np.float64)
        self.cross = self.total if dtype is np.float64 else self.total.astype(dtype)

    def put(self, total: Array) -> None:
        """Replace the sums, in place."""
        self.total[:] = total
        if self.cross is not self.total:
            self.cross[:] = total

    def widened(self, columns: Array) -> "Sums":
        """Give sums with other columns: of the old ones, or of zeros for -1."""
        return Sums(pick_columns(self.total, columns), self.cross.dtype.type)

    @classmethod
    def restore(cls, state: Mapping[str, Any], features: int, outputs: int, dtype: type) -> "Sums":
        """Read them from a state; raises `ModelError` where it is damaged."""
        return cls(saved_array(state, "cross", (features, outputs)), dtype)


def pick_columns(Y: Array, columns: Array) -> Array:
    """Give the columns of Y (n, q) that are named by number; -1 stands for zeros.

    >>> pick_columns(np.array([[1.0, 2.0]]), np.array([1, -1, 0]))
    array([[2., 0., 1.]])
    """
    out = np.zeros((len(Y), len(columns)), Y.dtype)
    known = columns >= 0
    out[:, known] = Y[:, columns[known]]
    return out
