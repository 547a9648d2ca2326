"""ML-kNN over the newest rows: lists of neighbours and counts, kept up row by row."""

from typing import NamedTuple

import numpy as np
from numba import njit

from anabranch.kernels.mlknn import count_neighbours, distances, margin, nearest
from anabranch.protocol import Array

__all__ = ["COUNT", "Window", "learn_rows", "rule", "window_margins"]

COUNT, HEAD = 0, 1


class Window(NamedTuple):
    """The rows and what is known of them, by slots; a slot is an index below `room`.

    Attributes
    ----------
    points : (d, room) float64, a row in each column
    y : (room, q) uint8
    slots, near : (room, r) int64 and float64, r > k: each row's nearest others and their
        distances, sorted, of equal ones the oldest first
    lengths : (room,) int64, how many of those are known: all r, or all others there are, or
        fewer after some left, but never below k while there are k others
    counts : (room, q) int64, how many of a row's k nearest have each label
    table : (2, q, k + 1) int64, number of rows by label and count; see `mlknn.tables`
    ring : (2,) int64; how many rows there are, and the slot of the oldest
    """

    points: Array
    y: Array
    slots: Array
    near: Array
    lengths: Array
    counts: Array
    table: Array
    ring: Array


@njit(cache=True, nogil=True)
def _enter(window: Window, slot: int, sign: int) -> None:
    """Add a row to the table, or take it out."""
    for label in range(window.table.shape[1]):
        window.table[window.y[slot, label], label, window.counts[slot, label]] += sign


@njit(cache=True, nogil=True)
def _exchange(window: Window, slot: int, gone: int, come: int) -> None:
    """Count one neighbour of a row less and another one more; -1 is none."""
    y, counts, table = window.y, window.counts, window.table
    for label in range(table.shape[1]):
        change = np.int64(0)
        if gone >= 0:
            change -= np.int64(y[gone, label])
        if come >= 0:
            change += np.int64(y[come, label])
        if change != 0:
            table[y[slot, label], label, counts[slot, label]] -= 1
            counts[slot, label] += change
            table[y[slot, label], label, counts[slot, label]] += 1


@njit(cache=True, nogil=True)
def _oldest_first(window: Window, row: Array, slots: Array, near: Array) -> int:
    """Find the nearest by a row of distances to all slots; gives how many."""
    count, head = window.ring[COUNT], window.ring[HEAD]
    found = nearest(row[head:count], head, slots, near, 0)
    return nearest(row[:head], 0, slots, near, found)


@njit(cache=True, nogil=True)
def _refill(window: Window, slot: int, gone: int, row: Array) -> None:
    """Find a row's neighbours anew, without the slot `gone`."""
    count = window.ring[COUNT]
    x = window.points[:, slot].copy().reshape(1, -1)
    distances(window.points[:, :count], x, row[:, :count])
    row[0, slot] = row[0, gone] = np.inf
    window.lengths[slot] = _oldest_first(window, row[0], window.slots[slot], window.near[slot])


@njit(cache=True, nogil=True)
def _forget(window: Window, gone: int, row: Array) -> None:
    """Take a row out of the table and out of the lists of all others."""
    k, count = window.table.shape[2] - 1, window.ring[COUNT]
    _enter(window, gone, -1)
    for i in range(count):
        slots, near, length = window.slots[i], window.near[i], window.lengths[i]
        place = 0
        while place < length and slots[place] != gone:
            place += 1
        if i == gone or place == length:
            continue
        for j in range(place, length - 1):
            slots[j], near[j] = slots[j + 1], near[j + 1]
        window.lengths[i] = length - 1
        if place < k:
            if length - 1 < k and length - 1 < count - 2:
                _refill(window, i, gone, row)
            _exchange(window, i, gone, slots[k - 1] if window.lengths[i] >= k else -1)


