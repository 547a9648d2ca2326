"""What a job reports to Prometheus, all processes together."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

__all__ = ["JobCollector"]

Status = Mapping[str, Any]
_STATES = ("green", "yellow", "red")


class JobCollector(Collector):
    """Make metrics of what the processes wrote last.

    Parameters
    ----------
    statuses : gives the processes' newest statuses
    state : gives green, yellow or red
    """

    def __init__(self, statuses: Callable[[], Sequence[Status]], state: Callable[[], str]) -> None:
        self._statuses, self._state = statuses, state

    def collect(self) -> Iterator[Metric]:
        """Give every metric as it stands."""
        statuses = self._statuses()
        state = self._state()
        health = GaugeMetricFamily(
            "anabranch_health", "1 for the state the job is in", labels=["state"]
        )
        for name in _STATES:
            health.add_metric([name], float(name == state))
        yield health
        yield _total("samples", "Samples learned since the start", statuses, "learned")
        yield _total("dead_letters", "Records that could not be used", statuses, "dead")
        yield from _processes(statuses)
        yield from _partitions(statuses)
        yield from _outputs(statuses)
        yield from _sites(statuses)
        yield from _measures(statuses)


def _total(name: str, text: str, statuses: Sequence[Status], key: str) -> Metric:
    total = sum(status.get(key) or 0 for status in statuses)
    return CounterMetricFamily(f"anabranch_{name}", text, value=total)


def _processes(statuses: Sequence[Status]) -> Iterator[Metric]:
    memory = GaugeMetricFamily(
        "anabranch_resident_memory_bytes", "Memory of a process", labels=["process"]
    )
    rate = GaugeMetricFamily(
        "anabranch_samples_per_second", "Samples learned lately", labels=["process"]
    )
    for status in statuses:
        label = [str(status["process"])]
        memory.add_metric(label, status.get("memory") or 0)
        rate.add_metric(label, status.get("rate") or 0.0)
    yield from (memory, rate)


def _partitions(statuses: Sequence[Status]) -> Iterator[Metric]:
    known = {
        "offset": ("offset", "Next record of a partition to be learned"),
        "lag": ("lag", "Records of a partition that are not read yet"),
        "age_seconds": ("age", "Age of the last record read from a partition"),
    }
    for name, (key, text) in known.items():
        family = GaugeMetricFamily(f"anabranch_source_{name}", text, labels=["topic", "partition"])
        for status in statuses:
            for part_name, part in status.get("partitions", {}).items():
                value = part.get(key)
                if value is not None:
                    topic, _, number = part_name.rpartition(":")
                    family.add_metric([topic, number], value)
        yield family


def _outputs(statuses: Sequence[Status]) -> Iterator[Metric]:
    sent = CounterMetricFamily(
        "anabranch_output_records", "Records acknowledged by the brokers", labels=["topic"]
    )
    queued = GaugeMetricFamily(
        "anabranch_output_queued", "Records not acknowledged yet", labels=["topic"]
    )
    for family, key in ((sent, "sent"), (queued, "queued")):
        sums: dict[str, float] = {}
        for status in statuses:
            for topic, output in status.get("outputs", {}).items():
                sums[topic] = sums.get(topic, 0.0) + output[key]
        for topic, value in sums.items():
            family.add_metric([topic], value)
        yield family


def _measures(statuses: Sequence[Status]) -> Iterator[Metric]:
    """Give what learners tell of themselves by name alone: nodes may be many."""
    largest = GaugeMetricFamily(
        "anabranch_measure_max",
        "The largest of the numbers that nodes tell of themselves",
        labels=["measure"],
    )
    mean = GaugeMetricFamily("anabranch_measure_mean", "The mean of them", labels=["measure"])
    told = [status.get("measures", {}) for status in statuses]
    for name in sorted({name for measures in told for name in measures}):
        parts = [measures[name] for measures in told if name in measures]
        largest.add_metric([name], max(part["max"] for part in parts))
        nodes = sum(part["nodes"] for part in parts)
        mean.add_metric([name], sum(part["sum"] for part in parts) / nodes)
    diverging = sum(len(status.get("diverging", ())) for status in statuses)
    yield from (largest, mean)
    yield GaugeMetricFamily(
        "anabranch_diverging_nodes", "Nodes whose parameters diverge", value=diverging
    )


def _sites(statuses: Sequence[Status]) -> Iterator[Metric]:
    silent = GaugeMetricFamily(
        "anabranch_site_silent_seconds", "Time since a site was heard", labels=["site"]
    )
    refused = CounterMetricFamily(
        "anabranch_refused_messages", "Messages that were refused", labels=["reason"]
    )
    reasons: dict[str, int] = {}
    heard: dict[str, float] = {}
    for status in statuses:
        for site, known in status.get("sites", {}).items():
            heard[site] = min(known["silent"], heard.get(site, known["silent"]))
        for reason, count in status.get("refused", {}).items():
            reasons[reason] = reasons.get(reason, 0) + count
    for site, seconds in heard.items():
        silent.add_metric([site], seconds)
    for reason, count in reasons.items():
        refused.add_metric([reason], count)
    yield from (silent, refused)
