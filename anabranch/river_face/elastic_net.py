"""The elastic net as a River regressor."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from river.base import Regressor

from anabranch.learners import ElasticNet
from anabranch.river_face.elastic_net_growth import widen
from anabranch.river_face.names import name_of, number_of

__all__ = ["ElasticNetRegressor"]

Sample = Mapping[Any, Any]


class ElasticNetRegressor(Regressor):
    """Elastic net of one stream: `ElasticNet` without a network.

    Keeps the moments of the samples, and solves for their optimum whenever `growth` more have
    come. Features may appear and disappear: one that a sample lacks is 0 in it, as in River's
    linear models, and so it was in all samples before it first appeared. With all features in
    every sample, each step equals that of the block face's `ElasticNet(names=sorted(names))`.

    Parameters
    ----------
    u1, u2 : weights of |w|_1 and |w|^2/2, for z-scores of features and target
    decay : what a sample counts after each later one; 1 for no forgetting
    window : newest samples that count, 0 for all
    panes : parts of the window that leave at once
    growth : new samples, as a share of those that count, after which it is solved again
    scaling : "consensus", or "none" where u1 and u2 hold for features and target as they are

    Examples
    --------
    >>> model = ElasticNetRegressor(u1=0.0, u2=0.0)
    >>> for i in range(50):
    ...     model.learn_one({"a": i % 7, "b": i % 5}, 2.0 * (i % 7) - (i % 5) + 3.0)
    >>> round(model.predict_one({"a": 1, "b": 1}), 6)
    4.0
    """

    def __init__(
        self,
        u1: float = 0.01,
        u2: float = 0.01,
        decay: float = 1.0,
        window: int = 0,
        panes: int = 10,
        growth: float = 0.05,
        scaling: str = "consensus",
    ) -> None:
        self.u1 = u1
        self.u2 = u2
        self.decay = decay
        self.window = window
        self.panes = panes
        self.growth = growth
        self.scaling = scaling
        self._names: list[str] = []
        self._column: dict[Any, int] = {}
        self._learner: ElasticNet | None = None
        self._make(["any"])  # settings that are wrong are refused now, not at the first sample

    def learn_one(self, x: Sample, y: Any) -> None:
        """Take in a sample: feature -> number, and the target.

        Raises
        ------
        SampleError
            A value is not a finite number; nothing has changed then.
        """
        values = {feature: number_of(f"feature {feature!r}", x[feature]) for feature in x}
        target = np.array([number_of("target", y)])
        self._make_room(values)
        if self._learner is None:
            self._learner = self._make([""])  # without features there is still a mean target
            self._column, self._names = {_NOTHING: 0}, [""]
        self._learner.learn(self._row(values), target)
        self._learner.combine(0, {}, {})

    def predict_one(self, x: Sample) -> float:
        """Predict; 0 before any sample. Features never learned are ignored.

        Raises
        ------
        SampleError
            A value is not a finite number.
        """
        values = {feature: number_of(f"feature {feature!r}", x[feature]) for feature in x}
        if self._learner is None:
            return 0.0
        return float(self._learner.predict(self._row(values))[0])

    @property
    def weights(self) -> dict[Any, float]:
        """Weight of each feature, as it is."""
        if self._learner is None:
            return {}
        found = self._learner.coefficients
        return {f: float(found[i]) for f, i in self._column.items() if f is not _NOTHING}

    @property
    def intercept(self) -> float:
        """What is predicted where all features are 0."""
        return 0.0 if self._learner is None else self._learner.intercept

    def _row(self, values: Mapping[Any, float]) -> Any:
        row = np.zeros((1, len(self._names)))
        for feature, value in values.items():
            if feature in self._column:
                row[0, self._column[feature]] = value
        return row

    def _make_room(self, values: Mapping[Any, float]) -> None:
        """Know the features of a sample, in sorted order of their names."""
        new = {f: name_of(f) for f in values if f not in self._column}
        if not new:
            return
        names = {f: self._names[i] for f, i in self._column.items()} | new
        ordered = sorted(names, key=names.__getitem__)
        column = {feature: i for i, feature in enumerate(ordered)}
        places = np.array([column[feature] for feature in self._column], dtype=np.int64)
        self._column, self._names = column, [names[feature] for feature in ordered]
        if self._learner is None:
            self._learner = self._make(self._names)
        else:
            self._learner = widen(self._learner, self._names, places)

    def _make(self, names: list[str]) -> ElasticNet:
        return ElasticNet(
            len(names), u1=self.u1, u2=self.u2, decay=self.decay, window=self.window,
            panes=self.panes, growth=self.growth, scaling=self.scaling, names=names,
        )  # fmt: skip


class _Nothing:
    """The feature of samples that have none; the same after pickling."""

    def __reduce__(self) -> str:
        return "_NOTHING"


_NOTHING = _Nothing()
