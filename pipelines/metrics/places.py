"""Where samples come from, where results go, and the other sites."""

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric

from pipelines.metrics.families import Labels, counter_by, from_zero, gauge_by
from pipelines.metrics.seen import Seen

__all__ = ["place_metrics"]

_PARTITION = (
    ("source_offset", "offset", "Next record of a partition to be learned."),
    ("source_lag", "lag", "Records of a partition that are not read yet."),
    ("source_age_seconds", "age", "Age of the last record read from a partition."),
)


def place_metrics(seen: Seen) -> Iterator[Metric]:
    """Give what is told of partitions, topics written to, and sites."""
    for name, key, text in _PARTITION:
        yield gauge_by(name, text, ("topic", "partition"), _partitions(seen, key))
    sent = from_zero((), seen.counts("sent"))
    yield counter_by("output_records", "Records acknowledged by the brokers.", ("topic",), sent)
    yield gauge_by("output_queued", "Records not acknowledged yet.", ("topic",), _queued(seen))
    yield gauge_by("site_silent_seconds", "Time since a site was heard.", ("site",), _silent(seen))


def _partitions(seen: Seen, key: str) -> dict[Labels, float]:
    values: dict[Labels, float] = {}
    for status in seen.statuses:
        for name, part in status.get("partitions", {}).items():
            if part.get(key) is not None:
                topic, _, number = name.rpartition(":")
                values[topic, number] = part[key]
    return values


def _queued(seen: Seen) -> dict[Labels, float]:
    values: dict[Labels, float] = {}
    for status in seen.statuses:
        for topic, output in status.get("outputs", {}).items():
            values[topic,] = values.get((topic,), 0.0) + output["queued"]
    return values


def _silent(seen: Seen) -> dict[Labels, float]:
    heard: dict[Labels, float] = {}
    for status in seen.statuses:
        for site, known in status.get("sites", {}).items():
            heard[site,] = min(known["silent"], heard.get((site,), known["silent"]))
    return heard
