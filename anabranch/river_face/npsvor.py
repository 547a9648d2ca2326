"""Online NPSVOR as a River classifier."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from river.base import Classifier

from anabranch.errors import ConfigurationError, SampleError
from anabranch.learners import NPSVOR
from anabranch.learners.doml_wire import digest_of
from anabranch.learners.options import check_whole
from anabranch.protocol import Array
from anabranch.river_face.names import name_of, number_of
from anabranch.sparse import SparseRows

__all__ = ["NPSVORClassifier"]

Sample = Mapping[Any, Any]

_MOST_BITS = 30
_KNOWN = 1 << 20
"""Features whose columns are remembered, so that they are not hashed each time."""


class NPSVORClassifier(Classifier):
    """Nonparallel support vector ordinal regression on one stream: `NPSVOR` without a network.

    Labels are ranked in the order of `ranks`, or else in the order in which they are first
    seen. Features may appear and disappear: one that a sample lacks is 0. They are hashed by
    name into 2**bits columns, where whole numbers below that are columns themselves, as
    `river.feature_extraction`'s hashers give them; values of one column are added up. Each step
    equals the block face's `NPSVOR(2**bits, ...)` bit for bit.

    Rows should be of about length 1: behind `BagOfWords` that takes `preprocessing.Normalizer`.

    There is no `predict_proba_one`: margins are not probabilities.

    Parameters
    ----------
    ranks : labels from lowest to highest; any other label is refused then
    bits : there are 2**bits columns
    step, epsilon, bias : as in `NPSVOR`

    Examples
    --------
    >>> from river import feature_extraction, preprocessing
    >>> words, length_one = feature_extraction.BagOfWords(), preprocessing.Normalizer()
    >>> model = words | length_one | NPSVORClassifier(ranks=["bad", "fair", "good"])
    >>> for text, label in [("dull", "bad"), ("fine", "good"), ("so so", "fair")] * 20:
    ...     model.learn_one(text, label)
    >>> [model.predict_one(text) for text in ("a dull one", "so", "fine, fine")]
    ['bad', 'fair', 'good']
    """

    def __init__(
        self,
        ranks: Sequence[Hashable] | None = None,
        bits: int = 18,
        step: float = 0.2,
        epsilon: float = 0.1,
        bias: bool = True,
    ) -> None:
        self.ranks = ranks
        self.bits = bits
        self.step = step
        self.epsilon = epsilon
        self.bias = bias
        self._labels: list[Hashable] = [] if ranks is None else list(ranks)
        self._rank_of = {label: i + 1 for i, label in enumerate(self._labels)}
        if ranks is not None and not 2 <= len(self._rank_of) == len(self._labels):
            raise ConfigurationError(
                f"ranks = {self._labels!r} is no order; allowed: two or more different labels"
            )
        check_whole("bits", bits, 1)
        if bits > _MOST_BITS:
            raise ConfigurationError(f"out of range: bits={bits}; allowed: up to {_MOST_BITS}")
        self._column: dict[Any, int] = {}
        count = max(2, len(self._labels))
        self._learner = _alone(NPSVOR(2**bits, count, step=step, epsilon=epsilon, bias=bias))

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: Sample, y: Hashable) -> None:
        """Take one step.

        Parameters
        ----------
        x : feature -> number; bool counts as 0 or 1
        y : the label

        Raises
        ------
        SampleError
            A value is not a finite number, or the label is not among `ranks`; nothing has
            changed then.
        """
        row, rank = self._row(x), self._rank(y)
        self._learner.learn(row, np.array([float(rank)]))

    def predict_one(self, x: Sample, **kwargs: Any) -> Any:
        """Predict a label; None before any is known.

        Raises
        ------
        SampleError
            A value is not a finite number.
        """
        row = self._row(x)
        if not self._labels:
            return None
        rank = int(self._learner.predict(row)[0])
        return self._labels[min(rank, len(self._labels)) - 1]

    def _rank(self, y: Hashable) -> int:
        """Give the rank of a label, making it the next one where `ranks` is not given."""
        known = self._rank_of.get(y)
        if known is not None:
            return known
        if self.ranks is not None:
            raise SampleError(f"label {y!r} is not a rank; allowed: {self._labels!r}")
        if y != y:
            raise SampleError(f"label {y!r} is not equal to itself; allowed: any other label")
        self._labels.append(y)
        self._rank_of[y] = len(self._labels)
        if len(self._labels) > self._learner.ranks:
            self._learner = _grown(self._learner, len(self._labels))
        return len(self._labels)

    def _row(self, x: Sample) -> SparseRows:
        """Give a sample as one sparse row."""
        columns: Array = np.fromiter((self._place(feature) for feature in x), np.int64, len(x))
        values = np.array([number_of(f"feature {f!r}", value) for f, value in x.items()])
        places, inverse = np.unique(columns, return_inverse=True)
        sums = np.zeros(len(places))
        # the order of a dictionary must not matter
        order = np.lexsort((values, inverse)) if len(places) < len(columns) else slice(None)
        np.add.at(sums, inverse[order], values[order])
        return SparseRows(
            np.array([0, len(places)]), places.astype(np.uint32), sums, self._learner.features
        )

    def _place(self, feature: Any) -> int:
        """Give the column of a feature."""
        known = self._column.get(feature)
        if known is None:
            whole = isinstance(feature, int | np.integer) and not isinstance(feature, bool)
            if whole and 0 <= feature < self._learner.features:
                return int(feature)
            known = digest_of(name_of(feature).encode()) % self._learner.features
            if len(self._column) < _KNOWN:
                self._column[feature] = known
        return known


def _alone(learner: NPSVOR) -> NPSVOR:
    """Tell a learner that it has no neighbours."""
    learner.combine(0, {}, {})
    return learner


def _grown(learner: NPSVOR, ranks: int) -> NPSVOR:
    """Give a learner more ranks at the top, whose planes start at 0."""
    state = learner.model()
    for name in ("weights", "squares"):
        state[name] = np.pad(state[name], ((0, 0), (0, ranks - learner.ranks)))
    return _alone(NPSVOR.restore({**state, "config": {**state["config"], "ranks": ranks}}))
