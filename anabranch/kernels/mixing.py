"""Weighted averages of parameters, shrinking to exact zeros, and what of them is sent."""

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = ["TINY", "add", "flush", "pruned", "scale", "shrunk"]

TINY = 1e-300
"""What decays by a factor a step would end as a denormal number, never zero and slow to
multiply; taking this off each time changes no number above 1e-284."""


@njit(cache=True, nogil=True, inline="always")
def shrunk(value: float, cut: float) -> float:
    """soft(v, t) = sign(v) max(|v| - t, 0)."""
    above, below = value - cut, value + cut
    return (above if above > 0.0 else 0.0) + (below if below < 0.0 else 0.0)


@njit(cache=True, nogil=True)
def scale(theta: Array, weight: float) -> None:
    """theta *= weight, down to exact zeros."""
    for j in range(theta.size):
        theta[j] = shrunk(weight * theta[j], TINY)


@njit(cache=True, nogil=True)
def flush(theta: Array) -> None:
    """theta_j = 0 where |theta_j| < TINY."""
    for j in range(theta.size):
        if abs(theta[j]) < TINY:
            theta[j] = 0.0


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
