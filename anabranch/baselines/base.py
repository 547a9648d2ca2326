"""What all baselines share: other libraries' models behind the protocol of learners."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from anabranch.errors import ConfigurationError, ModelError
from anabranch.learners.options import check_names, check_whole
from anabranch.learners.rows import checked_rows
from anabranch.learners.silent import Silent
from anabranch.learners.states import SCHEMA, check_header, saved_value
from anabranch.protocol import Array, State, Task

__all__ = ["Baseline"]


class Baseline(Silent, ABC):
    """A model of another library, learning row by row; it sends nothing and hears nobody.

    Its exported state holds the library's own objects. That is for the snapshots of a running
    job only: baselines write no model file, and none is ever read.

    Parameters
    ----------
    features : int
        Fields d of a sample.
    ranks : int
        Ranks Q, where labels are ranks.
    names : sequence of str, optional
        Names of the fields.

    Raises
    ------
    ConfigurationError
        A setting is out of its range.
    """

    kind: ClassVar[str]
    task: ClassVar[Task]
    shares: ClassVar[tuple[str, ...]] = ()
    """Settings that mean the same here as at the job's learner, and are taken over from it."""

    def __init__(self, features: int, ranks: int = 0, names: Sequence[str] | None = None) -> None:
        check_whole("features", features, 1)
        check_whole("ranks", ranks, 0)
        self.features, self.ranks = features, ranks
        self.names = None if names is None else tuple(names)
        if self.names is not None:
            check_names(self.names, features)
        self._model: Any = self._make()

    @abstractmethod
    def _make(self) -> Any:
        """Give the model before any sample."""

    @abstractmethod
    def _targets(self, y: Array, count: int) -> Array:
        """Check and give the targets of `count` rows, one of the first axis for each."""

    def _samples(self, X: Any) -> Sequence[Any]:
        """Check rows X (n, d), and give each as the model takes it."""
        return checked_rows(X, self.features)  # type: ignore[return-value]

    @abstractmethod
    def _predict_row(self, x: Any) -> Any:
        """Predict a row; what all rows give becomes an array."""

    @abstractmethod
    def _learn_row(self, x: Any, y: Any) -> None:
        """Learn a row with its target."""

    @abstractmethod
    def _stacked(self, predicted: list[Any]) -> Array:
        """Give the predictions of rows as an array."""

    def predict(self, X: Any) -> Array:
        """Predict rows X (n, d).

        Raises
        ------
        SampleError
            X has the wrong shape or a value that is not finite.
        """
        return self._stacked([self._predict_row(x) for x in self._samples(X)])

    def learn(self, X: Any, y: Array) -> None:
        """Learn the rows X (n, d) with targets y, in order.

        Raises
        ------
        SampleError
            The shape is wrong, a value is not finite, a target is none; nothing has changed
            then.
        """
        rows = self._samples(X)
        for x, target in zip(rows, self._targets(y, len(rows)), strict=True):
            self._learn_row(x, target)

    def predict_then_learn(self, X: Any, y: Array) -> Array:
        """Predict each row, then learn it.

        Raises
        ------
        SampleError
            As `learn`.
        """
        rows, predicted = self._samples(X), []
        for x, target in zip(rows, self._targets(y, len(rows)), strict=True):
            predicted.append(self._predict_row(x))
            self._learn_row(x, target)
        return self._stacked(predicted)

    def parameters(self) -> Array:
        """Give no number: a baseline has nobody to disagree with."""
        return np.empty(0)

    def _config(self) -> dict[str, Any]:
        return {
            "features": self.features,
            "ranks": self.ranks,
            "names": self.names and list(self.names),
        }

    def export(self) -> State:
        """Give the whole state, the library's objects in it, as a copy."""
        return {**self.model(), "model": copy.deepcopy(self._model)}

    def model(self) -> State:
        """Give the settings alone: `restore` of them has not learned anything."""
        return {"schema": SCHEMA, "kind": self.kind, "config": self._config()}

    @classmethod
    def restore(cls, state: State) -> Self:
        """Build a baseline from `export`, in the memory of a running job.

        Raises
        ------
        ModelError
            The schema is newer than this version reads, or the state is damaged.
        """
        check_header(state, cls.kind)
        try:
            baseline = cls(**saved_value(state, "config"))
        except (TypeError, ConfigurationError) as error:
            raise ModelError(f"damaged state: {error}") from error
        baseline._load(state)
        return baseline

    def _load(self, state: State) -> None:
        if "model" not in state:
            return
        given = state["model"]
        if type(given) is not type(self._model):
            raise ModelError(
                f"damaged state: model is a {type(given).__name__}; "
                f"allowed: {type(self._model).__name__}"
            )
        self._model = copy.deepcopy(given)
