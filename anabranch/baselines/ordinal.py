"""River's classification as a baseline of ranks."""

from typing import Any, ClassVar

import numpy as np
from river import linear_model, multiclass, preprocessing

from anabranch.baselines.base import Baseline
from anabranch.errors import SampleError
from anabranch.learners.options import check_whole
from anabranch.learners.rows import shaped_column
from anabranch.protocol import Array, Task

__all__ = ["RiverLogisticOneVsRest"]


class RiverLogisticOneVsRest(Baseline):
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
    task: ClassVar[Task] = "ordinal"

    def _make(self) -> Any:
        check_whole("ranks", self.ranks, 2)
        head = multiclass.OneVsRestClassifier(linear_model.LogisticRegression())
        return preprocessing.StandardScaler() | head

    def _targets(self, y: Array, count: int) -> Array:
        column = shaped_column(y, count)
        bad = ~((column >= 1) & (column <= self.ranks) & (column == np.floor(column)))
        if bad.any():
            row = int(np.argmax(bad))
            raise SampleError(
                f"not a rank: y[{row}]={column[row]}; allowed: whole numbers 1 to {self.ranks}"
            )
        return column

    def _predict_row(self, x: Array) -> int:
        # before any label it has no classes to choose from
        known = self._model["OneVsRestClassifier"].classifiers
        return int(self._model.predict_one(dict(enumerate(x.tolist())))) if known else 1

    def _learn_row(self, x: Array, y: float) -> None:
        self._model.learn_one(dict(enumerate(x.tolist())), int(y))

    def _stacked(self, predicted: list[int]) -> Array:
        return np.array(predicted, dtype=np.int64)