@njit(cache=True, nogil=True)
def _meet(window: Window, new: int, row: Array) -> None:
    """Put a new row, the youngest, into the lists of the others it is near to."""
    k, room = window.table.shape[2] - 1, window.slots.shape[1]
    count = window.ring[COUNT]
    for i in range(count):
        slots, near, length = window.slots[i], window.near[i], window.lengths[i]
        everyone = length == count - 2 and length < room
        if i == new or not (everyone or row[i] < near[length - 1]):
            continue
        place = min(length, room - 1)
        while place > 0 and row[i] < near[place - 1]:
            slots[place], near[place] = slots[place - 1], near[place - 1]
            place -= 1
        slots[place], near[place] = new, row[i]
        window.lengths[i] = min(length + 1, room)
        if place < k:
            _exchange(window, i, slots[k] if length >= k else -1, new)


@njit(cache=True, nogil=True)
def _learn(
    window: Window, x: Array, labels: Array, capacity: int, row: Array, spare: Array
) -> None:
    """Take a row in, `row` its distances to all slots; where it is full, in the oldest's place."""
    ring, new = window.ring, window.ring[COUNT]
    if new == capacity:
        new = ring[HEAD]
        _forget(window, new, spare)
        ring[HEAD] = (new + 1) % capacity
    else:
        ring[COUNT] += 1
    window.points[:, new] = x
    window.y[new] = labels
    row[new] = np.inf
    _meet(window, new, row)
    length = _oldest_first(window, row, window.slots[new], window.near[new])
    window.lengths[new] = length
    found = min(length, window.table.shape[2] - 1)
    count_neighbours(window.slots[new], found, window.y, window.counts[new])
    _enter(window, new, 1)


@njit(cache=True, nogil=True)
def _margins(window: Window, row: Array, smoothing: float, out: Array) -> None:
    """Give the margins (q,) of a row by its distances to all slots."""
    table = window.table
    k, rows = table.shape[2] - 1, window.ring[COUNT]
    slots, near = np.empty(k, dtype=np.int64), np.empty(k)
    counts = np.empty(table.shape[1], dtype=np.int64)
    found = _oldest_first(window, row, slots, near)
    count_neighbours(slots, found, window.y, counts)
    for label in range(counts.size):
        out[label] = margin(table[1, label], table[0, label], rows, counts[label], smoothing)


@njit(cache=True, nogil=True)
def window_margins(window: Window, X: Array, smoothing: float) -> Array:
    """Give the margins (n, q) of rows X (n, d) by the window as it is."""
    out = np.empty((X.shape[0], window.y.shape[1]))
    row = np.empty((1, window.ring[COUNT]))
    for r in range(X.shape[0]):
        distances(window.points[:, : row.size], X[r : r + 1], row)
        _margins(window, row[0], smoothing, out[r])
    return out


@njit(cache=True, nogil=True)
def learn_rows(
    window: Window, X: Array, y: Array, capacity: int, smoothing: float, out: Array
) -> None:
    """Take rows X (n, d), y (n, q) in, each after its margins went to `out`, unless that is empty.

    The window must have room for all of them, or for `capacity`, the most that stay.
    """
    row, spare = np.empty((1, window.lengths.size)), np.empty((1, window.lengths.size))
    for r in range(X.shape[0]):
        count = window.ring[COUNT]
        distances(window.points[:, :count], X[r : r + 1], row[:, :count])
        if out.size:
            _margins(window, row[0], smoothing, out[r])
        _learn(window, X[r], y[r], capacity, row[0], spare)


@njit(cache=True, nogil=True)
def rule(window: Window, smoothing: float) -> Array:
    """Give the margins (q, k + 1) of a row by label and count."""
    table = window.table
    out = np.empty((table.shape[1], table.shape[2]))
    for label in range(table.shape[1]):
        for c in range(table.shape[2]):
            out[label, c] = margin(
                table[1, label], table[0, label], window.ring[COUNT], c, smoothing
            )
    return out
