"""What happened in a job, counted: records set aside, messages refused, drifts."""

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric

from connectors.records import REASONS
from pipelines.config.measures import MEANINGS
from pipelines.metrics.families import Labels, counter_by, from_zero, gauge, gauge_by
from pipelines.metrics.seen import Seen

__all__ = ["event_metrics"]

SCOPES = ("node", "neighbourhood", "network")
"""How far a drift may reach."""


def event_metrics(seen: Seen) -> Iterator[Metric]:
    """Give every count of events, and what learners tell of themselves."""
    dead = from_zero(REASONS, seen.counts("reasons"))
    yield counter_by("dead_letters", "Records that could not be used.", ("reason",), dead)
    refused = from_zero(("refused_message",), seen.counts("refused"))
    yield counter_by("refused_messages", "Messages that were refused.", ("reason",), refused)
    drifts = from_zero(SCOPES, seen.counts("drift"))
    yield counter_by("drift", "Drifts found, by how far they reach.", ("scope",), drifts)
    yield from _measures(seen)


def _measures(seen: Seen) -> Iterator[Metric]:
    """Give what learners tell of themselves by name alone: nodes may be many."""
    told = [status.get("measures", {}) for status in seen.statuses]
    names = sorted({name for measures in told for name in measures})
    parts = {name: [measures[name] for measures in told if name in measures] for name in names}
    largest: dict[Labels, float] = {
        (name,): max(part["max"] for part in parts[name]) for name in names
    }
    known = "".join(f" {name}: {MEANINGS[name]}" for name in names if name in MEANINGS)
    text = f"The largest of the numbers that nodes tell of themselves.{known}"
    yield gauge_by("measure_max", text, ("measure",), largest)
    means: dict[Labels, float] = {
        (name,): sum(part["sum"] for part in parts[name])
        / sum(part["nodes"] for part in parts[name])
        for name in names
    }
    yield gauge_by("measure_mean", "The mean of them.", ("measure",), means)
    diverging = sum(len(status.get("diverging", ())) for status in seen.statuses)
    yield gauge("diverging_nodes", "Nodes whose parameters diverge.", diverging)
