"""Running moments of features and the standardisation made from them."""

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = ["CENTRE", "INVERSE", "M2", "MEAN", "add_row", "refresh", "standardise"]

MEAN, M2, CENTRE, INVERSE = 0, 1, 2, 3
"""Rows of a scale array (4, K): the moments, and the standardisation in use."""

_FLAT = 1e-26
"""A variance below _FLAT mean^2 is rounding noise of a constant feature."""


@njit(cache=True, nogil=True)
def add_row(X: Array, r: int, count: float, scale: Array) -> float:
    """Welford: n += 1, mean += (x - mean)/n, M2 += (x - mean_before)(x - mean_after)."""
    count += 1.0
    share = 1.0 / count
    for i in range(X.shape[1]):
        x, mean = X[r, i], scale[MEAN, i]
        after = mean + (x - mean) * share
        scale[M2, i] += (x - mean) * (x - after)
        scale[MEAN, i] = after
    return count


@njit(cache=True, nogil=True, error_model="numpy")  # no check per division: vectorises
def refresh(count: float, scale: Array) -> None:
    """centre = mean, inverse = 1/sqrt(M2/n); a constant feature gets 1; no sample: (0, 1)."""
    share = 1.0 / count if count > 0.0 else 0.0
    for i in range(scale.shape[1]):
        mean, variance = scale[MEAN, i], scale[M2, i] * share
        varies = variance > _FLAT * mean * mean
        scale[CENTRE, i] = mean
        scale[INVERSE, i] = 1.0 / np.sqrt(variance if varies else 1.0)


@njit(cache=True, nogil=True, inline="always")
def standardise(X: Array, r: int, scale: Array, out: Array) -> None:
    """out_i = (x_i - centre_i) inverse_i, for row r of X."""
    for i in range(X.shape[1]):
        out[i] = (X[r, i] - scale[CENTRE, i]) * scale[INVERSE, i]
