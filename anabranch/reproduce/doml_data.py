"""Sets of labelled rows for the DOML paper's experiments, handed in as arrays."""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from anabranch.errors import SampleError
from anabranch.evaluation.label_scores import multilabel_scores
from anabranch.evaluation.multilabel import MultilabelTally
from anabranch.protocol import Array

__all__ = ["LabelScores", "LabelSplit", "dealt", "score", "standardised"]


@dataclass(frozen=True, slots=True)
class LabelSplit:
    """Rows to learn and rows to test.

    Attributes
    ----------
    name : of the set
    X, y : (n, d) and (n, q) of 0 and 1, to learn, in the order of the file
    held, truth : (m, d) and (m, q), to test
    """

    name: str
    X: Array
    y: Array
    held: Array
    truth: Array

    def __post_init__(self) -> None:
        """Refuse shapes that do not fit.

        Raises
        ------
        SampleError
            Rows or columns differ.
        """
        fits = len(self.X) == len(self.y) and len(self.held) == len(self.truth)
        same = self.X.shape[1:] == self.held.shape[1:] and self.y.shape[1:] == self.truth.shape[1:]
        if not (fits and same):
            shapes = [part.shape for part in (self.X, self.y, self.held, self.truth)]
            raise SampleError(
                f"{self.name}: shapes {shapes} do not fit; allowed: (n, d), (n, q), (m, d), (m, q)"
            )

    def shuffled(self, seed: int) -> Self:
        """Give the same with the rows to learn in a random order."""
        order = np.random.default_rng(seed).permutation(len(self.X))
        return replace(self, X=self.X[order], y=self.y[order])


class LabelScores(NamedTuple):
    """The three scores that the paper prints."""

    hamming: float
    macro: float
    micro: float


def score(truth: Array, predicted: Array) -> LabelScores:
    """Score predicted sets (n, q) of labels.

    >>> score(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[1.0, 1.0], [1.0, 0.0]]))
    LabelScores(hamming=0.5, macro=0.5, micro=0.6666666666666666)
    """
    tally = MultilabelTally(truth.shape[1])
    tally.add(truth, predicted)
    found = multilabel_scores(tally.totals())
    return LabelScores(found["HammingLoss"], found["MacroF1"], found["MicroF1"])


def dealt(split: LabelSplit, nodes: int) -> list[tuple[Array, Array]]:
    """Deal the rows to learn to nodes: contiguous shares, as equal as can be.

    >>> rows = np.arange(5.0)[:, None]
    >>> split = LabelSplit("set", rows, rows > 2, rows, rows > 2)
    >>> [len(X) for X, _ in dealt(split, 2)]
    [3, 2]
    """
    parts = np.array_split(np.arange(len(split.X)), nodes)
    return [(split.X[part], split.y[part]) for part in parts]


def standardised(split: LabelSplit, *, bias: bool = True) -> LabelSplit:
    """Give z-scores by the rows to learn, columns of 0 and 1 as they are, and a bias.

    >>> X = np.array([[1.0, 0.0], [3.0, 1.0]])
    >>> standardised(LabelSplit("set", X, X > 1, X, X > 1)).X.tolist()
    [[-1.0, 0.0, 1.0], [1.0, 1.0, 1.0]]
    """
    binary = ((split.X == 0.0) | (split.X == 1.0)).all(axis=0)
    mean = np.where(binary, 0.0, split.X.mean(axis=0))
    deviation = np.where(binary, 1.0, split.X.std(axis=0))
    deviation[deviation == 0.0] = 1.0
    ones = [1.0] if bias else []
    learned, held = (
        np.column_stack([(rows - mean) / deviation, *(np.full(len(rows), one) for one in ones)])
        for rows in (split.X, split.held)
    )
    return replace(split, X=learned, held=held)
