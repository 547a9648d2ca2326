"""Thresholds of linear scores, learned from predictions made before the truth was known."""

from math import isfinite
from typing import ClassVar, Self

import numpy as np

from anabranch.errors import ConfigurationError, ModelError, SampleError
from anabranch.kernels.threshold import CLOCK, LOWEST, margins_then_update
from anabranch.learners.states import saved_array, saved_value, saved_whole
from anabranch.protocol import Array, State

__all__ = ["GlobalThreshold", "PerLabelThresholds"]

_FINEST = 1 << 16


class _Thresholds:
    """What both kinds share: tables of scores on a grid, one for all labels or one for each."""

    _shared: ClassVar[bool]

    def __init__(
        self, labels: int, start: float, decay: float, least: float, resolution: int
    ) -> None:
        if not LOWEST <= start < 1.0:
            raise ConfigurationError(f"start = {start} is no threshold; allowed: -0.5 to below 1")
        if not 0.0 < decay <= 1.0:
            raise ConfigurationError(f"decay = {decay} forgets nothing or all; allowed: (0, 1]")
        if not (isfinite(least) and least >= 0.0):
            raise ConfigurationError(f"least = {least} is no weight; allowed: 0 or more")
        if not (4 <= resolution <= _FINEST and resolution & (resolution - 1) == 0):
            raise ConfigurationError(
                f"resolution = {resolution} is no grid; allowed: powers of two from 4 to {_FINEST}"
            )
        self.start, self.decay, self.least, self.resolution = start, decay, least, resolution
        tables = 1 if self._shared else labels
        cells = int((1.0 - LOWEST) * resolution) + 1
        self._tables = np.zeros((tables, cells, 2))
        self._values = np.full(tables, start)
        self._clock = np.array([1.0] + [0.0] * (CLOCK - 1))

    def margins(self, scores: Array) -> Array:
        """Give scores (n, q) less their thresholds; a label applies where this is positive."""
        return np.asarray(scores - self._values)

    def predict(self, scores: Array) -> Array:
        """Give (n, q) float64 of 0 and 1."""
        return (scores > self._values).astype(np.float64)

    def margins_then_update(self, scores: Array, y: Array) -> Array:
        """Give each row's margins, then learn the row; equal to the loop over rows.

        Parameters
        ----------
        scores : (n, q) float64, as they were before their truths were known
        y : (n, q) float64 of 0 and 1

        Raises
        ------
        SampleError
            The shapes differ, or have another number of labels; nothing has changed then.
        """
        fits = scores.ndim == 2 and scores.shape == y.shape
        if not fits or not (self._shared or scores.shape[1] == self._values.size):
            wanted = "q" if self._shared else self._values.size
            raise SampleError(
                f"shapes {scores.shape} of scores and {y.shape} of y do not fit; "
                f"allowed: (n, {wanted}) twice"
            )
        # one contiguous type for the kernel, whatever the caller holds
        rows = np.array(scores, dtype=np.float64, order="C")
        truth = np.array(y, dtype=np.float64, order="C")
        return margins_then_update(
            rows, truth, self._tables, self._values, self._clock,
            self.resolution, self.start, self.least, self.decay,
        )  # fmt: skip

    def predict_then_update(self, scores: Array, y: Array) -> Array:
        """Predict each row (n, q), then learn it; see `margins_then_update`."""
        return (self.margins_then_update(scores, y) > 0.0).astype(np.float64)

    def update(self, scores: Array, y: Array) -> None:
        """Learn rows; see `margins_then_update`."""
        self.margins_then_update(scores, y)

    def export(self) -> State:
        """Give the whole state, without any sample; `restore` of it continues exactly."""
        return {
            "start": self.start,
            "decay": self.decay,
            "least": self.least,
            "resolution": self.resolution,
            "tables": self._tables.copy(),
            "values": self._values.copy(),
            "clock": self._clock.copy(),
        }

    def _load(self, state: State) -> None:
        shape = self._tables.shape
        self._tables = saved_array(state, "tables", shape)
        self._values = saved_array(state, "values", shape[:1])
        self._clock = saved_array(state, "clock", (CLOCK,))
        if (self._tables < 0.0).any() or (self._clock < 0.0).any() or self._clock[0] < 1.0:
            raise ModelError("damaged state: a threshold's weights are negative")

    @staticmethod
    def _settings(state: State) -> tuple[float, float, float, int]:
        try:
            start, decay, least = (
                float(saved_value(state, n)) for n in ("start", "decay", "least")
            )
        except (TypeError, ValueError) as error:
            raise ModelError(
                f"damaged state: a threshold's setting is no number: {error}"
            ) from error
        return start, decay, least, saved_whole(state, "resolution", _FINEST)


