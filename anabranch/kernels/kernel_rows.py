"""Rows of a kernel matrix, computed when asked for and kept as long as there is room."""

from typing import NamedTuple

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = ["KERNELS", "Kernel", "RowCache", "diagonal", "fill_row", "kernel_row", "row_cache"]

KERNELS = ("linear", "gaussian", "laplacian", "polynomial", "precomputed")
_LINEAR, _GAUSSIAN, _LAPLACIAN, _POLYNOMIAL, _PRECOMPUTED = range(5)


class Kernel(NamedTuple):
    """A kernel, by its place in `KERNELS`.

    linear x'z; gaussian exp(-gamma |x - z|^2); laplacian exp(-gamma |x - z|_1); polynomial
    (gamma x'z + shift)^degree; precomputed: rows are rows of the matrix.
    """

    kind: int
    gamma: float
    shift: float
    degree: float


class RowCache(NamedTuple):
    """Rows kept (slots, n), whose they are, where each is, and when each was last used."""

    rows: Array
    owner: Array
    place: Array
    used: Array
    clock: Array


def row_cache(n: int, megabytes: float) -> RowCache:
    """Give an empty cache of rows (n,): as many as fit, two at least."""
    slots = int(min(n, max(2, megabytes * 2**20 // (8 * max(1, n)))))
    return RowCache(
        np.empty((slots, n)),
        np.full(slots, -1),
        np.full(n, -1),
        np.zeros(slots, np.int64),
        np.zeros(1, np.int64),
    )


@njit(cache=True, nogil=True)
def _distances(X: Array, x: Array, out: Array) -> None:
    """out_i = |x_i - x|_1."""
    for i in range(len(X)):
        total = 0.0
        for j in range(len(x)):
            total += abs(X[i, j] - x[j])
        out[i] = total


@njit(cache=True, nogil=True)
def fill_row(X: Array, squares: Array, x: Array, square: float, kernel: Kernel, out: Array) -> None:
    """out_i = k(x_i, x), with squares_i = |x_i|^2 and square = |x|^2."""
    kind, gamma, shift, degree = kernel
    if kind == _LAPLACIAN:
        _distances(X, x, out)
        for i in range(len(out)):
            out[i] = np.exp(-gamma * out[i])
        return
    np.dot(X, x, out)
    if kind == _GAUSSIAN:
        for i in range(len(out)):
            out[i] = np.exp(-gamma * max(squares[i] + square - 2.0 * out[i], 0.0))
    elif kind == _POLYNOMIAL:
        for i in range(len(out)):
            out[i] = (gamma * out[i] + shift) ** degree


@njit(cache=True, nogil=True)
def diagonal(X: Array, squares: Array, kernel: Kernel, out: Array) -> None:
    """out_i = k(x_i, x_i)."""
    kind, gamma, shift, degree = kernel
    for i in range(len(out)):
        if kind == _LINEAR:
            out[i] = squares[i]
        elif kind == _POLYNOMIAL:
            out[i] = (gamma * squares[i] + shift) ** degree
        elif kind == _PRECOMPUTED:
            out[i] = X[i, i]
        else:
            out[i] = 1.0


@njit(cache=True, nogil=True)
def kernel_row(i: int, X: Array, squares: Array, kernel: Kernel, cache: RowCache) -> Array:
    """Give row i of the matrix, a view that stands until two other rows are asked for."""
    if kernel[0] == _PRECOMPUTED:
        return X[i, :]
    rows, owner, place, used, clock = cache
    clock[0] += 1
    slot = place[i]
    if slot < 0:
        slot = np.argmin(used)
        if owner[slot] >= 0:
            place[owner[slot]] = -1
        owner[slot], place[i] = i, slot
        fill_row(X, squares, X[i], squares[i], kernel, rows[slot])
    used[slot] = clock[0]
    return rows[slot, :]
