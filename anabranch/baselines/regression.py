"""River's and scikit-learn's linear regressions as baselines."""

from typing import Any, ClassVar

import numpy as np
from river import linear_model, preprocessing
from sklearn.linear_model import SGDRegressor

from anabranch.baselines.base import Baseline
from anabranch.baselines.river_rows import RiverBaseline, Sample
from anabranch.kernels.checks import LIMIT
from anabranch.learners.rows import checked_column
from anabranch.protocol import Array, Task
from anabranch.river_face.scaling import PresentScaler

__all__ = ["RiverBayesianLinear", "RiverLinear", "SklearnSGD"]


class _Regression(Baseline):
    """What the regressions share; a model that has diverged predicts what can still be scored."""

    task: ClassVar[Task] = "regression"

    def _targets(self, y: Array, count: int) -> Array:
        return checked_column(y, count)

    def _stacked(self, predicted: list[float]) -> Array:
        values = np.array(predicted, dtype=np.float64)
        return np.clip(np.nan_to_num(values, nan=0.0), -LIMIT, LIMIT)


class _RiverRegression(RiverBaseline, _Regression):
    def _predict_row(self, x: Sample) -> float:
        return float(self._model.predict_one(x))

    def _learn_row(self, x: Sample, y: float) -> None:
        self._model.learn_one(x, float(y))


class RiverLinear(_RiverRegression):
    """River's LinearRegression by gradient steps, over its running z-scores.

    Parameters
    ----------
    features : int
        Fields d of a sample.
    ranks : int
        Ignored.
    names : sequence of str, optional
        Names of the fields.

    Raises
    ------
    ConfigurationError
        A setting is out of its range.

    Examples
    --------
    >>> model, X = RiverLinear(1), np.tile(np.array([[-1.0], [1.0]]), (2000, 1))
    >>> model.learn(X, 3.0 * X[:, 0] + 2.0)
    >>> model.predict(np.array([[1.0]])).round(2).tolist()
    [5.0]
    """

    kind: ClassVar[str] = "river-linear"

    def _make(self) -> Any:
        return preprocessing.StandardScaler() | linear_model.LinearRegression()


class RiverBayesianLinear(_RiverRegression):
    """River's BayesianLinearRegression, over its running z-scores and a constant.

    Parameters
    ----------
    features : int
        Fields d of a sample.
    ranks : int
        Ignored.
    names : sequence of str, optional
        Names of the fields.

    Raises
    ------
    ConfigurationError
        A setting is out of its range.

    Examples
    --------
    >>> model, X = RiverBayesianLinear(1), np.tile(np.array([[-1.0], [1.0]]), (100, 1))
    >>> model.learn(X, 3.0 * X[:, 0] + 2.0)
    >>> model.predict(np.array([[1.0]])).round(1).tolist()
    [5.0]
    """

    kind: ClassVar[str] = "river-bayesian-linear"

    def _make(self) -> Any:
        return preprocessing.StandardScaler(), linear_model.BayesianLinearRegression()

    def _scaled(self, x: Sample) -> Sample:
        # it has no intercept of its own
        return {**self._model[0].transform_one(x), "one": 1.0}

    def _predict_row(self, x: Sample) -> float:
        return float(self._model[1].predict_one(self._scaled(x)))

    def _learn_row(self, x: Sample, y: float) -> None:
        scaler, model = self._model
        scaler.learn_one(x)
        model.learn_one(self._scaled(x), float(y))


class SklearnSGD(_Regression):
    """scikit-learn's SGDRegressor, a `partial_fit` for each row, over running z-scores.

    Parameters
    ----------
    features : int
        Fields d of a sample.
    ranks : int
        Ignored.
    names : sequence of str, optional
        Names of the fields.

    Raises
    ------
    ConfigurationError
        A setting is out of its range.

    Examples
    --------
    >>> model, X = SklearnSGD(1), np.tile(np.array([[-1.0], [1.0]]), (1000, 1))
    >>> model.learn(X, 3.0 * X[:, 0] + 2.0)
    >>> model.predict(np.array([[1.0]])).round(1).tolist()
    [4.9]
    """

    kind: ClassVar[str] = "sklearn-sgd"

    def _make(self) -> Any:
        return PresentScaler(self.features), SGDRegressor(random_state=0)

    def _scaled(self, x: Array) -> Array:
        scaled = self._model[0].transform(x, np.ones(self.features, dtype=np.bool_))
        # z-scores of a row far outside everything seen may leave the range of numbers
        return np.asarray(np.clip(scaled, -LIMIT, LIMIT)[None, :])

    def _predict_row(self, x: Array) -> float:
        model = self._model[1]
        return float(model.predict(self._scaled(x))[0]) if hasattr(model, "coef_") else 0.0

    def _learn_row(self, x: Array, y: float) -> None:
        scaler, model = self._model
        scaler.add(x, np.ones(self.features, dtype=np.bool_))
        model.partial_fit(self._scaled(x), [y])
