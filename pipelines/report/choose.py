"""Which nodes and which points of a curve are drawn when there are too many."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pipelines.report.rows import Row, is_bigger_better, value

__all__ = ["EACH_END", "POINTS", "Choice", "choose_nodes", "thin"]

EACH_END = 20
"""How many of the worst nodes, and of the best, are drawn on large networks."""

POINTS = 240
"""At most this many points are drawn a curve."""

T = TypeVar("T")


@dataclass(frozen=True)
class Choice:
    """The nodes whose curves are drawn, and of how many nodes; `metric` chose them."""

    nodes: tuple[str, ...] = ()
    total: int = 0
    metric: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether every node is drawn."""
        return len(self.nodes) == self.total


def choose_nodes(last: Mapping[str, Row], metrics: Sequence[str]) -> Choice:
    """Choose all nodes, or the worst and the best by the headline metric if there are many.

    Parameters
    ----------
    last : node -> its last row
    metrics : the metrics of the run, the headline one first
    """
    names = sorted(last)
    if len(names) <= 2 * EACH_END or not metrics:
        return Choice(tuple(names[: 2 * EACH_END]), len(names), "")
    sign = -1.0 if is_bigger_better(metrics[0]) else 1.0
    scored = [(value(last[name], "scores", metrics[0]), name) for name in names]
    ranked = sorted((sign * score, name) for score, name in scored if score is not None)
    drawn = {name for _, name in [*ranked[:EACH_END], *ranked[-EACH_END:]]}
    return Choice(tuple(sorted(drawn)), len(names), metrics[0])


def thin(points: Sequence[T], most: int = POINTS) -> list[T]:
    """Keep at most `most` points, evenly spread, the first and the last among them.

    >>> thin(range(100), 4)
    [0, 33, 66, 99]
    """
    if len(points) <= most:
        return list(points)
    last = len(points) - 1
    return [points[i * last // (most - 1)] for i in range(most)]
