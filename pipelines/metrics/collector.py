"""Every metric of a job, at each scrape anew."""

from collections.abc import Callable, Iterator

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from anabranch.evaluation import EVALUATIONS
from anabranch.learners import LEARNERS
from pipelines.config import Job
from pipelines.metrics.events import event_metrics
from pipelines.metrics.families import Labels, gauge, gauge_by
from pipelines.metrics.nodes import Headline, node_metrics
from pipelines.metrics.places import place_metrics
from pipelines.metrics.processes import process_metrics
from pipelines.metrics.scores import score_metrics
from pipelines.metrics.seen import Seen

__all__ = ["JobCollector"]

_STATES = ("green", "yellow", "red")


class JobCollector(Collector):
    """Make metrics of what the processes wrote last.

    Parameters
    ----------
    job : what is run
    read : gives what they wrote

    Notes
    -----
    The number of series depends on the job's partitions, topics, sites, processes, companions and
    scores, and not on how long it has run. Of nodes and edges `monitor.worst` are told one by one.
    """

    def __init__(self, job: Job, read: Callable[[], Seen]) -> None:
        scores = EVALUATIONS[LEARNERS[job.learner.kind].task].bigger_is_better
        self._headline = Headline(*next(iter(scores.items())))
        self._worst = job.monitor.worst
        self._read = read

    def collect(self) -> Iterator[Metric]:
        """Give every metric as it stands."""
        seen = self._read()
        states: dict[Labels, float] = {(name,): float(name == seen.state) for name in _STATES}
        yield gauge_by("health", "1 for the state the job is in.", ("state",), states)
        yield from process_metrics(seen)
        yield from place_metrics(seen)
        yield from event_metrics(seen)
        yield from node_metrics(seen, self._headline, self._worst)
        yield from score_metrics(seen.scores)
        age, size = seen.snapshot or (None, None)
        yield gauge("snapshot_age_seconds", "Time since the last snapshot.", age)
        yield gauge("snapshot_bytes", "Size of the folder of snapshots.", size)
