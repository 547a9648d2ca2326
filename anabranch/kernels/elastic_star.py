"""Steps of consensus ADMM with a server."""

import numpy as np
from numba import njit

from anabranch.kernels.elastic_solve import length, shrink, solve
from anabranch.protocol import Array

__all__ = ["answer_nodes", "apart", "distance", "merge_told", "owed", "star_step", "sum_up"]


@njit(cache=True, nogil=True)
def distance(theta: Array, alpha: Array) -> float:
    """|theta - alpha|."""
    total = 0.0
    for j in range(theta.size):
        total += (theta[j] - alpha[j]) ** 2
    return np.sqrt(total)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def apart(theta: Array, alpha: Array) -> tuple[float, float]:
    """|theta - alpha|, and the larger of |theta| and |alpha|."""
    return distance(theta, alpha), max(length(theta), length(alpha))


@njit(cache=True, nogil=True)
def owed(m: Array, rho: float, sent: Array, sent_rho: float, alpha: Array) -> float:
    """|(m - rho alpha) - (sent - sent_rho alpha)|: by how much the multiplier has moved."""
    total = 0.0
    for j in range(m.size):
        total += ((m[j] - rho * alpha[j]) - (sent[j] - sent_rho * alpha[j])) ** 2
    return np.sqrt(total)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def _loss(A: Array, c: Array, square: float, theta: Array) -> float:
    """(theta'A theta - 2 c'theta + square)/2, never below 0."""
    total = square
    for i in range(theta.size):
        slope = -2.0 * c[i]
        for j in range(theta.size):
            slope += A[i, j] * theta[j]
        total += slope * theta[i]
    return max(0.0, 0.5 * total)


@njit(cache=True, nogil=True)
def star_step(
    A: Array,
    c: Array,
    square: float,
    L: Array,
    rho: float,
    before: float,
    relax: float,
    alpha: Array,
    m: Array,
    theta: Array,
) -> float:
    """m += (rho - before) alpha, so that the multiplier stays when the penalty changes; then
    theta = (L L')^-1 (c + 2 rho alpha - m), m += relax rho (theta - alpha), L L' = A + rho.

    Without a penalty m = 0, theta = alpha. Gives (1/2M) sum of the squared errors by alpha.
    """  # noqa: D205
    for j in range(m.size):
        m[j] += (rho - before) * alpha[j]
    if rho > 0.0:
        solve(L, c + 2.0 * rho * alpha - m, theta)
        for j in range(m.size):
            m[j] += relax * rho * (theta[j] - alpha[j])
    else:
        m[:] = 0.0
        theta[:] = alpha
    return _loss(A, c, square, alpha)


@njit(cache=True, nogil=True)
def merge_told(counts: Array, told: Array, count: float, mean: Array, m2: Array) -> float:
    """Take in what nodes tell, in order (Chan): means, then variances; give the count of all.

    counts (N,), 0 for a node that has no samples; told (N, 2 (p + 1)); m2 = count variance.
    """
    size = mean.size
    for k in range(counts.size):
        n = counts[k]
        if n == 0.0:
            continue
        share = n / (count + n)
        for j in range(size):
            square = n * told[k, size + j]
            if count == 0.0:
                mean[j], m2[j] = told[k, j], square
            else:
                d = told[k, j] - mean[j]
                mean[j] += share * d
                m2[j] = m2[j] + square + (count * share) * d * d
        count += n
    return count


@njit(cache=True, nogil=True)
def sum_up(own: Array, m: Array, l1: Array, curvature: Array, alpha: Array) -> float:
    """alpha = S(own + sum_i m_i, l1)/curvature, the nodes in order; give the length of its move."""
    pull, before = own.copy(), alpha.copy()
    for i in range(m.shape[0]):
        pull += m[i]
    shrink(pull, l1, curvature, alpha)
    return length(alpha - before)


@njit(cache=True, nogil=True)
def answer_nodes(
    L: Array, c: Array, rho: Array, relax: float, alpha: Array, m: Array, first: int, last: int
) -> float:
    """Let the nodes first..last step from alpha; give the longest theta_i - alpha.

    theta_i = (L_i L_i')^-1 (c_i + 2 rho_i alpha - m_i), m_i += relax rho_i (theta_i - alpha),
    as in `Half`. L (N, p + 1, p + 1): factors of A_i + rho_i; c, m (N, p + 1).
    """
    theta, away = np.empty(alpha.size), 0.0
    for i in range(first, last):
        if rho[i] > 0.0:
            solve(L[i], c[i] + 2.0 * rho[i] * alpha - m[i], theta)
            m[i] += relax * rho[i] * (theta - alpha)
            away = max(away, length(theta - alpha))
    return away
