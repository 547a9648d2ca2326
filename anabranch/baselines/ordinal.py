"""River's classification as baselines of ranks."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from river import compose, linear_model, multiclass, preprocessing

from anabranch.baselines.river_rows import RiverBaseline, Sample
from anabranch.learners.options import check_whole
from anabranch.learners.sparse_samples import checked_ranks
from anabranch.protocol import Array, Task

__all__ = ["RiverLogisticOneVsRest", "RiverPassiveAggressive"]


class _OneVsRest(RiverBaseline):
    """One of River's binary classifiers for each rank against the others."""

    task: ClassVar[Task] = "ordinal"

    @abstractmethod
    def _steps(self) -> Any:
        """Give the classifier that is made for each rank, behind what rows go through."""

    def _make(self) -> Any:
        check_whole("ranks", self.ranks, 2)
        return self._steps()

    def _targets(self, y: Array, count: int) -> Array:
        return checked_ranks(y, count, self.ranks)

    def _predict_row(self, x: Sample) -> int:
        # before any label it has no classes to choose from
        known = self._model["OneVsRestClassifier"].classifiers
        return int(self._model.predict_one(x)) if known else 1

    def _learn_row(self, x: Sample, y: float) -> None:
        self._model.learn_one(x, int(y))

    def _stacked(self, predicted: list[int]) -> Array:
        return np.array(predicted, dtype=np.int64)


class RiverLogisticOneVsRest(_OneVsRest):
    """River's logistic regression for each rank against the others, which knows no order.

    Parameters
    ----------
    features : int
        Fields d of a sample.
    ranks : int
        Ranks Q, labels 1..Q; 1 is predicted before any was seen.
    names : sequence of str, optional
        Names of the fields.

    Raises
    ------
    ConfigurationError
        A setting is out of its range.

    Examples
    --------
    >>> model, X = RiverLogisticOneVsRest(1, 2), np.tile(np.array([[-1.0], [1.0]]), (50, 1))
    >>> model.learn(X, np.tile([1, 2], 50))
    >>> model.predict(np.array([[-2.0], [2.0]])).tolist()
    [1, 2]
    """

    kind: ClassVar[str] = "river-logistic-one-vs-rest"

    def _steps(self) -> Any:
        head = multiclass.OneVsRestClassifier(linear_model.LogisticRegression())
        return preprocessing.StandardScaler() | head


class RiverPassiveAggressive(_OneVsRest):
    """River's passive-aggressive II classifier for each rank against the others.

    It is for hashed text: it takes rows as they are, has no intercept, whose steps would drown
    those of short rows, and C = 0.1, which was best there.

    Parameters
    ----------
    features : int
        Fields d of a sample.
    ranks : int
        Ranks Q, labels 1..Q; 1 is predicted before any was seen.
    names : sequence of str, optional
        Names of the fields.

    Raises
    ------
    ConfigurationError
        A setting is out of its range.

    Examples
    --------
    >>> model, X = RiverPassiveAggressive(1, 2), np.tile(np.array([[-1.0], [1.0]]), (50, 1))
    >>> model.learn(X, np.tile([1, 2], 50))
    >>> model.predict(np.array([[-2.0], [2.0]])).tolist()
    [1, 2]
    """

    kind: ClassVar[str] = "river-passive-aggressive"

    def _steps(self) -> Any:
        binary = linear_model.PAClassifier(  # type: ignore[no-untyped-call]
            C=0.1, mode=2, learn_intercept=False
        )
        return compose.Pipeline(multiclass.OneVsRestClassifier(binary))
