"""Consensus ADMM with a server over shards that are all at one place."""

import numpy as np
from numba import njit

from anabranch.kernels.elastic_solve import length, shrink, solve
from anabranch.protocol import Array

__all__ = ["run_star"]


@njit(cache=True, nogil=True)
def run_star(
    L: Array,
    c: Array,
    rho: Array,
    l1: Array,
    l2: Array,
    relax: float,
    tolerance: float,
    rounds: int,
    alpha: Array,
) -> int:
    """Let N nodes and a server take turns, from alpha = 0; give how many rounds it took.

    L (N, p + 1, p + 1): factors of A_i + rho_i; c (N, p + 1). The steps, and their order, are
    those of `Half` and `StarHub`. Ends when neither alpha nor any theta_i - alpha is longer
    than `tolerance` |alpha|.
    """
    nodes, size = c.shape
    m, theta, pull = np.zeros((nodes, size)), np.empty(size), np.empty(size)
    before, total = np.empty(size), np.sum(rho)
    for round in range(rounds):
        before[:] = alpha
        pull[:] = 0.0
        for i in range(nodes):
            pull += m[i]
        shrink(pull, l1, total + l2, alpha)
        away = length(alpha - before)
        for i in range(nodes):
            if rho[i] > 0.0:
                solve(L[i], c[i] + 2.0 * rho[i] * alpha - m[i], theta)
                m[i] += relax * rho[i] * (theta - alpha)
                away = max(away, length(theta - alpha))
        if round > 0 and away <= tolerance * length(alpha):
            return round + 1
    return rounds
