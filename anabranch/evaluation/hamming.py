"""Hamming loss as a metric of River's, which has none."""

from collections.abc import Mapping
from typing import Any

from river.metrics.multioutput.base import MultiOutputClassificationMetric

__all__ = ["HammingLoss"]


class HammingLoss(MultiOutputClassificationMetric):
    """Share of (sample, label) pairs told wrong, as `sklearn.metrics.hamming_loss` counts.

    A label that a truth or a prediction does not name counts as absent there, in all samples,
    also in those before it was first named: so the value is that of the matrices with a
    column for each label ever named. 0 before any sample.

    Examples
    --------
    >>> from river import utils
    >>> metric = HammingLoss()
    >>> metric.update({"a": True, "b": False}, {"a": True, "b": True})
    >>> metric.update({"a": True, "b": False}, {"a": True})
    >>> metric
    HammingLoss: 0.25
    >>> rolling = utils.Rolling(HammingLoss, window_size=1)
    >>> for predicted in (False, True):
    ...     rolling.update({"a": True}, {"a": predicted})
    >>> rolling.get()
    0.0
    """

    _fmt = ".6f"

    def __init__(self, cm: Any = None) -> None:
        super().__init__(cm)
        self._named: dict[Any, None] = {}
        self._wrong = 0.0
        self._weight = 0.0

    @property
    def bigger_is_better(self) -> bool:
        """Tell that a low value is good."""
        return False

    def update(self, y_true: Mapping[Any, Any], y_pred: Mapping[Any, Any], w: float = 1.0) -> None:
        """Take in a sample: label -> whether it applies."""
        self._named |= dict.fromkeys([*y_true, *y_pred])
        self._wrong += w * _differences(y_true, y_pred)
        self._weight += w

    def revert(self, y_true: Mapping[Any, Any], y_pred: Mapping[Any, Any], w: float = 1.0) -> None:
        """Take a sample out again."""
        self._wrong -= w * _differences(y_true, y_pred)
        self._weight -= w

    def get(self) -> float:
        """Give the loss of everything seen."""
        pairs = self._weight * len(self._named)
        return self._wrong / pairs if pairs > 0.0 else 0.0


def _differences(y_true: Mapping[Any, Any], y_pred: Mapping[Any, Any]) -> int:
    labels = y_true.keys() | y_pred.keys()
    return sum(bool(y_true.get(label)) != bool(y_pred.get(label)) for label in labels)
