"""Thresholds that maximise F1, learned from scores and truths on a fixed grid."""

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = ["CLOCK", "LOWEST", "margins_then_update", "place"]

LOWEST = -0.5
"""Smallest threshold; the largest is the grid's last before 1."""

CLOCK = 3
"""Entries of a clock: weight of the next row, rows that count, rows since thresholds were set."""

_OFTEN = 64.0
_HEAVY = 2.0**20


@njit(cache=True, nogil=True)
def place(score: float, resolution: int, cells: int) -> int:
    """Give the k in 0..cells-1 with t[k-1] < score <= t[k], where t[k] = LOWEST + k/resolution.

    `resolution` is a power of two, so products are exact: score > t[j] just where k > j.
    """
    if not score > LOWEST:
        return 0
    if score > 1.0:
        return cells - 1
    return int(np.ceil(score * resolution) - LOWEST * resolution)


@njit(cache=True, nogil=True)
def _best(table: Array, resolution: int, start: float, least: float) -> float:
    """Give the t[j] with the largest 2 tp/(tp + fp + positives), of equal ones that nearest start.

    `table` (C, 2) is the weight of negatives and positives in each cell; with a positive
    weight below `least`, or of 0, the answer is `start`.
    """
    positives = 0.0
    for k in range(table.shape[0]):
        positives += table[k, 1]
    if positives < least or positives == 0.0:
        return start
    right, taken = 0.0, 0.0
    best, value = -1.0, start
    for j in range(table.shape[0] - 2, -1, -1):
        right += table[j + 1, 1]
        taken += table[j + 1, 0] + table[j + 1, 1]
        score = 2.0 * right / (taken + positives)
        t = LOWEST + j / resolution
        if score > best or (score == best and abs(t - start) < abs(value - start)):
            best, value = score, t
    return value


@njit(cache=True, nogil=True)
def _set(tables: Array, resolution: int, start: float, least: float, values: Array) -> None:
    for m in range(values.size):
        values[m] = _best(tables[m], resolution, start, least)


@njit(cache=True, nogil=True)
def margins_then_update(
    scores: Array,
    y: Array,
    tables: Array,
    values: Array,
    clock: Array,
    resolution: int,
    start: float,
    least: float,
    decay: float,
) -> Array:
    """Give each row's scores - thresholds, then learn the row.

    Older rows lose weight by growing that of new ones. Thresholds are set anew once the rows
    since then are 1/64 of those that count, so a row costs O(q) in the long run.

    Parameters
    ----------
    scores, y : (n, q) float64, y of 0 and 1
    tables : (m, C, 2) weights of negatives and positives; m is q, or 1 for all labels together
    values : (m,) thresholds
    clock : (CLOCK,)
    resolution, start, least, decay : settings
    """
    n, q = scores.shape
    shared = values.size == 1
    out = np.empty((n, q))
    for i in range(n):
        for j in range(q):
            m = 0 if shared else j
            out[i, j] = scores[i, j] - values[m]
            k = place(scores[i, j], resolution, tables.shape[1])
            tables[m, k, 1 if y[i, j] == 1.0 else 0] += clock[0]
        clock[0] /= decay
        clock[1] = 1.0 + decay * clock[1]
        clock[2] += 1.0
        if clock[0] > _HEAVY:
            tables /= clock[0]
            clock[0] = 1.0
        if clock[2] * _OFTEN >= clock[1]:
            _set(tables, resolution, start, least * clock[0], values)
            clock[2] = 0.0
    return out
