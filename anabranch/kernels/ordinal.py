"""Pieces of a step of threshold models: subgradient, shrinkage, order of thresholds."""

from numba import njit

from anabranch.kernels.lanes import dot
from anabranch.kernels.mixing import TINY, shrunk
from anabranch.protocol import Array

__all__ = [
    "adapt",
    "adapt_and_average",
    "average",
    "count_above",
    "mean_subgradient",
    "project",
    "slope",
]


@njit(cache=True, nogil=True, inline="always")
def slope(rank: int, q: int, margin: float) -> float:
    """Derivative of the hinge of threshold q (from 0) by w'z: 1, 0 or -1.

    A sample at or below the threshold wants w'z - b_q <= -1, one above wants >= 1.
    """
    side = 1.0 if rank <= q + 1 else -1.0
    return side if side * margin > -1.0 else 0.0


@njit(cache=True, nogil=True, inline="always")
def count_above(f: float, theta: Array, offset: int) -> int:
    """1 + #{q : f > b_q}, with b = theta[offset:]."""
    rank = 1
    for q in range(offset, theta.size):
        rank += f > theta[q]
    return rank


@njit(cache=True, nogil=True, inline="always")
def project(theta: Array, offset: int) -> None:
    """Isotonic projection of b = theta[offset:] in place, by pooling adjacent violators.

    Entries of a pooled block are equal, which is how a block is found again.
    """
    for i in range(offset + 1, theta.size):
        if theta[i] >= theta[i - 1]:
            continue
        start, total, level = i, theta[i], theta[i]
        while start > offset and theta[start - 1] > level:
            value = theta[start - 1]
            while start > offset and theta[start - 1] == value:
                total += value
                start -= 1
            level = total / (i + 1 - start)
        for j in range(start, i + 1):
            theta[j] = level


@njit(cache=True, nogil=True, inline="always")
def adapt(
    theta: Array, offset: int, gradient: Array, factor: float, eta: float, l2: float, l1: float
) -> None:
    """w = soft(w (1 - eta l2) - eta factor g, eta l1), soft(v, t) = sign(v) max(|v| - t, 0)."""
    keep, scale, cut = 1.0 - eta * l2, eta * factor, max(eta * l1, TINY)
    for j in range(offset):
        theta[j] = shrunk(theta[j] * keep - scale * gradient[j], cut)


@njit(cache=True, nogil=True, inline="always")
def average(served: Array, theta: Array, start: int, weight: float) -> None:
    """served += weight (theta - served), from `start` on."""
    for j in range(start, theta.size):
        served[j] += weight * (theta[j] - served[j])


@njit(cache=True, nogil=True, inline="always")
def adapt_and_average(
    theta: Array,
    served: Array,
    offset: int,
    gradient: Array,
    factor: float,
    eta: float,
    l2: float,
    l1: float,
    weight: float,
) -> None:
    """`adapt`, and `average` of the weights, in one pass."""
    keep, scale, cut = 1.0 - eta * l2, eta * factor, max(eta * l1, TINY)
    for j in range(offset):
        value = shrunk(theta[j] * keep - scale * gradient[j], cut)
        theta[j] = value
        served[j] += weight * (value - served[j])


@njit(cache=True, nogil=True)
def mean_subgradient(rows: Array, used: int, theta: Array, offset: int, gradient: Array) -> None:
    """Mean subgradient at theta of the hinges of the first `used` rows.

    rows (n, P + 1) holds features and, last, the label; gradient is laid out like theta.
    """
    for j in range(gradient.size):
        gradient[j] = 0.0
    for r in range(used):
        row = rows[r]
        rank = int(row[offset])
        f = dot(theta, row, offset)
        total = 0.0
        for q in range(theta.size - offset):
            h = slope(rank, q, f - theta[offset + q])
            total += h
            gradient[offset + q] -= h
        if total != 0.0:
            for j in range(offset):
                gradient[j] += total * row[j]
    share = 1.0 / used
    for j in range(gradient.size):
        gradient[j] *= share
