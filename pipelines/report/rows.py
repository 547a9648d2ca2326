"""One line of a run's scores, and the scopes its metrics come in."""

from collections.abc import Iterable

import msgspec

from anabranch.evaluation import EVALUATIONS

__all__ = ["LEARNERS", "SCOPES", "LabelScore", "Row", "is_bigger_better", "metric_names", "value"]

LEARNERS = {"cooperative": "Cooperative", "local": "Local-only", "pooled": "Pooled"}
"""What learners are called on the page, in the order of its tables."""

SCOPES = {"scores": "Whole stream", "window": "Window", "held": "Held-back rows"}
"""Fields of a row that hold metrics, and what they are called."""


class LabelScore(msgspec.Struct):
    """How well one label was told; `support` is how many samples had it."""

    precision: float
    recall: float
    f1: float
    support: int


class Row(msgspec.Struct):
    """Scores of one node, or of the network where `node` is None, after a round."""

    round: int
    learner: str
    samples: int
    scores: dict[str, float | None]
    node: str | None = None
    time: str = ""
    window: dict[str, float | None] | None = None
    held: dict[str, float | None] | None = None
    disagreement: dict[str, float | None] | None = None
    measures: dict[str, float | dict[str, float | None] | None] | None = None
    messages: int = 0
    bytes: int = 0
    confusion: list[list[float]] | None = None
    labels: dict[str, LabelScore] | None = None


def value(row: Row | None, scope: str, metric: str) -> float | None:
    """Give one metric, or None where the row does not have it or has seen no sample."""
    if row is None or (row.samples == 0 and scope != "held"):
        return None
    table: dict[str, float | None] | None = getattr(row, scope)
    return None if table is None else table.get(metric)


def metric_names(rows: Iterable[Row]) -> list[str]:
    """Give the metrics that occur, in the order of their first occurrence."""
    names: dict[str, None] = {}
    for row in rows:
        for scope in SCOPES:
            names.update(dict.fromkeys(getattr(row, scope) or {}))
    return list(names)


def is_bigger_better(metric: str) -> bool:
    """Tell whether a high value of a metric is a good one.

    >>> is_bigger_better("Accuracy"), is_bigger_better("MAE")
    (True, False)
    """
    return any(task.bigger_is_better.get(metric, False) for task in EVALUATIONS.values())
