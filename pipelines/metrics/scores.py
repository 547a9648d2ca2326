"""The newest scores of the network and of its companions."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct
from prometheus_client.metrics_core import Metric

from pipelines.metrics.families import Labels, gauge, gauge_by
from pipelines.tail import Tail

__all__ = ["NewestScores", "ScoreRow", "score_metrics"]

_COOPERATIVE = "cooperative"

Scores = Mapping[str, float | None]


class Distances(Struct, frozen=True):
    """How far apart the nodes are; None where that is not finite."""

    max: float | None
    mean: float | None


class ScoreRow(Struct, frozen=True):
    """What is read of a row of scores; a score that is not finite is None."""

    learner: str
    node: str | None
    scores: dict[str, float | None]
    window: dict[str, float | None]
    held: dict[str, float | None] | None = None
    disagreement: Distances | None = None


class NewestScores:
    """Follows a file of scores.

    Parameters
    ----------
    path : the file
    newest : bytes of its end that the first look reads at most
    """

    def __init__(self, path: Path, newest: int) -> None:
        self._tail = Tail(path, newest)
        self._rows: dict[str, ScoreRow] = {}
        self._decoder = msgspec.json.Decoder(ScoreRow)

    def read(self) -> Mapping[str, ScoreRow]:
        """Give the newest row of the network and of each companion, by learner."""
        for line in self._tail.lines():
            try:
                row = self._decoder.decode(line)
            except msgspec.MsgspecError:
                continue
            if row.node is None:
                self._rows[row.learner] = row
        return dict(self._rows)


def score_metrics(rows: Mapping[str, ScoreRow]) -> Iterator[Metric]:
    """Give the scores of the network and its companions, and the nodes' disagreement."""
    values: dict[Labels, float] = {}
    for learner, row in rows.items():
        for over, scores in (("all", row.scores), ("window", row.window), ("held", row.held)):
            for metric, value in (scores or {}).items():
                if value is not None:
                    values[learner, metric, over] = value
    yield gauge_by(
        "score",
        "Score of the network, or of a companion: over all samples, a window, or rows held back.",
        ("learner", "metric", "over"),
        values,
    )
    network = rows.get(_COOPERATIVE)
    apart = (network and network.disagreement) or Distances(None, None)
    text = "distance of the nodes' parameters from their average."
    yield gauge("disagreement_max", f"Largest {text}", apart.max)
    yield gauge("disagreement_mean", f"Mean {text}", apart.mean)
