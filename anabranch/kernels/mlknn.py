"""ML-kNN over rows that stay: distances, neighbours, counts, and the rule."""

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = ["count_neighbours", "distances", "margin", "nearest", "rule_margins", "tables"]

_TILE = 256
"""Points whose distances are summed at a time: they stay in the fast cache."""


@njit(cache=True, nogil=True)
def _add_distances(points: Array, x: Array, out: Array) -> None:
    """out[i] += sum_j (points[j, i] - x[j])^2, each sum in the order of j; four j in a pass."""
    whole = x.size - x.size % 4
    for j in range(0, whole, 4):
        a, b, c, d = points[j], points[j + 1], points[j + 2], points[j + 3]
        for i in range(out.size):
            total = out[i]
            total += (a[i] - x[j]) * (a[i] - x[j])
            total += (b[i] - x[j + 1]) * (b[i] - x[j + 1])
            total += (c[i] - x[j + 2]) * (c[i] - x[j + 2])
            total += (d[i] - x[j + 3]) * (d[i] - x[j + 3])
            out[i] = total
    for j in range(whole, x.size):
        for i in range(out.size):
            out[i] += (points[j, i] - x[j]) * (points[j, i] - x[j])


@njit(cache=True, nogil=True)
def distances(points: Array, X: Array, out: Array) -> None:
    """out[r, i] = |points[:, i] - X[r]|^2, by points (d, n) and rows X (m, d).

    A pair's sum is the same, bit for bit, in both directions and beside any others.
    """
    n = points.shape[1]
    out[:] = 0.0
    for first in range(0, n, _TILE):
        last = min(first + _TILE, n)
        for r in range(X.shape[0]):
            _add_distances(points[:, first:last], X[r], out[r, first:last])


@njit(cache=True, nogil=True)
def nearest(row: Array, first: int, slots: Array, near: Array, found: int) -> int:
    """Insert slots `first`, `first` + 1, ... by their distances; gives the list's new length.

    The list of the nearest is sorted, of equal distances the one inserted earlier comes first.
    None that is infinite is taken.
    """
    room = slots.size
    for i in range(row.size):
        d = row[i]
        if not d < np.inf or (found == room and not d < near[found - 1]):
            continue
        place = found if found < room else room - 1
        while place > 0 and d < near[place - 1]:
            near[place] = near[place - 1]
            slots[place] = slots[place - 1]
            place -= 1
        near[place] = d
        slots[place] = first + i
        found = min(found + 1, room)
    return found


@njit(cache=True, nogil=True)
def margin(with_label: Array, without: Array, rows: int, c: int, smoothing: float) -> float:
    """(A - B)/(A + B), A : B the odds that a row with c such neighbours has the label.

    P(H) P(c | H) with P(H) = (s + n_H)/(2 s + m) and P(c | H) = (s + n_H[c])/(s (k + 1) + n_H);
    what both sides share is left out, and for whole s the products are exact.

    Parameters
    ----------
    with_label, without : (k + 1,) number of rows with and without the label, by the number of
        their neighbours that have it
    rows : m
    """
    had = 0
    for n in range(with_label.size):
        had += with_label[n]
    base = smoothing * with_label.size
    for_it = (smoothing + had) * (smoothing + with_label[c]) * (base + rows - had)
    against = (smoothing + rows - had) * (smoothing + without[c]) * (base + had)
    return float((for_it - against) / (for_it + against))


@njit(cache=True, nogil=True)
def count_neighbours(slots: Array, found: int, y: Array, counts: Array) -> None:
    """counts[l] = number of the first `found` slots whose row of y (n, q) has label l."""
    counts[:] = 0
    for i in range(found):
        for label in range(counts.size):
            counts[label] += y[slots[i], label]


@njit(cache=True, nogil=True)
def _all_nearest(points: Array, slots: Array, near: Array, found: Array) -> None:
    """Find the nearest others of all points (d, n): lists (n, k), and their lengths (n,).

    A distance is computed once and used for both; each list still sees the others in order.
    """
    n = points.shape[1]
    for begin in range(0, n, _TILE):
        rows = points[:, begin : begin + _TILE].T.copy()
        for other in range(begin, n, _TILE):
            block = np.empty((len(rows), min(_TILE, n - other)))
            distances(points[:, other : other + _TILE], rows, block)
            for i in range(len(rows)):
                if other == begin:
                    block[i, i] = np.inf
                r = begin + i
                found[r] = nearest(block[i], other, slots[r], near[r], found[r])
            for j in range(block.shape[1] if other > begin else 0):
                r = other + j
                found[r] = nearest(block[:, j].copy(), begin, slots[r], near[r], found[r])


@njit(cache=True, nogil=True)
def tables(points: Array, y: Array, k: int) -> Array:
    """Count rows by label and by how many of their k nearest others have it.

    Parameters
    ----------
    points : (d, n) float64, a row of the data in each column
    y : (n, q) uint8

    Returns
    -------
    (2, q, k + 1) int64; first rows without the label, then rows with it
    """
    n, q = y.shape
    slots, near = np.empty((n, k), dtype=np.int64), np.empty((n, k))
    found = np.zeros(n, dtype=np.int64)
    _all_nearest(points, slots, near, found)
    out = np.zeros((2, q, k + 1), dtype=np.int64)
    counts = np.empty(q, dtype=np.int64)
    for i in range(n):
        count_neighbours(slots[i], found[i], y, counts)
        for label in range(q):
            out[y[i, label], label, counts[label]] += 1
    return out


@njit(cache=True, nogil=True)
def rule_margins(points: Array, y: Array, table: Array, smoothing: float, X: Array) -> Array:
    """Give the margins (m, q) of rows X (m, d) among points; see `tables` and `margin`."""
    n, q = y.shape
    k = table.shape[2] - 1
    out = np.zeros((X.shape[0], q))
    counts = np.empty(q, dtype=np.int64)
    slots, near = np.empty(k, dtype=np.int64), np.empty(k)
    for begin in range(0, X.shape[0], _TILE):
        rows = X[begin : begin + _TILE]
        block = np.empty((len(rows), n))
        distances(points, rows, block)
        for i in range(len(block)):
            found = nearest(block[i], 0, slots, near, 0)
            count_neighbours(slots, found, y, counts)
            for label in range(q):
                out[begin + i, label] = margin(
                    table[1, label], table[0, label], n, counts[label], smoothing
                )
    return out
