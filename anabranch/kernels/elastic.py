"""Moments of (x, y) jointly, and the least-squares problem that they are.

A set of moments is a count n, a mean (p + 1,) and co-moments S (p + 1, p + 1), of which the
lower triangle counts; y is last. Never raw sums: their error grows with the square of the
offset of the fields.
"""

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = ["fill_problem", "fold", "merge", "observe", "predict_rows"]

_TILE = 64
"""Side of the tiles of `fold`: products of such are never split between threads."""


@njit(cache=True, nogil=True)
def observe(X: Array, y: Array, decay: float, count: float, mean: Array, S: Array) -> float:
    """n = decay n + 1, S = decay S + (1 - 1/n) d d', mean += d/n, d = (x, y) - mean; give n."""
    p = X.shape[1]
    d = np.empty(p + 1)
    for r in range(X.shape[0]):
        count = decay * count + 1.0
        share = 1.0 / count
        for i in range(p):
            d[i] = X[r, i] - mean[i]
        d[p] = y[r] - mean[p]
        for i in range(p + 1):
            mean[i] += share * d[i]
            f = (1.0 - share) * d[i]
            for j in range(i + 1):
                S[i, j] = decay * S[i, j] + f * d[j]
    return count


@njit(cache=True, nogil=True)
def _centre_chunk(X: Array, y: Array, count: float, mean: Array, chunk: Array) -> float:
    """Fill `chunk` with d' sqrt(n m/(n + m)) and the centred rows; move the mean; give n + m."""
    m, p = X.shape
    total = count + m
    middle = np.zeros(p + 1)
    for r in range(m):
        for i in range(p):
            middle[i] += X[r, i]
        middle[p] += y[r]
    middle /= m
    for r in range(m):
        for i in range(p):
            chunk[r + 1, i] = X[r, i] - middle[i]
        chunk[r + 1, p] = y[r] - middle[p]
    for i in range(p + 1):
        chunk[0, i] = (middle[i] - mean[i]) * np.sqrt(count * m / total)
        mean[i] += (middle[i] - mean[i]) * m / total
    return total  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def fold(X: Array, y: Array, count: float, mean: Array, S: Array) -> float:
    """As `observe` without decay, 63 rows at a time: much faster for many fields, not row by row.

    S += C'C, the first row of C being Chan's term for the difference of the means.
    """
    size = mean.size
    for start in range(0, X.shape[0], _TILE - 1):
        stop = min(start + _TILE - 1, X.shape[0])
        chunk = np.empty((stop - start + 1, size))
        count = _centre_chunk(X[start:stop], y[start:stop], count, mean, chunk)
        for i in range(0, size, _TILE):
            left = np.ascontiguousarray(chunk[:, i : i + _TILE].T)
            for j in range(0, i + 1, _TILE):
                right = np.ascontiguousarray(chunk[:, j : j + _TILE])
                S[i : i + _TILE, j : j + _TILE] += np.dot(left, right)
    return count


@njit(cache=True, nogil=True)
def merge(count: float, mean: Array, S: Array, n: float, other: Array, T: Array) -> float:
    """Take n samples with moments (other, T) in (Chan); give the count of both."""
    total = count + n
    if n == 0.0:
        return count
    d = other - mean
    share = n / total
    for i in range(mean.size):
        mean[i] += share * d[i]
        f = count * share * d[i]
        for j in range(i + 1):
            S[i, j] += T[i, j] + f * d[j]
    return total


@njit(cache=True, nogil=True)
def fill_problem(
    count: float,
    mean: Array,
    S: Array,
    centre: Array,
    scale: Array,
    total: float,
    A: Array,
    c: Array,
) -> float:
    """A = (1/M) [z 1]'[z 1], c = (1/M) [z 1]'v; give (1/M) v'v.

    z, v: the samples' fields and target, less `centre`, over `scale`; M = total.
    """
    p = mean.size - 1
    away = (mean - centre) / scale
    for i in range(p + 1):
        for j in range(i + 1):
            value = (S[i, j] / scale[i] / scale[j] + count * away[i] * away[j]) / total
            if i < p:
                A[i, j] = A[j, i] = value
            elif j < p:
                c[j] = value
    for j in range(p):
        A[p, j] = A[j, p] = count * away[j] / total
    A[p, p] = count / total
    c[p] = count * away[p] / total
    return (S[p, p] / scale[p] / scale[p] + count * away[p] * away[p]) / total  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def predict_rows(X: Array, weights: Array, centre: Array, level: float, out: Array) -> None:
    """out_r = level + sum_j w_j (x_rj - centre_j), summed in order."""
    for r in range(X.shape[0]):
        total = level
        for j in range(X.shape[1]):
            total += weights[j] * (X[r, j] - centre[j])
        out[r] = total
