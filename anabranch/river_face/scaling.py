"""z-scores of features that come and go, each with a count of its own."""

from typing import Self

import numpy as np

from anabranch.kernels.moments import add_present, standardise_present
from anabranch.protocol import Array

__all__ = ["PresentScaler"]


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
        add_present(x, present, self.counts, self.mean, self.m2)

    def transform(self, x: Array, present: Array) -> Array:
        """Give the z-scores (K,) of a sample; a missing feature stands at its mean, 0."""
        out = np.empty(x.size)
        standardise_present(x, present, self.counts, self.mean, self.m2, out)
        return out

    def grown(self, features: int, places: Array) -> Self:
        """Give a scaler of more features that has these at `places` (K,) int64."""
        larger = type(self)(features)
        larger.counts[places] = self.counts
        larger.mean[places] = self.mean
        larger.m2[places] = self.m2
        return larger
