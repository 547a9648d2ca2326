"""Rows as columns of numbers, ready to be drawn."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from anabranch.protocol import Array
from pipelines.report.choose import thin
from pipelines.report.rows import SCOPES, Row, value
from pipelines.report.runs import Run

__all__ = ["Clock", "column", "fed", "metric_columns", "offered", "value_ranges"]

_BEGINNING = 0.05
_MARGIN = 0.05


class Clock:
    """Tells how many samples the network had seen in a round, for a shared axis."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rounds = [row.round for row in rows]
        self._samples = [row.samples for row in rows]

    def samples(self, row: Row) -> float:
        """Give the network's samples at the row's round, its own where none is known."""
        at = bisect_right(self._rounds, row.round) - 1
        return float(self._samples[at] if at >= 0 else row.samples)

    def at(self, round: int) -> float:
        """Give the network's samples at a round, 0 before the first row."""
        at = bisect_right(self._rounds, round) - 1
        return float(self._samples[at]) if at >= 0 else 0.0


def column(rows: Sequence[Row], read: Callable[[Row], float | None]) -> Array:
    """Read one number a row as float64, NaN where there is none."""
    found = [read(row) for row in rows]
    return np.array([np.nan if item is None else item for item in found], dtype=np.float64)


def offered(run: Run) -> list[tuple[str, str]]:
    """Give the (scope, metric) pairs that the run's last rows have, the headline one first."""
    last = [rows[-1] for rows in run.network.values() if rows]
    return [
        (scope, metric)
        for scope in SCOPES
        for metric in run.metrics
        if any(metric in (getattr(row, scope) or {}) for row in last)
    ]


def fed(rows: Sequence[Row]) -> list[Row]:
    """Leave out the rounds after a stream's end, which have all samples already.

    A batch job has all samples in every round, and keeps its rows.
    """
    if not rows or rows[0].samples == rows[-1].samples:
        return list(rows)
    end = next(i for i, row in enumerate(rows) if row.samples == rows[-1].samples)
    return list(rows[: end + 1])


def value_ranges(drawn: Sequence[Mapping[str, Array]]) -> dict[str, tuple[float, float]]:
    """Give the lowest and highest value to show of every column but "samples".

    The first twentieth of the samples is left out, unless there is nothing else.

    >>> x = np.arange(0.0, 101.0)
    >>> value_ranges([{"samples": x, "scores.MAE": np.where(x < 5, 999.0, 2.0 * x)}])
    {'scores.MAE': (0.5, 209.5)}
    """
    most = max((float(columns["samples"].max(initial=0)) for columns in drawn), default=0.0)
    found = {}
    for name in dict.fromkeys(key for columns in drawn for key in columns if key != "samples"):
        shown = [c[name][c["samples"] >= _BEGINNING * most] for c in drawn if name in c]
        values = np.concatenate(shown)
        values = values[np.isfinite(values)]
        if len(values):
            low, high = float(values.min()), float(values.max())
            margin = _MARGIN * (high - low) or 0.5
            found[name] = (low - margin, high + margin)
    return found


def metric_columns(
    rows: Sequence[Row], clock: Clock, pairs: Sequence[tuple[str, str]]
) -> dict[str, Array]:
    """Give "samples" and one column a pair, named scope.metric, of at most `POINTS` rows."""
    kept = thin(rows)
    columns = {"samples": column(kept, clock.samples)}
    for scope, metric in pairs:
        columns[f"{scope}.{metric}"] = column(
            kept,
            lambda row, s=scope, m=metric: value(row, s, m),  # type: ignore[misc]
        )
    return columns
