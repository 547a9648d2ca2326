"""Products with rows that hold only what is not zero: values at indices, `filled` of them."""

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = ["dense_rows", "gram_of", "products_of", "spread", "times"]


@njit(cache=True, nogil=True)
def times(indices: Array, values: Array, filled: Array, right: Array, out: Array) -> None:
    """out = X right."""
    for r in range(out.shape[0]):
        out[r, :] = 0.0
        for t in range(filled[r]):
            value = values[r, t]
            row = right[indices[r, t]]
            for k in range(row.size):
                out[r, k] += value * row[k]


@njit(cache=True, nogil=True)
def spread(
    indices: Array, values: Array, filled: Array, left: Array, factor: float, out: Array
) -> None:
    """Out += factor X' left."""
    for r in range(left.shape[0]):
        for t in range(filled[r]):
            value = values[r, t] * factor
            row = out[indices[r, t]]
            for k in range(row.size):
                row[k] += value * left[r, k]


@njit(cache=True, nogil=True)
def products_of(
    indices: Array, values: Array, filled: Array, slots: Array, features: int, out: Array
) -> None:
    """out_pr = x_p'x_r for the rows p in `slots` and all rows r."""
    whole = np.zeros(features, values.dtype)
    for p in range(slots.size):
        own = slots[p]
        for t in range(filled[own]):
            whole[indices[own, t]] = values[own, t]
        for r in range(out.shape[1]):
            total = 0.0
            for t in range(filled[r]):
                total += values[r, t] * whole[indices[r, t]]
            out[p, r] = total
        for t in range(filled[own]):
            whole[indices[own, t]] = 0.0


@njit(cache=True, nogil=True)
def gram_of(indices: Array, values: Array, filled: Array, out: Array) -> None:
    """Out += X'X."""
    for r in range(filled.size):
        for t in range(filled[r]):
            value = np.float64(values[r, t])
            row = out[indices[r, t]]
            for v in range(filled[r]):
                row[indices[r, v]] += value * np.float64(values[r, v])


@njit(cache=True, nogil=True)
def dense_rows(indices: Array, values: Array, filled: Array, out: Array) -> None:
    """Out = X, zeros included."""
    out[:] = 0.0
    for r in range(out.shape[0]):
        for t in range(filled[r]):
            out[r, indices[r, t]] = values[r, t]
