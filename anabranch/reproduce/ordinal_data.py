"""Rows with ranks for the ordinal experiments, handed in as arrays."""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from anabranch.errors import SampleError
from anabranch.evaluation.ordinal import OrdinalTally, ordinal_scores
from anabranch.protocol import Array
from anabranch.synthetic import make_stream

__all__ = ["OrdinalSplit", "RankScores", "dealt", "score", "synthetic_split"]


@dataclass(frozen=True, slots=True)
class OrdinalSplit:
    """Rows to learn and rows to test, z-scored by the moments of those to learn.

    Attributes
    ----------
    name : of the set
    ranks : Q
    X, y : (n, K) and (n,) int64 in 1..Q, to learn
    held, truth : (m, K) and (m,), to test
    """

    name: str
    ranks: int
    X: Array
    y: Array
    held: Array
    truth: Array

    @classmethod
    def of(cls, name: str, X: Array, y: Array, tested: Array, ranks: int | None = None) -> Self:
        """Split rows by the numbers of those to test.

        Parameters
        ----------
        X, y : (N, K) raw fields, and (N,) ranks
        tested : numbers of rows, from 0
        ranks : Q; the largest rank there is unless given

        Raises
        ------
        SampleError
            Shapes do not fit, a label is no rank, or a number is of no row.

        Examples
        --------
        >>> split = OrdinalSplit.of("a", np.array([[1.0], [3.0], [5.0]]), np.array([1, 2, 2]), [2])
        >>> split.X.tolist(), split.held.tolist(), split.truth.tolist()
        ([[-1.0], [1.0]], [[3.0]], [2])
        """
        labels, rows = np.asarray(y).astype(np.int64), np.asarray(tested, dtype=np.int64)
        most = int(labels.max(initial=0)) if ranks is None else ranks
        if X.ndim != 2 or labels.shape != X.shape[:1] or (labels != y).any():
            raise SampleError(f"{name}: shapes {X.shape} and {y.shape}; allowed: (n, K) and (n,)")
        if labels.min(initial=1) < 1 or labels.max(initial=1) > most:
            raise SampleError(f"{name}: ranks are not all in 1..{most}")
        learned = np.ones(len(X), dtype=bool)
        if rows.min(initial=0) < 0 or rows.max(initial=0) >= len(X):
            raise SampleError(f"{name}: rows to test are not all in 0..{len(X) - 1}")
        learned[rows] = False
        mean, deviation = X[learned].mean(axis=0), X[learned].std(axis=0)
        Z = (X - mean) / np.where(deviation > 0.0, deviation, 1.0)
        return cls(name, most, Z[learned], labels[learned], Z[rows], labels[rows])


def synthetic_split(name: str, seed: int, rows: int = 1000, tested: int = 1000) -> OrdinalSplit:
    """Give one of the two synthetic sets, "linear" (set 1) or "nonlinear" (set 2).

    >>> synthetic_split("nonlinear", 0).X.shape
    (1000, 2)
    """
    X, y = make_stream(name, seed=seed).block(0, rows + tested)
    return OrdinalSplit.of(name, X, y, np.arange(rows, rows + tested), ranks=4)


def dealt(count: int, nodes: int, seed: int) -> list[Array]:
    """Deal row numbers to nodes in random order, as evenly as can be.

    >>> sorted(len(rows) for rows in dealt(5, 3, seed=0))
    [1, 2, 2]
    """
    order = np.random.default_rng(seed).permutation(count)
    return [order[node::nodes] for node in range(nodes)]


class RankScores(NamedTuple):
    """Mean absolute error, accuracy, the mean over ranks of their mean absolute errors, kappa.

    The third is over the ranks that there are in the truth; kappa has quadratic weights.
    """

    error: float
    accuracy: float
    macro: float
    kappa: float


def score(truth: Array, predicted: Array, ranks: int) -> RankScores:
    """Score predicted ranks (n,).

    >>> score(np.array([1, 1, 1, 3]), np.array([1, 1, 2, 1]), 3)
    RankScores(error=0.75, accuracy=0.5, macro=1.1666666666666667, kappa=-0.25)
    """
    tally = OrdinalTally(ranks)
    tally.add(truth, predicted)
    totals = tally.totals()
    found, counts = ordinal_scores(totals), totals["counts"]
    far = np.abs(np.arange(ranks)[:, None] - np.arange(ranks))
    seen = counts.sum(axis=1) > 0
    errors = (counts * far).sum(axis=1)[seen] / counts.sum(axis=1)[seen]
    macro = float(errors.mean()) if seen.any() else 0.0
    return RankScores(found["MAE"], found["Accuracy"], macro, found["QuadraticKappa"])
