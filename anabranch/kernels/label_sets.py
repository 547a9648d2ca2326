"""Compiled counting of true and predicted sets of labels."""

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = ["SUMS", "count_rows", "first_bad", "recount"]

SUMS = 4
"""Sums over rows: n, rows without an error, F1 of each row, Jaccard index of each row."""


@njit(cache=True, nogil=True)
def first_bad(values: Array) -> int:
    """Give the smallest i with values[i] neither 0 nor 1, or -1; `values` (m,) float64."""
    for i in range(values.size):
        if values[i] != 0.0 and values[i] != 1.0:
            return i
    return -1


@njit(cache=True, nogil=True)
def _count_row(truth: Array, guess: Array, columns: Array, counts: Array, sums: Array) -> None:
    """counts[columns[j]] += (tp, fp, fn); sums += 1, fp = fn = 0, 2 tp/(2 tp + fp + fn), tp/|or|.

    A quotient 0/0 is 0.
    """
    right, extra, missed = 0, 0, 0
    for j in range(columns.size):
        if truth[j] == 1 and guess[j] == 1:
            right += 1
            counts[columns[j], 0] += 1
        elif guess[j] == 1:
            extra += 1
            counts[columns[j], 1] += 1
        elif truth[j] == 1:
            missed += 1
            counts[columns[j], 2] += 1
    sums[0] += 1.0
    wrong = extra + missed
    if wrong == 0:
        sums[1] += 1.0
    if right > 0:
        sums[2] += 2.0 * right / (2.0 * right + wrong)
        sums[3] += right / (right + wrong)


@njit(cache=True, nogil=True)
def count_rows(
    truth: Array,
    guess: Array,
    columns: Array,
    counts: Array,
    sums: Array,
    ring: Array,
    cursor: Array,
) -> None:
    """Count rows, and keep the newest as bits.

    Parameters
    ----------
    truth, guess : (n, q) float64, 0 and 1
    columns : (q,) int64, the place of each column among the Q labels counted
    counts : (Q, 3) int64; true positives, false positives, false negatives; changed in place
    sums : (SUMS,) float64, changed in place
    ring : (W, 2, B) uint8, label j of the truth in bit j % 8 of byte j // 8; W may be 0
    cursor : (2,) int64, where the next row goes in the ring and how many are in it
    """
    window = ring.shape[0]
    for i in range(truth.shape[0]):
        _count_row(truth[i], guess[i], columns, counts, sums)
        if window == 0:
            continue
        row = ring[cursor[0]]
        row[:] = 0
        for j in range(columns.size):
            byte, bit = columns[j] >> 3, columns[j] & 7
            if truth[i, j] == 1:
                row[0, byte] |= 1 << bit
            if guess[i, j] == 1:
                row[1, byte] |= 1 << bit
        cursor[0] = (cursor[0] + 1) % window
        cursor[1] = min(cursor[1] + 1, window)


@njit(cache=True, nogil=True)
def recount(ring: Array, cursor: Array, counts: Array, sums: Array) -> None:
    """Count the rows of a ring, oldest first; see `count_rows`."""
    window, filled = ring.shape[0], cursor[1]
    labels = counts.shape[0]
    columns = np.arange(labels)
    truth, guess = np.empty(labels), np.empty(labels)
    for i in range(filled):
        row = ring[(cursor[0] + window - filled + i) % window]
        for j in range(labels):
            truth[j] = (row[0, j >> 3] >> (j & 7)) & 1
            guess[j] = (row[1, j >> 3] >> (j & 7)) & 1
        _count_row(truth, guess, columns, counts, sums)
