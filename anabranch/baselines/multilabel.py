"""River's models of sets of labels as baselines."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from river import linear_model, multioutput, preprocessing

from anabranch.baselines.river_rows import RiverBaseline, Sample
from anabranch.errors import ConfigurationError, ModelError
from anabranch.labels import joined, named
from anabranch.learners.doml_samples import checked_labels
from anabranch.learners.states import saved_value
from anabranch.protocol import Array, State, Task

__all__ = ["RiverBinaryRelevance", "RiverClassifierChain"]


class _RiverLabels(RiverBaseline):
    """A scaler of River's, then one of its models with an output for each label."""

    task: ClassVar[Task] = "multilabel"

    def __init__(
        self,
        features: int,
        ranks: int = 0,
        names: Sequence[str] | None = None,
        labels: int | Sequence[str] = 0,
    ) -> None:
        self._labels = named(labels)
        self._first = len(self._labels)
        super().__init__(features, ranks, names)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of y's columns, in order."""
        return self._labels

    def admit(self, labels: Sequence[str]) -> None:
        """Take labels up that are new; no sample so far had them.

        Raises
        ------
        ConfigurationError
            A name is empty, or there twice.
        """
        wider = joined(self._labels, named(labels), self._first)
        self._take_up([label for label in wider if label not in self._labels])
        self._labels = wider

    def _take_up(self, new: Sequence[str]) -> None:
        """Tell the model of labels that are new."""

    @abstractmethod
    def _head(self) -> Any:
        """Give the model behind the scaler."""

    def _make(self) -> Any:
        return preprocessing.StandardScaler() | self._head()

    def _targets(self, y: Array, count: int) -> Array:
        return checked_labels(y, count, len(self._labels))

    def _predict_row(self, x: Sample) -> list[float]:
        found = self._model.predict_one(x)
        return [float(bool(found.get(label))) for label in self._labels]

    def _learn_row(self, x: Sample, y: Array) -> None:
        truth = dict(zip(self._labels, (y == 1.0).tolist(), strict=True))
        self._model.learn_one(x, truth)

    def _stacked(self, predicted: list[list[float]]) -> Array:
        return np.array(predicted, dtype=np.float64).reshape(len(predicted), len(self._labels))

    def _config(self) -> dict[str, Any]:
        return {**super()._config(), "labels": list(self._labels[: self._first])}

    def model(self) -> State:
        """Give the settings and the names of labels alone."""
        return {**super().model(), "admitted": list(self._labels[self._first :])}

    def _load(self, state: State) -> None:
        try:
            self.admit(saved_value(state, "admitted"))
        except (TypeError, ConfigurationError) as error:
            raise ModelError(f"damaged state: {error}") from error
        super()._load(state)


class RiverBinaryRelevance(_RiverLabels):
    """River's logistic regression for each label by itself, over its running z-scores.

    Parameters
    ----------
    features : int
        Fields d of a sample.
    ranks : int
        Ignored.
    names : sequence of str, optional
        Names of the fields.
    labels : int or sequence of str
        Labels known from the beginning.

    Raises
    ------
    ConfigurationError
        A setting is out of its range.

    Examples
    --------
    >>> model = RiverBinaryRelevance(1, labels=["low", "high"])
    >>> X = np.tile(np.array([[-1.0], [1.0]]), (50, 1))
    >>> model.learn(X, np.hstack([X < 0.0, X > 0.0]))
    >>> model.predict(np.array([[-2.0], [2.0]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    kind: ClassVar[str] = "river-binary-relevance"

    def _head(self) -> Any:
        return multioutput.PerOutputClassifier(linear_model.LogisticRegression())


class RiverClassifierChain(_RiverLabels):
    """River's chain of logistic regressions, each seeing what those before it say.

    The chain has the order of the labels; later ones join at its end.

    Parameters
    ----------
    features : int
        Fields d of a sample.
    ranks : int
        Ignored.
    names : sequence of str, optional
        Names of the fields.
    labels : int or sequence of str
        Labels known from the beginning.

    Raises
    ------
    ConfigurationError
        A setting is out of its range.

    Examples
    --------
    >>> model = RiverClassifierChain(1, labels=["low", "high"])
    >>> X = np.tile(np.array([[-1.0], [1.0]]), (50, 1))
    >>> model.learn(X, np.hstack([X < 0.0, X > 0.0]))
    >>> model.predict(np.array([[-2.0], [2.0]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    kind: ClassVar[str] = "river-classifier-chain"

    def _head(self) -> Any:
        # fields have numbers and labels have names: the chain puts both into one dictionary
        order = list(self._labels)
        return multioutput.ClassifierChain(linear_model.LogisticRegression(), order)

    def _take_up(self, new: Sequence[str]) -> None:
        self._model["ClassifierChain"].order.extend(new)
