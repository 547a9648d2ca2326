"""Consensus ADMM with a server over shards that are all at one place."""

import numpy as np
from numba import njit

from anabranch.kernels.elastic_solve import length, shrink, solve
from anabranch.protocol import Array

__all__ = ["answer_nodes", "sum_up"]


@njit(cache=True, nogil=True)
def sum_up(m: Array, l1: Array, curvature: Array, alpha: Array) -> float:
    """alpha = S(sum_i m_i, l1)/curvature, the nodes in order; give the length of its move."""
    pull, before = np.zeros(alpha.size), alpha.copy()
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
