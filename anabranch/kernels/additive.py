"""Explicit features of additive homogeneous kernels, for one row."""

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = ["additive_row", "proportions"]


@njit(cache=True, nogil=True)
def proportions(X: Array, r: int, scale: Array, out: Array) -> None:
    """out_i = x_i/centre_i for row r of X, x_i itself where the centre is not positive."""
    for i in range(X.shape[1]):
        centre = scale[i]
        out[i] = X[r, i] / centre if centre > 0.0 else X[r, i]


@njit(cache=True, nogil=True)
def additive_row(u: Array, amplitudes: Array, spacing: float, z: Array) -> None:
    """z = sqrt(u_i) a_0, then sqrt(u_i) a_j (cos, sin)(j spacing log u_i), j = 1..n, for each i.

    The angles of a field are multiples of one, so one sine and cosine give all by
    addition theorems. Zero where u_i is, and in the padding.
    """
    width = 2 * amplitudes.size - 1
    for i in range(u.size):
        place = i * width
        root = np.sqrt(u[i]) if u[i] > 0.0 else 0.0
        angle = spacing * np.log(u[i]) if u[i] > 0.0 else 0.0
        cos, sin = np.cos(angle), np.sin(angle)
        z[place] = root * amplitudes[0]
        c, s = 1.0, 0.0
        for j in range(1, amplitudes.size):
            c, s = c * cos - s * sin, s * cos + c * sin
            z[place + 2 * j - 1] = root * amplitudes[j] * c
            z[place + 2 * j] = root * amplitudes[j] * s
    for j in range(u.size * width, z.size):
        z[j] = 0.0
