"""Where factors of single precision are off, in double precision."""

import numpy as np
from numba import njit

from anabranch.kernels.lanes import WIDTH, dot
from anabranch.protocol import Array

__all__ = ["moment_product", "square_product"]


@njit(cache=True, nogil=True)
def _add_symmetric(S: Array, v: Array, out: Array) -> None:
    """out += S v for the first v.size rows and columns of S, of which the lower triangle is."""
    for i in range(v.size):
        whole, row, value = i // WIDTH * WIDTH, S[i], v[i]
        total = dot(row, v, whole) + row[i] * value
        for k in range(whole, i):
            total += row[k] * v[k]
        for k in range(i):
            out[k] += row[k] * value
        out[i] += total


@njit(cache=True, nogil=True)
def moment_product(
    count: float, mean: Array, S: Array, centre: Array, scale: Array, total: float, theta: Array
) -> Array:
    """A theta, A = (1/M) [z 1]'[z 1] as `fill_lower` has it; (p + 1,)."""
    p = mean.size - 1
    away, out = (mean - centre)[:p] / scale[:p], np.zeros(p + 1)
    _add_symmetric(S, theta[:p] / scale[:p], out)
    level = theta[p]
    for j in range(p):
        level += away[j] * theta[j]
    for j in range(p):
        out[j] = (out[j] / scale[j] + count * away[j] * level) / total
    out[p] = count * level / total
    return out


@njit(cache=True, nogil=True)
def square_product(L: Array, theta: Array) -> Array:
    """L L' theta, L lower (p + 1, p + 1)."""
    n = theta.size
    turned, out = np.zeros(n), np.empty(n)
    for i in range(n):
        for k in range(i + 1):
            turned[k] += L[i, k] * theta[i]
    for i in range(n):
        whole = i // WIDTH * WIDTH
        out[i] = dot(L[i], turned, whole)
        for k in range(whole, i + 1):
            out[i] += L[i, k] * turned[k]
    return out
