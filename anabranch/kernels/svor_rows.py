"""Which rows of a support vector ordinal regression to work on, and which may be left out."""

import numpy as np
from numba import njit

from anabranch.kernels.svor_pairs import Bounds, Part
from anabranch.protocol import Array

__all__ = ["choose", "lasting"]


@njit(cache=True, nogil=True)
def _sink(keys: Array, rows: Array, size: int) -> None:
    """Restore a heap, the least key first, whose first entry is new."""
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[at] <= keys[child]:
            return
        keys[at], keys[child] = keys[child], keys[at]
        rows[at], rows[child] = rows[child], rows[at]
        at = child


@njit(cache=True, nogil=True)
def _leading(values: Array, begin: int, above: float, keys: Array, rows: Array) -> None:
    """Fill `rows` with begin + the places of the largest values over a bound, else -1."""
    size = len(keys)
    keys[:] = above
    rows[:] = -1
    for i in range(len(values)):
        if values[i] > keys[0]:
            keys[0], rows[0] = values[i], begin + i
            _sink(keys, rows, size)


@njit(cache=True, nogil=True)
def _take(rows: Array, taken: Array, chosen: Array, count: int) -> int:
    for i in rows:
        if i >= 0 and not taken[i] and count < len(chosen):
            taken[i] = True
            chosen[count] = i
            count += 1
    return count


@njit(cache=True, nogil=True)
def choose(part: Part, bounds: Bounds, each: int, taken: Array, chosen: Array) -> int:
    """Take the `each` rows that err most, either way, at each threshold.

    `taken` (n,) truth values, `chosen` (q,): changed. The pair that errs most is among them: the
    first is taken of every threshold before the rest is. Gives the number of rows.
    """
    count = 0
    for size in (1, each):
        keys, rows = np.empty(size), np.empty(size, np.int64)
        for j in range(len(part.a)):
            begin, end = part.spans[j, 0], part.spans[j, 2]
            _leading(bounds.rise[j, begin:end], begin, bounds.low[j], keys, rows)
            count = _take(rows, taken, chosen, count)
            _leading(bounds.fall[j, begin:end], begin, -bounds.high[j], keys, rows)
            count = _take(rows, taken, chosen, count)
    return count


@njit(cache=True, nogil=True)
def lasting(part: Part, bounds: Bounds) -> Array:
    """Give the rows with a variable between its bounds, or one that may yet move."""
    stays = np.zeros(len(part.beta), np.bool_)
    for j in range(len(part.a)):
        for i in range(part.spans[j, 0], part.spans[j, 2]):
            rise, fall = bounds.rise[j, i], bounds.fall[j, i]
            free = rise > -np.inf and fall > -np.inf
            if free or rise >= bounds.low[j] or fall >= -bounds.high[j]:
                stays[i] = True
    return np.flatnonzero(stays)
