"""Processes of a job: how fast, how far, how large."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prometheus_client.metrics_core import Metric

from pipelines.gauges import open_files, resident_memory
from pipelines.metrics.families import Labels, counter, gauge, gauge_by
from pipelines.metrics.seen import Seen

__all__ = ["process_metrics"]

Statuses = Sequence[Mapping[str, Any]]


def process_metrics(seen: Seen) -> Iterator[Metric]:
    """Give what is told of every process, and what they have done together."""
    statuses = seen.statuses
    for name, key, text in _TOGETHER:
        yield counter(name, text, seen.counts(key).get("", 0.0))
    yield from _rounds(statuses)
    for name, key, text in _OF_EACH:
        values: dict[Labels, float] = {
            (str(status["process"]),): status[key]
            for status in statuses
            if status.get(key) is not None
        }
        yield gauge_by(name, text, ("process",), values | _own(key))
    ages: dict[Labels, float] = {
        (str(status["process"]),): seen.time - status["time"]
        for status in statuses
        if "time" in status
    }
    yield gauge_by("status_age_seconds", "Time since a process's last word.", ("process",), ages)


_TOGETHER = (
    ("samples", "learned", "Samples learned."),
    ("messages", "messages", "Messages sent by nodes."),
    ("message_bytes", "bytes", "Bytes of the messages sent by nodes."),
    ("alarms", "alarms", "Alarms raised by a risen severity."),
)
_OF_EACH = (
    ("samples_per_second", "rate", "Samples learned lately by a process."),
    ("start_time_seconds", "started", "Start of a process, since 1970."),
    ("resident_memory_bytes", "memory", "Memory of a process, the supervising one included."),
    ("open_files", "files", "Files and sockets a process has open, the supervising one included."),
)


def _own(key: str) -> dict[Labels, float]:
    """Give what this process, which supervises the others, tells of itself."""
    own = {"memory": resident_memory, "files": open_files}
    return {("supervisor",): float(own[key]())} if key in own else {}


def _rounds(statuses: Statuses) -> Iterator[Metric]:
    rounds = [bound for status in statuses for bound in status.get("rounds") or ()]
    yield gauge("round_min", "Rounds of the slowest node.", min(rounds, default=None))
    yield gauge("round_max", "Rounds of the fastest node.", max(rounds, default=None))
