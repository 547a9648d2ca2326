"""Running moments of features and the standardisation made from them."""

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = [
    "CENTRE",
    "CLOSED",
    "COUNT",
    "INVERSE",
    "M2",
    "MEAN",
    "OWN",
    "add_present",
    "add_row",
    "refresh",
    "standardise",
    "standardise_present",
]

MEAN, M2, CENTRE, INVERSE = 0, 1, 2, 3
"""Rows of a scale array (4, K): the moments, and the standardisation in use."""

COUNT, CLOSED, OWN = 0, 1, 2
"""First places in a learner's vector of progress: samples in the moments, whether the
moments are closed to new ones, and how many of the node's own went into them."""

_FLAT = 1e-26
"""A variance below _FLAT mean^2 is rounding noise of a constant feature."""


@njit(cache=True, nogil=True, inline="always")
def _welford(x: float, mean: float, m2: float, share: float) -> tuple[float, float]:
    """mean += (x - mean)/n, M2 += (x - mean_before)(x - mean_after), with share = 1/n."""
    after = mean + (x - mean) * share
    return after, m2 + (x - mean) * (x - after)


@njit(cache=True, nogil=True, inline="always")
def _inverse_deviation(mean: float, variance: float) -> float:
    """1/sqrt(variance); a constant feature gets 1."""
    varies = variance > _FLAT * mean * mean
    return 1.0 / np.sqrt(variance if varies else 1.0)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def add_row(X: Array, r: int, count: float, scale: Array) -> float:
    """Take row r of X into the moments of `count` rows; give the new count."""
    count += 1.0
    share = 1.0 / count
    for i in range(X.shape[1]):
        scale[MEAN, i], scale[M2, i] = _welford(X[r, i], scale[MEAN, i], scale[M2, i], share)
    return count


@njit(cache=True, nogil=True)
def add_present(x: Array, present: Array, counts: Array, mean: Array, m2: Array) -> None:
    """As `add_row`, for the features that are present; each has a count of its own."""
    for i in range(x.size):
        if present[i]:
            counts[i] += 1.0
            mean[i], m2[i] = _welford(x[i], mean[i], m2[i], 1.0 / counts[i])


@njit(cache=True, nogil=True, error_model="numpy")  # no check per division: vectorises
def refresh(count: float, scale: Array) -> None:
    """centre = mean, inverse = 1/sqrt(M2/n); a constant feature gets 1; no sample: (0, 1)."""
    share = 1.0 / count if count > 0.0 else 0.0
    for i in range(scale.shape[1]):
        scale[CENTRE, i] = scale[MEAN, i]
        scale[INVERSE, i] = _inverse_deviation(scale[MEAN, i], scale[M2, i] * share)


@njit(cache=True, nogil=True, inline="always")
def standardise(X: Array, r: int, scale: Array, out: Array) -> None:
    """out_i = (x_i - centre_i) inverse_i, for row r of X."""
    for i in range(X.shape[1]):
        out[i] = (X[r, i] - scale[CENTRE, i]) * scale[INVERSE, i]


@njit(cache=True, nogil=True)
def standardise_present(
    x: Array, present: Array, counts: Array, mean: Array, m2: Array, out: Array
) -> None:
    """As `standardise`, from moments of `add_present`; 0, the mean, where x is not known."""
    for i in range(x.size):
        out[i] = 0.0
        if present[i] and counts[i] > 0.0:
            out[i] = (x[i] - mean[i]) * _inverse_deviation(mean[i], m2[i] * (1.0 / counts[i]))
