"""Weighted averages of parameters, shrinking to exact zeros, and what of them is sent."""

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = [
    "TINY",
    "add",
    "add_some",
    "count_idle",
    "flush",
    "mark_used",
    "pruned",
    "scale",
    "shrunk",
]

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
def add_some(theta: Array, weight: float, values: Array, places: Array) -> None:
    """theta[j] += weight values[places[j]]."""
    for j in range(places.size):
        theta[j] += weight * values[places[j]]


@njit(cache=True, nogil=True)
def mark_used(idle: Array, values: Array) -> bool:
    """idle_j = -1 where values_j is not 0; tell whether there is any."""
    found = False
    for j in range(values.size):
        if values[j] != 0.0:
            idle[j] = -1
            found = True
    return found


@njit(cache=True, nogil=True)
def count_idle(idle: Array, kept: Array, patience: int) -> tuple[int, int, int]:
    """idle += 1; count what is kept but idle, what is not but is used again, and what is used.

    Idle is what has been so for `patience` rounds.
    """
    gone, back, wanted = 0, 0, 0
    for j in range(idle.size):
        idle[j] += 1
        use = idle[j] < patience
        gone += kept[j] and not use
        back += use and not kept[j]
        wanted += use
    return gone, back, wanted


@njit(cache=True, nogil=True)
def pruned(theta: Array, judged: Array, count: int, share: float) -> Array:
    """A copy of theta[:count] with zeros where |v| < share max|v|, v the parameters judged by."""
    most = 0.0
    for j in range(count):
        most = max(most, abs(judged[j]))
    kept = np.empty(count)
    for j in range(count):
        kept[j] = 0.0 if abs(judged[j]) < share * most else theta[j]
    return kept
