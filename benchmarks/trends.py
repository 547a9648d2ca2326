"""Whether what is read of a long job stays flat: a line through each reading, and a verdict."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.table import Row

__all__ = ["HOURS", "Limit", "Trend", "rows_of", "trends"]

HOURS = 8.0
"""Hours of a job that a soak stands for, however fast its samples come."""
_SETTLING = 0.25
"""Share of the job that is left out: caches and windows fill."""
_FEWEST = 8
"""Readings that a verdict needs."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Growth over the whole job that is taken for none: the larger of a share and so much."""

    share: float = 0.0
    least: float = 0.0


@dataclass(frozen=True, slots=True)
class Trend:
    """A line through the settled part of a reading.

    Attributes
    ----------
    reading : its name, with the unit
    end : the last value
    slope, error : growth in an hour of the job, and its standard error
    allowed : growth in an hour that counts as none; None where it is meant to grow
    flat : whether slope less twice its error is allowed; None where nothing is asked for, or
        readings are too few
    """

    reading: str
    end: float
    slope: float
    error: float
    allowed: float | None
    flat: bool | None


def trends(
    samples: Sequence[Mapping[str, float]], done: str, total: float, limits: Mapping[str, Limit]
) -> list[Trend]:
    """Fit a line to each reading over the hours of the job.

    Parameters
    ----------
    samples : the readings, in time; "seconds" is no reading
    done : name of the reading that tells how far the job is
    total : its value at the end; the job's HOURS are as much of it
    limits : by the reading's name, or what stands behind its last ": "

    >>> samples = [{"done": i, "memory": 100.0 + i, "series": 40.0} for i in range(21)]
    >>> limits = {"memory": Limit(share=0.1), "series": Limit()}
    >>> [(t.reading, round(t.slope, 6), t.flat) for t in trends(samples, "done", 20, limits)]
    [('memory', 2.5, False), ('series', 0.0, True)]
    """
    # At its end a job only closes what it has open.
    settled = [one for one in samples if _SETTLING * total <= one[done] < total]
    names = dict.fromkeys(name for one in settled for name in one)
    found = []
    for name in (name for name in names if name not in (done, "seconds")):
        points = [(one[done] / total * HOURS, one[name]) for one in settled if name in one]
        found.append(_trend(name, np.array(points), limits.get(name.rpartition(": ")[2])))
    return found


def _trend(
    name: str, points: "np.ndarray[tuple[int, int], np.dtype[np.float64]]", limit: Limit | None
) -> Trend:
    hours, values = points.T
    slope = error = 0.0
    enough = len(values) >= _FEWEST
    if enough:
        (slope, _), covariance = np.polyfit(hours, values, 1, cov=True)
        error = float(np.sqrt(max(covariance[0, 0], 0.0)))
    allowed = None
    if limit is not None:
        allowed = max(limit.share * float(values.mean()), limit.least) / HOURS
    # What noise explains is no growth, nor is a rest of rounding.
    flat = bool(slope - 2.0 * error <= allowed + 1e-9) if enough and allowed is not None else None
    return Trend(name, float(values[-1]), float(slope), error, allowed, flat)


def rows_of(section: str, found: Sequence[Trend]) -> Iterator[Row]:
    """Give a row a trend: growth in an hour, beside the value at the end."""
    for trend in found:
        aim = "" if trend.allowed is None else f"<= {trend.allowed:.3g}"
        yield Row(
            section, f"{trend.reading}: growth", trend.slope, "an hour", "at the end", trend.end,
            aim, trend.flat,
        )  # fmt: skip
