"""ML-kNN over rows that are all there: fit once, then predict."""

from dataclasses import dataclass

import numpy as np

from anabranch.errors import SampleError
from anabranch.kernels.mlknn import rule_margins, tables
from anabranch.learners.options import check_between, check_whole
from anabranch.protocol import Array

__all__ = ["FittedMLKNN", "fit_mlknn"]


@dataclass(frozen=True, slots=True)
class FittedMLKNN:
    """What `fit_mlknn` gives.

    Attributes
    ----------
    points : (d, n) float64, the rows as columns
    y : (n, q) uint8
    table : (2, q, k + 1) int64; rows without and with each label, by how many of their
        neighbours have it
    smoothing : s
    """

    points: Array
    y: Array
    table: Array
    smoothing: float

    def margins(self, X: Array) -> Array:
        """Give 2 P(label | neighbours) - 1, (m, q), for rows X (m, d)."""
        rows = np.array(X, dtype=np.float64, order="C")
        if rows.ndim != 2 or rows.shape[1] != len(self.points):
            raise SampleError(
                f"shape {rows.shape} of X does not fit; allowed: (n, {len(self.points)})"
            )
        return rule_margins(self.points, self.y, self.table, self.smoothing, rows)

    def predict(self, X: Array) -> Array:
        """Give (m, q) float64 of 0 and 1: where the margin is above 0."""
        return (self.margins(X) > 0.0).astype(np.float64)


def fit_mlknn(X: Array, y: Array, *, neighbours: int = 10, smoothing: float = 1.0) -> FittedMLKNN:
    """Fit ML-kNN (Zhang and Zhou 2007): the labels of a row by those of its nearest rows.

    A row with c neighbours that have a label gets it where P(1) P(c | 1) > P(0) P(c | 0), by
    frequencies smoothed by s. The neighbours are the k nearest by Euclidean distance, never a
    row itself, of equal distances the first ones; where there are not k, all there are.

    Parameters
    ----------
    X : (n, d) rows; n may be 0, and then no label is predicted
    y : (n, q) of 0 and 1
    neighbours : k
    smoothing : s

    Raises
    ------
    SampleError
        The shapes do not fit.
    ConfigurationError
        `neighbours` is not 1 or more, or `smoothing` is not above 0.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    >>> y = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]])
    >>> fit_mlknn(X, y, neighbours=2).predict(np.array([[0.05], [1.3]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    check_whole("neighbours", neighbours, 1)
    check_between("smoothing", smoothing, 0.0, above=True)
    rows, sets = np.asarray(X, dtype=np.float64), np.array(y, dtype=np.uint8, order="C")
    if rows.ndim != 2 or sets.ndim != 2 or len(rows) != len(sets):
        raise SampleError(
            f"shapes {rows.shape} of X and {sets.shape} of y do not fit; allowed: (n, d) and (n, q)"
        )
    points = np.array(rows.T, order="C")
    return FittedMLKNN(points, sets, tables(points, sets, int(neighbours)), float(smoothing))
