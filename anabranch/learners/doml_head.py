"""From scores P'x to labels: fixed, learned and per-label thresholds."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Self

from anabranch.errors import ModelError
from anabranch.learners.states import saved_value
from anabranch.learners.threshold import GlobalThreshold, PerLabelThresholds
from anabranch.protocol import Array, State

__all__ = ["HALF", "FixedHead", "Head", "ThresholdHead"]

HALF = 0.5
"""What a score must exceed where nothing else is known."""


class Head(ABC):
    """What turns scores into margins; a label applies where its margin is positive."""

    needs_points: ClassVar[bool] = False
    """Whether it must be given the samples whenever P moved, by `place`."""

    def place(self, points: Array, y: Array) -> None:  # noqa: B027 - only some need them
        """Have these samples: P'x (n, q), y (n, q), oldest first."""

    @abstractmethod
    def margins(self, scores: Array) -> Array:
        """Give the margins (n, q) of scores (n, q)."""

    def margins_then_learn(self, scores: Array, y: Array) -> Array:
        """Give each row's margins, then learn the row; equal to the loop over rows."""
        return self.margins(scores)

    def grow(self, labels: int, places: Array) -> None:  # noqa: B027 - only some learn
        """Be for more labels, those so far standing at `places`."""

    def measures(self) -> Mapping[str, float]:
        """Give numbers about itself."""
        return {}

    def export(self) -> State:
        """Give its state, without any sample."""
        return {}

    def restore(self, state: State) -> Self:
        """Take a state of `export`."""
        return self


class FixedHead(Head):
    """The threshold .5."""

    def margins(self, scores: Array) -> Array:
        """Give scores - .5."""
        return scores - HALF


class ThresholdHead(Head):
    """One threshold for all labels, or one for each, from scores given before the truth."""

    def __init__(self, labels: int, *, each: bool) -> None:
        self.each = each
        self._thresholds: GlobalThreshold | PerLabelThresholds = (
            PerLabelThresholds(labels) if each else GlobalThreshold()
        )

    def margins(self, scores: Array) -> Array:
        """Give scores less their thresholds."""
        return self._thresholds.margins(scores)

    def margins_then_learn(self, scores: Array, y: Array) -> Array:
        """Give each row's margins, then learn from the row."""
        return self._thresholds.margins_then_update(scores, y)

    def grow(self, labels: int, places: Array) -> None:
        """Give new labels the threshold of the beginning."""
        self._thresholds = self._thresholds.grown(labels, places)

    def measures(self) -> Mapping[str, float]:
        """Give the "threshold" that is for all labels."""
        thresholds = self._thresholds
        return {"threshold": thresholds.value} if isinstance(thresholds, GlobalThreshold) else {}

    def export(self) -> State:
        """Give the tables of scores."""
        return {f"threshold_{key}": value for key, value in self._thresholds.export().items()}

    def restore(self, state: State) -> Self:
        """Take a state of `export`.

        Raises
        ------
        ModelError
            It is damaged, or for another number of labels.
        """
        kind = type(self._thresholds)
        names = self._thresholds.export()
        given = kind.restore({name: saved_value(state, f"threshold_{name}") for name in names})
        if given.export()["values"].shape != self._thresholds.export()["values"].shape:
            raise ModelError("damaged state: thresholds for another number of labels")
        self._thresholds = given
        return self
