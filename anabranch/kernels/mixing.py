"""Pieces of the exchange: the weighted average of parameters, and what of them is sent."""

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = ["add", "pruned", "scale"]


@njit(cache=True, nogil=True)
def scale(theta: Array, weight: float) -> None:
    """theta *= weight."""
    for j in range(theta.size):
        theta[j] *= weight


@njit(cache=True, nogil=True)
def add(theta: Array, start: int, weight: float, values: Array) -> None:
    """theta[start + j] += weight values[j]."""
    for j in range(values.size):
        theta[start + j] += weight * values[j]


@njit(cache=True, nogil=True)
def pruned(theta: Array, count: int, share: float) -> Array:
    """A copy of theta[:count] in which |w| < share max|w| is 0."""
    most = 0.0
    for j in range(count):
        most = max(most, abs(theta[j]))
    kept = np.empty(count)
    for j in range(count):
        kept[j] = 0.0 if abs(theta[j]) < share * most else theta[j]
    return kept
