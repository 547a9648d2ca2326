"""Random Fourier features of one row."""

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = ["fourier_row"]

_SIN = tuple(
    (-1.0) ** n * (2.0 * np.pi) ** (2 * n + 1) / float(np.prod(np.arange(1.0, 2 * n + 2)))
    for n in range(10)
)
"""Taylor coefficients of sin(2 pi u): below 3e-16 off for |u| <= 1/4."""
_S0, _S1, _S2, _S3, _S4, _S5, _S6, _S7, _S8, _S9 = _SIN


@njit(cache=True, nogil=True)
def _phases(u: Array, omega: Array, bias: Array, z: Array) -> None:
    """z = omega'u + bias, summed in the order of the features, four of them a pass."""
    width = z.size
    features = u.size
    for j in range(width):
        z[j] = bias[j]
    whole = features - features % 4
    for i in range(0, whole, 4):
        a, b, c, d = u[i], u[i + 1], u[i + 2], u[i + 3]
        for j in range(width):
            left = (z[j] + a * omega[i, j]) + b * omega[i + 1, j]
            z[j] = (left + c * omega[i + 2, j]) + d * omega[i + 3, j]
    for i in range(whole, features):
        a = u[i]
        for j in range(width):
            z[j] += a * omega[i, j]


@njit(cache=True, nogil=True)
def fourier_row(
    u: Array, omega: Array, bias: Array, amplitude: float, columns: int, z: Array
) -> None:
    """z_j = amplitude cos(2 pi (omega_j'u + bias_j)), j < columns; zero in the padding.

    omega (K, P) and bias (P,) are in turns. With t the phase to the nearest whole turn,
    cos(2 pi t) = sin(2 pi (1/4 - |t|)), a polynomial the compiler can vectorise; the
    library's cosine is a call per number.
    """
    _phases(u, omega, bias, z)
    for j in range(z.size):
        turn = z[j]
        v = 0.25 - abs(turn - np.floor(turn + 0.5))
        q = v * v
        s = _S9 * q + _S8
        s = s * q + _S7
        s = s * q + _S6
        s = s * q + _S5
        s = s * q + _S4
        s = s * q + _S3
        s = s * q + _S2
        s = s * q + _S1
        s = s * q + _S0
        z[j] = amplitude * (s * v)
    for j in range(columns, z.size):
        z[j] = 0.0
