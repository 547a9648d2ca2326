"""Checks of whole blocks and vectors, at memory speed."""

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = ["LIMIT", "bounded", "good_rows", "within"]

LIMIT = 1e100
"""Largest magnitude accepted anywhere: squares and sums of such numbers cannot overflow."""

_LIMIT_BITS = int(np.float64(LIMIT).view(np.int64))
_MAGNITUDE = 0x7FFF_FFFF_FFFF_FFFF


@njit(cache=True, nogil=True)
def bounded(values: Array) -> bool:
    """all |v| <= LIMIT, false for NaN and infinities; `values` is (n,) float64, contiguous.

    Without its sign bit a float64 orders like an integer, and integer maxima may be taken
    in any order.
    """
    bits = values.view(np.int64)
    largest = 0
    for i in range(bits.size):
        largest = max(largest, bits[i] & _MAGNITUDE)
    return largest <= _LIMIT_BITS


@njit(cache=True, nogil=True)
def within(values: Array, least: float) -> bool:
    """least <= v <= LIMIT for all v, false for NaN; `values` is (n,) float64."""
    good = True
    for v in values:
        if not (v >= least and v <= LIMIT):
            good = False
    return good


@njit(cache=True, nogil=True)
def good_rows(X: Array, y: Array, ranks: int) -> bool:
    """All of X (n, d) is bounded and every label y (n,) is an integer in 1..ranks."""
    if not bounded(X.reshape(-1)):
        return False
    good = True
    for r in range(y.size):
        label = y[r]
        if not (label >= 1.0 and label <= ranks and label == np.floor(label)):
            good = False
    return good
