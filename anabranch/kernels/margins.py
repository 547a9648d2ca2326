"""A row's features, and what parameters make of them: margins and ranks."""

import numpy as np
from numba import njit

from anabranch.kernels.additive import additive_row, proportions
from anabranch.kernels.fourier import fourier_row
from anabranch.kernels.lanes import dot
from anabranch.kernels.moments import CENTRE, standardise
from anabranch.kernels.ordinal import count_above
from anabranch.protocol import Array

__all__ = [
    "ADDITIVE",
    "FOURIER",
    "PLAIN",
    "feature_row",
    "feature_rows",
    "fill_margins",
    "margins",
    "ranks",
]

PLAIN, FOURIER, ADDITIVE = 0, 1, 2
"""Forms of feature maps: the standardised fields; random Fourier features of these, with their
frequencies, offsets and one amplitude; additive ones of the fields over their means, with the
spacing of frequencies for offset, and their amplitudes."""


@njit(cache=True, nogil=True, inline="always")
def feature_row(
    X: Array,
    r: int,
    scale: Array,
    form: int,
    omega: Array,
    bias: Array,
    amplitudes: Array,
    D: int,
    z: Array,
    u: Array,
) -> None:
    """z = the D features of row r of X, and zeros behind them; see the forms above."""
    if form == PLAIN:
        standardise(X, r, scale, z)
    elif form == FOURIER:
        standardise(X, r, scale, u)
        fourier_row(u, omega, bias, amplitudes[0], D, z)
    else:
        proportions(X, r, scale[CENTRE], u)
        additive_row(u, amplitudes, bias[0], z)


@njit(cache=True, nogil=True, inline="always")
def fill_margins(f: float, theta: Array, offset: int, out: Array) -> None:
    """out_q = f - b_q, with b = theta[offset:]."""
    for q in range(out.size):
        out[q] = f - theta[offset + q]


@njit(cache=True, nogil=True)
def margins(
    X: Array,
    theta: Array,
    scale: Array,
    form: int,
    omega: Array,
    bias: Array,
    amplitudes: Array,
    D: int,
    z: Array,
    u: Array,
) -> Array:
    """w'z(x_r) - b_q, shape (n, Q - 1), with the parameters in theta (P + Q - 1,)."""
    out = np.empty((X.shape[0], theta.size - z.size))
    for r in range(X.shape[0]):
        feature_row(X, r, scale, form, omega, bias, amplitudes, D, z, u)
        fill_margins(dot(theta, z, z.size), theta, z.size, out[r])
    return out


@njit(cache=True, nogil=True)
def ranks(
    X: Array,
    theta: Array,
    scale: Array,
    form: int,
    omega: Array,
    bias: Array,
    amplitudes: Array,
    D: int,
    z: Array,
    u: Array,
) -> Array:
    """1 + #{q : w'z(x_r) > b_q}, int64, with the parameters in theta (P + Q - 1,)."""
    out = np.empty(X.shape[0], np.int64)
    for r in range(X.shape[0]):
        feature_row(X, r, scale, form, omega, bias, amplitudes, D, z, u)
        out[r] = count_above(dot(theta, z, z.size), theta, z.size)
    return out


@njit(cache=True, nogil=True)
def feature_rows(
    X: Array,
    y: Array,
    scale: Array,
    form: int,
    omega: Array,
    bias: Array,
    amplitudes: Array,
    D: int,
    z: Array,
    u: Array,
) -> Array:
    """Rows (n, P + 1): features, padding, label."""
    P = z.size
    out = np.empty((X.shape[0], P + 1))
    for r in range(X.shape[0]):
        feature_row(X, r, scale, form, omega, bias, amplitudes, D, z, u)
        for j in range(P):
            out[r, j] = z[j]
        out[r, P] = y[r]
    return out
