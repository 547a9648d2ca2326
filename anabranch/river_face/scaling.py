# mypy: disallow-untyped-decorators=False
"""z-scores of features that come and go, each with a count of its own."""

from typing import Self

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = ["PresentScaler"]

_FLAT = 1e-26
"""A variance below _FLAT mean^2 is rounding noise of a constant feature."""


@njit(cache=True, nogil=True)
def _add_present(x: Array, present: Array, counts: Array, mean: Array, m2: Array) -> None:
    """Welford for present i: n += 1, mean += (x - mean)/n, M2 += (x - before)(x - after).

    Operation for operation what the learners' own running moments do.
    """
    for i in range(x.size):
        if present[i]:
            counts[i] += 1.0
            before = mean[i]
            after = before + (x[i] - before) * (1.0 / counts[i])
            m2[i] += (x[i] - before) * (x[i] - after)
            mean[i] = after


@njit(cache=True, nogil=True)
def _scale_present(
    x: Array, present: Array, counts: Array, mean: Array, m2: Array, out: Array
) -> None:
    """out_i = (x_i - mean) / deviation where present and known, else 0: the feature's mean.

    A constant feature has deviation 1.
    """
    for i in range(x.size):
        out[i] = 0.0
        if present[i] and counts[i] > 0.0:
            variance = m2[i] * (1.0 / counts[i])
            varies = variance > _FLAT * mean[i] * mean[i]
            out[i] = (x[i] - mean[i]) * (1.0 / np.sqrt(variance if varies else 1.0))


class PresentScaler:
    """Running moments of K features; the same numbers as the block face's where none is missing.

    Examples
    --------
    >>> scaler = PresentScaler(2)
    >>> both, first = np.array([True, True]), np.array([True, False])
    >>> scaler.add(np.array([1.0, 5.0]), both)
    >>> scaler.add(np.array([3.0, 0.0]), first)
    >>> scaler.transform(np.array([3.0, 0.0]), first).tolist()
    [1.0, 0.0]
    """

    def __init__(self, features: int) -> None:
        self.counts = np.zeros(features)
        self.mean = np.zeros(features)
        self.m2 = np.zeros(features)

    def add(self, x: Array, present: Array) -> None:
        """Take in one sample: x (K,) float64, present (K,) bool."""
        _add_present(x, present, self.counts, self.mean, self.m2)

    def transform(self, x: Array, present: Array) -> Array:
        """Give the z-scores (K,) of a sample; a missing feature stands at its mean, 0."""
        out = np.empty(x.size)
        _scale_present(x, present, self.counts, self.mean, self.m2, out)
        return out

    def grown(self, features: int, places: Array) -> Self:
        """Give a scaler of more features that has these at `places` (K,) int64."""
        larger = type(self)(features)
        larger.counts[places] = self.counts
        larger.mean[places] = self.mean
        larger.m2[places] = self.m2
        return larger
