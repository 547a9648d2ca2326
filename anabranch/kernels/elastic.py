"""Moments of (x, y) jointly, and the least-squares problem that they are.

A set of moments is a count n, a mean (p + 1,) and co-moments S (p + 1, p + 1), of which the
lower triangle counts; y is last. Never raw sums: their error grows with the square of the
offset of the fields.
"""

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = ["fill_lower", "fill_problem", "merge", "observe", "predict_rows"]


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
def fill_lower(
    count: float,
    mean: Array,
    S: Array,
    centre: Array,
    scale: Array,
    total: float,
    A: Array,
    c: Array,
) -> float:
    """A = (1/M) [z 1]'[z 1], its lower triangle; c = (1/M) [z 1]'v; give (1/M) v'v.

    z, v: the samples' fields and target, less `centre`, over `scale`; M = total.
    """
    p = mean.size - 1
    away, inverse = (mean - centre) / scale, 1.0 / scale
    for i in range(p):
        f, g = inverse[i] / total, count * away[i] / total
        for j in range(i + 1):
            A[i, j] = f * S[i, j] * inverse[j] + g * away[j]
    f, g = inverse[p] / total, count * away[p] / total
    for j in range(p):
        c[j] = f * S[p, j] * inverse[j] + g * away[j]
        A[p, j] = count * away[j] / total
    A[p, p] = count / total
    c[p] = count * away[p] / total
    return (S[p, p] / scale[p] / scale[p] + count * away[p] * away[p]) / total  # type: ignore[no-any-return]


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
    """As `fill_lower`, with all of A."""
    square = fill_lower(count, mean, S, centre, scale, total, A, c)
    for i in range(mean.size):
        for j in range(i):
            A[j, i] = A[i, j]
    return square


@njit(cache=True, nogil=True)
def predict_rows(X: Array, weights: Array, centre: Array, level: float, out: Array) -> None:
    """out_r = level + sum_j w_j (x_rj - centre_j), summed in order."""
    for r in range(X.shape[0]):
        total = level
        for j in range(X.shape[1]):
            total += weights[j] * (X[r, j] - centre[j])
        out[r] = total
