"""Sums over errors of regression."""

from numba import njit

from anabranch.protocol import Array

__all__ = ["ABSOLUTE", "COUNT", "MEAN", "SPREAD", "SQUARED", "add_errors", "remember"]

COUNT, ABSOLUTE, SQUARED, MEAN, SPREAD = range(5)
"""Places in the sums: n, sum |e|, sum e^2, mean of y, sum of (y - mean)^2."""

_LARGEST = 1e150
"""Errors above it count as it: their squares would overflow."""


@njit(cache=True, nogil=True)
def add_errors(truth: Array, guess: Array, sums: Array) -> None:
    """Take pairs (n,) into the sums (5,), in order."""
    for i in range(truth.size):
        error = min(abs(truth[i] - guess[i]), _LARGEST)
        sums[COUNT] += 1.0
        sums[ABSOLUTE] += error
        sums[SQUARED] += error * error
        away = truth[i] - sums[MEAN]
        sums[MEAN] += away / sums[COUNT]
        sums[SPREAD] += away * (truth[i] - sums[MEAN])


@njit(cache=True, nogil=True)
def remember(truth: Array, guess: Array, ring: Array, cursor: Array) -> None:
    """Keep the newest pairs in `ring` (W, 2); `cursor`: next place, and how many there are."""
    window = ring.shape[0]
    for i in range(truth.size if window > 0 else 0):
        ring[cursor[0], 0] = truth[i]
        ring[cursor[0], 1] = guess[i]
        cursor[0] = (cursor[0] + 1) % window
        cursor[1] = min(cursor[1] + 1, window)
