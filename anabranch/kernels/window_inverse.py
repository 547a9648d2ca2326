"""Keeping the inverse of a window's step while rows come and go."""

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = ["mirror_lower", "rank_one_now", "rank_one_steps", "swap_slots"]


@njit(cache=True, nogil=True)
def mirror_lower(A: Array, out: Array) -> None:
    """Write the lower triangle of A to both triangles of `out`, a tile at a time."""
    n, tile = A.shape[0], 32
    for first in range(0, n, tile):
        for second in range(0, first + 1, tile):
            for i in range(first, min(first + tile, n)):
                for j in range(second, min(second + tile, i + 1)):
                    out[i, j] = out[j, i] = A[i, j]


@njit(cache=True, nogil=True)
def rank_one_steps(
    Z: Array,
    right: Array,
    signs: Array,
    scale: float,
    floor: float,
    most: float,
    low: Array,
    used: int,
) -> bool:
    """Z = A^-1 [u_1 .. u_p, R] becomes B^-1 of the same, B = A + scale sum_j signs_j u_j u_j'.

    Sherman-Morrison: with w = A^-1 u, D = 1 + sign scale u'w and v = w sqrt(scale/D) it is
    A^-1 - sign v v'; the v are written to `low` from row `used` on. False where a row is taken
    away and D < floor, or u'u > most so that D is noise: Z is spoiled then.
    """
    d, columns = Z.shape
    t = np.empty(columns, Z.dtype)
    for j in range(signs.size):
        v = low[used + j]
        inner, size = 0.0, 0.0
        for i in range(d):
            inner += right[i, j] * Z[i, j]
            size += right[i, j] * right[i, j]
        pivot = 1.0 + signs[j] * scale * inner
        if np.isnan(pivot) or (signs[j] < 0.0 and (pivot < floor or size > most)):
            return False
        share = np.sqrt(scale / pivot)
        t[:] = 0.0
        for i in range(d):
            value = Z[i, j] * share
            v[i] = value
            for column in range(j + 1, columns):
                t[column] += v[i] * right[i, column]
        for column in range(j + 1, columns):
            t[column] *= signs[j]
        for i in range(d):
            value = v[i]
            for column in range(j + 1, columns):
                Z[i, column] -= value * t[column]
    return True


@njit(cache=True, nogil=True)
def rank_one_now(B: Array, U: Array, signs: Array, scale: float, floor: float, most: float) -> bool:
    """As `rank_one_steps` for the rows of U, but B itself becomes the new inverse."""
    d = B.shape[0]
    w = np.empty(d, B.dtype)
    for j in range(signs.size):
        w[:] = 0.0
        size = 0.0
        for i in range(d):
            value = U[j, i]
            size += value * value
            if value != 0.0:
                for a in range(d):
                    w[a] += value * B[i, a]
        inner = 0.0
        for i in range(d):
            inner += U[j, i] * w[i]
        pivot = 1.0 + signs[j] * scale * inner
        if np.isnan(pivot) or (signs[j] < 0.0 and (pivot < floor or size > most)):
            return False
        share = np.sqrt(scale / pivot)
        for i in range(d):
            w[i] *= share
        for i in range(d):
            value = signs[j] * w[i]
            for a in range(d):
                B[i, a] -= value * w[a]
    return True


@njit(cache=True, nogil=True)
def _remove_slot(G: Array, j: int) -> None:
    """Take index j out of the matrix that G inverts: G -= g_j g_j'/g_jj, then 0 there."""
    share = 1.0 / np.sqrt(G[j, j])
    g = G[j] * share
    for a in range(G.shape[0]):
        if g[a] != 0.0:
            value = g[a]
            for b in range(G.shape[0]):
                G[a, b] -= value * g[b]
    G[j, :] = 0.0
    G[:, j] = 0.0


@njit(cache=True, nogil=True)
def _insert_slot(G: Array, j: int, border: Array, corner: float, floor: float) -> bool:
    """Border the matrix that G inverts at index j, where G is 0.

    With u = G b and the Schur complement D = corner - b'u: G += (u, -1)(u, -1)'/D. False
    where D < floor corner.
    """
    n = G.shape[0]
    u = np.zeros(n, G.dtype)
    for a in range(n):
        if border[a] != 0.0 and a != j:
            value = border[a]
            for b in range(n):
                u[b] += value * G[a, b]
    pivot = corner
    for a in range(n):
        if a != j:
            pivot -= border[a] * u[a]
    if np.isnan(pivot) or pivot < floor * corner:
        return False
    share = 1.0 / np.sqrt(pivot)
    u[j] = -1.0
    for a in range(n):
        u[a] *= share
    for a in range(n):
        value = u[a]
        for b in range(n):
            G[a, b] += value * u[b]
    return True


@njit(cache=True, nogil=True)
def swap_slots(
    G: Array, slots: Array, borders: Array, shift: float, scale: float, known: int, floor: float
) -> bool:
    """Keep G = (shift I + scale X X')^-1 while the rows of X in `slots` are replaced.

    `borders` are the products of the new rows with all rows. Indices from `known` on were not
    in G before. False where digits were lost: G is spoiled then.
    """
    for j in slots:
        if j < known:
            _remove_slot(G, j)
        else:
            G[j, :] = 0.0
            G[:, j] = 0.0
    for p in range(slots.size):
        j = slots[p]
        for a in range(G.shape[0]):
            borders[p, a] *= scale
        if not _insert_slot(G, j, borders[p], shift + borders[p, j], floor):
            return False
    return True