class GlobalThreshold(_Thresholds):
    """One threshold for all labels, where micro F1 over what was seen is largest.

    Scores are counted on a grid of `resolution` cells a unit, from -0.5 to 1. Of equally good
    thresholds the one nearest to `start` is taken, and `start` itself before a label was seen.

    Parameters
    ----------
    start : threshold at the beginning
    decay : what a row counts after each later one; 1 for no forgetting
    least : labels that must have been seen before `start` is left
    resolution : a power of two

    Raises
    ------
    ConfigurationError
        A setting is out of its range.

    Examples
    --------
    >>> threshold = GlobalThreshold()
    >>> scores = np.array([[0.3, 0.1], [0.35, 0.05]])
    >>> threshold.predict_then_update(scores, np.array([[1.0, 0.0], [1.0, 0.0]])).tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    >>> threshold.value
    0.2998046875
    """

    _shared = True

    def __init__(
        self, start: float = 0.5, decay: float = 1.0, least: float = 0.0, resolution: int = 1024
    ) -> None:
        super().__init__(1, start, decay, least, resolution)

    @property
    def value(self) -> float:
        """The threshold; a label applies where its score is above it."""
        return float(self._values[0])

    def grown(self, labels: int, places: Array) -> Self:
        """Give this: one threshold is for any number of labels."""
        return self

    @classmethod
    def restore(cls, state: State) -> Self:
        """Build a threshold from `export`.

        Raises
        ------
        ModelError
            The state is damaged.
        """
        try:
            threshold = cls(*cls._settings(state))
        except ConfigurationError as error:
            raise ModelError(f"damaged state: {error}") from error
        threshold._load(state)
        return threshold


class PerLabelThresholds(_Thresholds):
    """A threshold for each label, where that label's F1 over what was seen is largest.

    Raises macro F1, and on rare labels the Hamming loss with it: F1 does not count what is
    rightly left out, and few samples tell little. So a label stays at `start` until it was
    seen `least` times.

    Parameters
    ----------
    labels : number of labels q
    start, decay, least, resolution : as for `GlobalThreshold`

    Raises
    ------
    ConfigurationError
        A setting is out of its range.

    Examples
    --------
    >>> thresholds = PerLabelThresholds(2, least=1.0)
    >>> scores = np.array([[0.3, 0.6], [0.1, 0.7]])
    >>> thresholds.update(scores, np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> thresholds.value.tolist()
    [0.296875, 0.609375]
    """

    _shared = False

    def __init__(
        self,
        labels: int,
        start: float = 0.5,
        decay: float = 1.0,
        least: float = 10.0,
        resolution: int = 64,
    ) -> None:
        super().__init__(labels, start, decay, least, resolution)

    @property
    def value(self) -> Array:
        """The thresholds (q,)."""
        return self._values.copy()

    def grown(self, labels: int, places: Array) -> Self:
        """Give thresholds of more labels, these standing at `places` (q,) int64 among them.

        A new one stands at `start`, and has seen nothing.
        """
        larger = type(self)(labels, self.start, self.decay, self.least, self.resolution)
        larger._tables[places] = self._tables
        larger._values[places] = self._values
        larger._clock[:] = self._clock
        return larger

    @classmethod
    def restore(cls, state: State) -> Self:
        """Build thresholds from `export`.

        Raises
        ------
        ModelError
            The state is damaged.
        """
        values = saved_array(state, "values", (-1,))
        try:
            thresholds = cls(len(values), *cls._settings(state))
        except ConfigurationError as error:
            raise ModelError(f"damaged state: {error}") from error
        thresholds._load(state)
        return thresholds
