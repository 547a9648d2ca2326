"""Blocks of sparse rows: from dense ones, and checked."""

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = ["compressed", "in_order"]


@njit(cache=True, nogil=True)
def compressed(X: Array) -> tuple[Array, Array, Array]:
    """Give indptr, indices and values of what is not zero in X (n, d)."""
    indptr = np.zeros(X.shape[0] + 1, np.int64)
    for r in range(X.shape[0]):
        found = 0
        for j in range(X.shape[1]):
            found += X[r, j] != 0.0
        indptr[r + 1] = indptr[r] + found
    indices, values = np.empty(indptr[-1], np.uint32), np.empty(indptr[-1])
    t = 0
    for r in range(X.shape[0]):
        for j in range(X.shape[1]):
            if X[r, j] != 0.0:
                indices[t], values[t] = j, X[r, j]
                t += 1
    return indptr, indices, values


@njit(cache=True, nogil=True)
def in_order(indptr: Array, indices: Array, features: int) -> bool:
    """Whether rows lie one after another, and their indices are below `features` and increase."""
    if indptr[0] != 0 or indptr[-1] != indices.size:
        return False
    for r in range(indptr.size - 1):
        if indptr[r + 1] < indptr[r] or indptr[r + 1] > indices.size:
            return False
        for t in range(indptr[r], indptr[r + 1]):
            if indices[t] >= features or (t > indptr[r] and indices[t] <= indices[t - 1]):
                return False
    return True
