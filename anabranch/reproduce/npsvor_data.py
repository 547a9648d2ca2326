"""Text sets with ordered labels, and their split into rows to learn and to test."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from anabranch.errors import SampleError
from anabranch.protocol import Array
from anabranch.reproduce.npsvor_paper import Errors

__all__ = ["RankSplit", "TextSet", "errors_of"]

_SHARES: Mapping[str, float] = {"largemovie": 0.5}
_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class RankSplit:
    """Rows to learn and to test.

    Attributes
    ----------
    X, y : (n, d), sparse, and (n,) ranks from 1, to learn
    held, truth : (m, d) and (m,), to test
    ranks : how many there are
    """

    X: sparse.csr_array
    y: Array
    held: sparse.csr_array
    truth: Array
    ranks: int


@dataclass(frozen=True, slots=True)
class TextSet:
    """A set of texts, prepared.

    Attributes
    ----------
    name : of the set
    X, y : (n, d), sparse, and (n,) ranks from 1
    learned : how many of the first rows are to learn, where that is given; else 0
    """

    name: str
    X: sparse.csr_array
    y: Array
    learned: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be split.

        Raises
        ------
        SampleError
            Shapes do not fit, a label is no rank, or there are too few rows.
        """
        if self.X.shape[0] != len(self.y) or not 0 <= self.learned < len(self.y):
            raise SampleError(
                f"{self.name}: X {self.X.shape}, y {self.y.shape} and learned={self.learned} do "
                "not fit; allowed: (n, d), (n,), fewer than n"
            )
        if self.y.dtype.kind != "i" or self.y.min() < 1:
            raise SampleError(f"{self.name}: a label is no rank; allowed: 1, 2, ...")

    @property
    def share(self) -> float | None:
        """How many of the rows, drawn at random, are to learn; None where the split is given."""
        return None if self.learned else _SHARES.get(self.name, _SHARE)

    def split(self, seed: int) -> RankSplit:
        """Split at random, or as given, which no seed changes.

        >>> made = TextSet("any", sparse.csr_array(np.eye(10)), np.arange(10) % 2 + 1).split(0)
        >>> made.X.shape, made.held.shape, made.ranks
        ((8, 10), (2, 10), 2)
        """
        n = len(self.y)
        if self.share is None:
            order, learned = np.arange(n), self.learned
        else:
            order, learned = np.random.default_rng(seed).permutation(n), int(self.share * n)
        left, right = order[:learned], order[learned:]
        parts = self.X[left], self.y[left], self.X[right], self.y[right]
        return RankSplit(*parts, int(self.y.max()))


def errors_of(predicted: Array, truth: Array) -> Errors:
    """Give the errors of predicted ranks (m,).

    >>> errors_of(np.array([1, 4]), np.array([2, 1]))
    Errors(absolute=2.0, squared=5.0)
    """
    apart = (predicted - truth).astype(float)
    return Errors(float(np.abs(apart).mean()), float((apart * apart).mean()))
