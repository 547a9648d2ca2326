"""ML-kNN of the newest samples of one node."""

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from anabranch.errors import ConfigurationError, ModelError, SampleError
from anabranch.kernels.mlknn_window import learn_rows, rule, window_margins
from anabranch.labels import joined, named
from anabranch.learners.doml_samples import checked_labels
from anabranch.learners.mlknn_units import Units
from anabranch.learners.mlknn_window import empty_window, oldest_first, with_labels, with_room
from anabranch.learners.options import (
    check_between,
    check_choice,
    check_flag,
    check_names,
    check_whole,
)
from anabranch.learners.rows import checked_rows
from anabranch.learners.silent import Silent
from anabranch.learners.states import SCHEMA, check_header, saved_array, saved_value
from anabranch.protocol import Array, State, Task

__all__ = ["MLKNN"]

_SETTINGS = ("neighbours", "smoothing", "cache", "scaling", "save_samples")
_NO_MARGINS = np.empty((0, 0))


class MLKNN(Silent):
    """Labels of a sample by those of the nearest samples before it; of one node alone.

    After every row the rule is exactly that of `fit_mlknn` over the newest `cache` rows, but
    kept up instead of fitted: distances from the new row, and from those that lost neighbours.
    It sends nothing and hears nobody.

    Follows M.-L. Zhang and Z.-H. Zhou, ML-KNN: a lazy learning approach to multi-label
    learning, Pattern Recognition 40 (2007), 2038-2048; the window is not in it.

    Parameters
    ----------
    features : int
        Fields d of a sample.
    ranks : int
        Ignored.
    neighbours : int
        k nearest samples by Euclidean distance; of equal ones the oldest.
    smoothing : float
        s of the frequencies.
    cache : int
        Newest samples that count; 0 for all.
    scaling : {"none", "own"}
        Fields as they are, or by their standard deviations, unless they are only 0 and 1; those
        of the node's own samples, renewed whenever there are twice as many.
    save_samples : bool
        Whether a model file holds them. The rule is nothing without its samples, so without
        them a loaded model predicts no label until it has learned some.
    names : sequence of str, optional
        Names of the fields; "0", "1", ...
    labels : int or sequence of str
        Labels known from the beginning.

    Raises
    ------
    ConfigurationError
        A setting is out of its range.

    Examples
    --------
    >>> node = MLKNN(1, neighbours=2, labels=["low", "high"])
    >>> node.learn(np.array([[0.0], [0.1], [0.2]]), np.array([[1, 0]] * 3))
    >>> node.learn(np.array([[1.0], [1.1], [1.2]]), np.array([[0, 1]] * 3))
    >>> node.predict(np.array([[0.05], [1.3]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    kind: ClassVar[str] = "mlknn"
    task: ClassVar[Task] = "multilabel"

    def __init__(
        self,
        features: int,
        ranks: int = 0,
        *,
        neighbours: int = 10,
        smoothing: float = 1.0,
        cache: int = 1000,
        scaling: str = "none",
        save_samples: bool = False,
        names: Sequence[str] | None = None,
        labels: int | Sequence[str] = 0,
    ) -> None:
        check_whole("features", features, 1)
        check_whole("neighbours", neighbours, 1)
        check_between("smoothing", smoothing, 0.0, above=True)
        check_whole("cache", cache, 0)
        check_choice("scaling", scaling, ("none", "own"))
        check_flag("save_samples", save_samples)
        self.features, self.neighbours, self.smoothing = features, neighbours, float(smoothing)
        self.cache, self.scaling, self.save_samples = cache, scaling, save_samples
        self.names = tuple(str(i) for i in range(features)) if names is None else tuple(names)
        check_names(self.names, features)
        self._labels = named(labels)
        self._first = len(self._labels)
        self._units = Units(features, scaled=scaling == "own")
        self._window = empty_window(features, len(self._labels), neighbours)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of y's columns, in order."""
        return self._labels

    def admit(self, labels: Sequence[str]) -> None:
        """Take labels up that are new: no sample so far had them.

        Raises
        ------
        ConfigurationError
            A name is empty, or there twice.
        """
        wider = joined(self._labels, named(labels), self._first)
        if wider == self._labels:
            return
        places = np.array([wider.index(label) for label in self._labels], dtype=np.int64)
        self._labels = wider
        self._window = with_labels(self._window, len(wider), places)

    def scores(self, X: Array) -> Array:
        """Give 2 P(label | neighbours) - 1, (n, q), for rows X (n, d).

        Raises
        ------
        SampleError
            X has the wrong shape or a value that is not finite.
        """
        rows = self._units.rows(checked_rows(X, self.features))
        return window_margins(self._window, rows, self.smoothing)

    def predict(self, X: Array) -> Array:
        """Predict (n, q) of 0 and 1: the labels whose score is above 0.

        Raises
        ------
        SampleError
            As `scores`.
        """
        return (self.scores(X) > 0.0).astype(np.float64)

    def learn(self, X: Array, y: Array) -> None:
        """Take rows X (n, d) in, with their labels y (n, q) of 0 and 1.

        Raises
        ------
        SampleError
            The shape is wrong, a value is not finite, a label is not 0 or 1; nothing has
            changed then.
        """
        self._take(X, y, _NO_MARGINS)

    def predict_then_learn(self, X: Array, y: Array) -> Array:
        """Predict each row, then take it in.

        Raises
        ------
        SampleError
            As `learn`.
        """
        return self.predict_then_learn_margins(X, y)[0]

    def predict_then_learn_margins(self, X: Array, y: Array) -> tuple[Array, Array]:
        """As `predict_then_learn`, and what `scores` would have given each row before it.

        Raises
        ------
        SampleError
            As `learn`.
        """
        out = np.empty((np.shape(X)[0] if np.ndim(X) else 0, len(self._labels)))
        self._take(X, y, out)
        return (out > 0.0).astype(np.float64), out

    def _take(self, X: Array, y: Array, out: Array) -> None:
        rows = checked_rows(X, self.features)
        sets = checked_labels(y, len(rows), len(self._labels)).astype(np.uint8)
        begin = 0
        while begin < len(rows):
            part = slice(begin, begin + self._units.until(len(rows) - begin))
            self._place(self._units.rows(rows[part]), sets[part], out[part])
            changed = self._units.note(rows[part])
            if changed is not None:
                X, y = oldest_first(self._window)
                self._window = empty_window(self.features, len(self._labels), self.neighbours)
                self._place(X * changed, y, _NO_MARGINS)
            begin = part.stop

    def _place(self, rows: Array, sets: Array, out: Array) -> None:
        """Take rows in the present units in."""
        self._window = with_room(self._window, len(rows), self.cache)
        learn_rows(self._window, rows, sets, self.cache or -1, self.smoothing, out)

    def parameters(self) -> Array:
        """Give the margin of each label by the number of neighbours that have it, flat."""
        return rule(self._window, self.smoothing).ravel()

    # States

    def export(self) -> State:
        """Give the whole state, samples included."""
        X, y = oldest_first(self._window)
        return {**self._head(), **self._units.export(), "X": X, "y": y}

    @property
    def lacking(self) -> str | None:
        """What predictions lack, where no sample is there to find neighbours among."""
        if len(oldest_first(self._window)[1]):
            return None
        return (
            "this model has no samples and tells no label; learner.save_samples = true keeps them"
        )

    def model(self) -> State:
        """Give the settings; with `save_samples` the samples too, without which it is empty."""
        return self.export() if self.save_samples else self._head()

    def _head(self) -> State:
        return {
            "schema": SCHEMA,
            "kind": self.kind,
            "config": {
                "features": self.features,
                "names": list(self.names),
                "labels": list(self._labels[: self._first]),
                **{name: getattr(self, name) for name in _SETTINGS},
            },
            "admitted": list(self._labels[self._first :]),
        }

    @classmethod
    def restore(cls, state: State) -> Self:
        """Build a learner from `export` or `model`.

        Raises
        ------
        ModelError
            The schema is newer than this version reads, or the state is damaged.
        """
        check_header(state, cls.kind)
        try:
            learner = cls(**saved_value(state, "config"))
            learner.admit(saved_value(state, "admitted"))
        except (TypeError, ValueError, ConfigurationError) as error:
            raise ModelError(f"damaged state: {error}") from error
        if "X" in state:
            learner._load(state)
        return learner

    def _load(self, state: State) -> None:
        self._units.restore(state)
        X = saved_array(state, "X", (-1, self.features))
        y = saved_array(state, "y", (len(X), len(self._labels)))
        try:
            sets = checked_labels(y, len(X), len(self._labels)).astype(np.uint8)
        except SampleError as error:
            raise ModelError(f"damaged state: {error}") from error
        if self.cache and len(X) > self.cache:
            raise ModelError(f"damaged state: {len(X)} samples; allowed: up to {self.cache}")
        self._place(X, sets, _NO_MARGINS)
