"""Making the window of ML-kNN, and making it larger."""

import numpy as np

from anabranch.kernels.mlknn_window import COUNT, Window
from anabranch.protocol import Array

__all__ = ["empty_window", "oldest_first", "with_labels", "with_room"]

_LISTED = 3
"""Neighbours listed for each that counts: lists need not be made anew whenever one leaves."""

_LEAST_ROOM = 64
_BY_SLOT = ("y", "slots", "near", "lengths", "counts")


def empty_window(features: int, labels: int, neighbours: int, room: int = 0) -> Window:
    """Give a window without rows, with room for some."""
    listed = _LISTED * neighbours
    return Window(
        points=np.zeros((features, room)),
        y=np.zeros((room, labels), dtype=np.uint8),
        slots=np.zeros((room, listed), dtype=np.int64),
        near=np.zeros((room, listed)),
        lengths=np.zeros(room, dtype=np.int64),
        counts=np.zeros((room, labels), dtype=np.int64),
        table=np.zeros((2, labels, neighbours + 1), dtype=np.int64),
        ring=np.zeros(2, dtype=np.int64),
    )


def with_room(window: Window, rows: int, capacity: int) -> Window:
    """Give a window with room for so many rows more, but not for more than `capacity` (0: any).

    Only one that has not turned round yet has less room than `capacity`: slots stay as they are.
    """
    have, needed = len(window.y), int(window.ring[COUNT]) + rows
    most = capacity or max(needed, 2 * have, _LEAST_ROOM)
    if min(needed, most) <= have:
        return window
    more = min(most, max(needed, 2 * have, _LEAST_ROOM)) - have
    longer = {name: _padded(getattr(window, name), more) for name in _BY_SLOT}
    return window._replace(points=np.pad(window.points, [(0, 0), (0, more)]), **longer)


def _padded(array: Array, more: int) -> Array:
    return np.pad(array, [(0, more)] + [(0, 0)] * (array.ndim - 1))


def with_labels(window: Window, labels: int, places: Array) -> Window:
    """Give a window of more labels, those so far at `places`; no row has any of the others."""
    k = window.table.shape[2] - 1
    new = empty_window(len(window.points), labels, k, len(window.y))
    new.table[0, :, 0] = window.ring[COUNT]
    new.y[:, places] = window.y
    new.counts[:, places] = window.counts
    new.table[:, places] = window.table
    return window._replace(y=new.y, counts=new.counts, table=new.table)


def oldest_first(window: Window) -> tuple[Array, Array]:
    """Give the rows (n, d), oldest first, and their labels (n, q) uint8; copies."""
    count, head = window.ring.tolist()
    order = (head + np.arange(count)) % max(1, count)
    return np.ascontiguousarray(window.points.T[order]), window.y[order]
