"""Synthetic rows by position."""

import numpy as np
from numba import njit

from anabranch.kernels.counters import Counter, mix, normal, uniform
from anabranch.protocol import Array

__all__ = ["fill_label_rows", "fill_rows"]


@njit(cache=True, nogil=True)
def fill_rows(
    seed: Counter,
    start: int,
    weights: Array,
    bilinear: bool,
    noise: float,
    cuts: Array,
    shifts: Array,
    X: Array,
    y: Array,
) -> None:
    """Row r is that of position start + r: x uniform, y = 1 + #{q : latent > cuts_q + shift_r}.

    latent = weights'x + noise e, or weights_0 (x_0 - 1/2)(x_1 - 1/2) + noise e when bilinear;
    e is standard normal. x_i is uniform in (0, 1).
    """
    features = X.shape[1]
    for r in range(X.shape[0]):
        key = mix(np.uint64(seed), np.uint64(start + r))
        latent = 0.0
        for i in range(features):
            x = uniform(key, np.uint64(i))
            X[r, i] = x
            latent += weights[i] * x
        if bilinear:
            latent = weights[0] * (X[r, 0] - 0.5) * (X[r, 1] - 0.5)
        latent += noise * normal(key, np.uint64(features))
        rank = 1
        for q in range(cuts.size):
            rank += latent > cuts[q] + shifts[r]
        y[r] = rank


@njit(cache=True, nogil=True)
def fill_label_rows(
    seed: Counter, start: int, weights: Array, noise: float, cuts: Array, X: Array, y: Array
) -> None:
    """Row r is that of position start + r: x standard normal, y_j = [w_j'x + noise e_j > c_j].

    e_j is standard normal; weights (q, d), cuts (q,), X (n, d), y (n, q).
    """
    features = X.shape[1]
    for r in range(X.shape[0]):
        key = mix(np.uint64(seed), np.uint64(start + r))
        for i in range(features):
            X[r, i] = normal(key, np.uint64(i))
        for j in range(cuts.size):
            latent = noise * normal(key, np.uint64(features + j))
            for i in range(features):
                latent += weights[j, i] * X[r, i]
            y[r, j] = 1.0 if latent > cuts[j] else 0.0
