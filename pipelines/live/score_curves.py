"""The curves of a job's scores, as it writes them."""

from bisect import bisect_right
from pathlib import Path

import msgspec

from pipelines.live.series import Series
from pipelines.report.rows import Row
from pipelines.tail import Tail

__all__ = ["ScoreCurves", "shown_scores"]

_POINTS = 240
_NEWEST, _MOST = 32_000_000, 8_000_000
"""Bytes of older rows that are read at the start, and at a look."""

_OF_NETWORK = b'"node":null'


def shown_scores(row: Row) -> dict[str, float | None]:
    """Give the scores that say how a learner is now: of its window, or of held-back rows."""
    return row.window or row.held or row.scores


class ScoreCurves:
    """Scores of the network and what runs beside it, by learner; of batch jobs by rounds.

    Parameters
    ----------
    path : the run's scores
    by_rounds : whether curves stand at rounds; else at the samples that the network had seen
    """

    def __init__(self, path: Path, *, by_rounds: bool) -> None:
        self._tail = Tail(path, _NEWEST, _MOST)
        self._by_rounds = by_rounds
        self._decoder = msgspec.json.Decoder(Row)
        self._rows: dict[str, Series[Row]] = {}

    def update(self) -> None:
        """Read what is new."""
        for line in self._tail.lines():
            if _OF_NETWORK in line:
                try:
                    row = self._decoder.decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError):
                    continue
                self._rows.setdefault(row.learner, Series(_POINTS)).add(row.round, row)

    @property
    def rows(self) -> dict[str, list[Row]]:
        """Give each learner's rows, thinned."""
        return {name: [row for _, row in one.points()] for name, one in self._rows.items()}

    def newest(self, learner: str = "cooperative") -> Row | None:
        """Give a learner's newest row."""
        found = self._rows.get(learner)
        return found.newest if found else None

    def at(self, row: Row) -> float:
        """Tell where a row stands on its curve."""
        return float(row.round if self._by_rounds else row.samples)

    def place(self, round: int) -> float:
        """Tell where a round stands, as near as the rows know."""
        if self._by_rounds or "cooperative" not in self._rows:
            return float(round)
        points = self._rows["cooperative"].points()
        after = bisect_right([at for at, _ in points], round)
        (first, low), (last, high) = points[max(0, after - 1)], points[min(after, len(points) - 1)]
        share = min(1.0, max(0.0, (round - first) / (last - first))) if last > first else 0.0
        return float(low.samples + share * (high.samples - low.samples))
