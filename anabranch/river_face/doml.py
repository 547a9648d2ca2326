"""DOML as a River classifier of sets of labels."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from river.base import MultiLabelClassifier

from anabranch.errors import SampleError
from anabranch.learners import DOML
from anabranch.protocol import Array
from anabranch.river_face.columns import Columns
from anabranch.river_face.doml_growth import widen
from anabranch.river_face.names import name_of, number_of

__all__ = ["DOMLClassifier"]

Sample = Mapping[Any, Any]


class DOMLClassifier(MultiLabelClassifier):
    """Least squares of the newest samples' sets of labels: `DOML` without a network.

    Features may appear and disappear: one that a sample lacks is 0 in it, as in River's linear
    models, and so it was in all samples before it first appeared. Labels may appear: one that
    a truth does not name is absent there, and so it was before. With all features and labels
    in every sample, each step equals that of the block face's `DOML(names=sorted(names))`, bit
    for bit.

    There is no `predict_proba_one`: scores are not probabilities.

    Parameters
    ----------
    labels : labels known from the beginning
    predictor : what a score must exceed, "threshold" (learned), "linear" (.5) or "per-label";
        or "mlknn", by the nearest samples in the space of scores
    ridge : weight of |P|^2; follows the samples unless given
    bias : whether there is an intercept
    scaling : "consensus" for z-scores of features that are not only 0 and 1, or "none"
    cache : newest samples that are fitted, 0 for all
    neighbours : nearest samples of "mlknn"
    form : of the maintained inverse: "auto", "primal", "dual" or "sparse"
    dtype : of parameters and samples, "float64" or "float32"

    Examples
    --------
    >>> model = DOMLClassifier()
    >>> for i in range(100):
    ...     t, h = i % 30, (7 * i) % 11
    ...     model.learn_one({"t": t, "h": h}, {"warm": t > 14, "wet": h > 5})
    >>> model.predict_one({"t": 25, "h": 1})
    {'warm': True, 'wet': False}
    """

    def __init__(
        self,
        labels: Sequence[Hashable] | None = None,
        predictor: str = "threshold",
        ridge: float | None = None,
        bias: bool = True,
        scaling: str = "consensus",
        cache: int = 500,
        neighbours: int = 10,
        form: str = "auto",
        dtype: str = "float64",
    ) -> None:
        self.labels = labels
        self.predictor = predictor
        self.ridge = ridge
        self.bias = bias
        self.scaling = scaling
        self.cache = cache
        self.neighbours = neighbours
        self.form = form
        self.dtype = dtype
        self._first = [] if labels is None else [name_of(label) for label in labels]
        self._names = {} if labels is None else dict(zip(labels, self._first, strict=True))
        self._columns = Columns()
        self._learner: DOML | None = None
        self._make(["any"])  # settings that are wrong are refused now, not at the first sample

    def learn_one(self, x: Sample, y: Mapping[Any, Any]) -> None:
        """Take in a sample.

        Parameters
        ----------
        x : feature -> number; bool counts as 0 or 1
        y : label -> whether it applies

        Raises
        ------
        SampleError
            A value is not a finite number, or no truth value; nothing has changed then.
        """
        values = {feature: number_of(f"feature {feature!r}", x[feature]) for feature in x}
        truth = {label: _truth(label, y[label]) for label in y}
        self._names |= {label: _label_name(label) for label in truth if label not in self._names}
        learner = self._learner = self._with_room(values)
        learner.admit(list(self._names.values()))
        place = {name: i for i, name in enumerate(learner.labels)}
        row = np.zeros((1, len(place)))
        for label, applies in truth.items():
            row[0, place[self._names[label]]] = applies
        learner.learn(self._columns.row(values), row)
        learner.combine(0, {}, {})

    def predict_one(self, x: Sample, **kwargs: Any) -> dict[Any, bool]:
        """Predict label -> whether it applies, for the labels known. Other features are ignored.

        Raises
        ------
        SampleError
            A value is not a finite number.
        """
        values = {feature: number_of(f"feature {feature!r}", x[feature]) for feature in x}
        learner = self._learner
        if learner is None:
            return dict.fromkeys(self._names, False)
        row: Array = learner.predict(self._columns.row(values))[0]
        found = dict(zip(learner.labels, (row > 0.0).tolist(), strict=True))
        return {label: found[name] for label, name in self._names.items()}

    def _with_room(self, values: Mapping[Any, float]) -> DOML:
        """Give the learner with columns for all features of a sample."""
        learner, places = self._learner, self._columns.take_up(values)
        if learner is None:
            return self._make(self._columns.names)
        return learner if places is None else widen(learner, self._columns.names, places)

    def _make(self, names: Sequence[str]) -> DOML:
        return DOML(
            len(names), names=names, labels=self._first, predictor=self.predictor,
            ridge=self.ridge, bias=self.bias, scaling=self.scaling, cache=self.cache,
            neighbours=self.neighbours, form=self.form, dtype=self.dtype,
        )  # fmt: skip


def _label_name(label: Hashable) -> str:
    name = name_of(label)
    if not name:
        raise SampleError("label '' is no name; allowed: any other label")
    return name


def _truth(label: Hashable, value: Any) -> bool:
    if number_of(f"label {label!r}", value) not in (0.0, 1.0):
        raise SampleError(f"label {label!r} is {value!r}; allowed: True or False")
    return bool(value)
