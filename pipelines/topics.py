"""What of a job has to do with topics; a job without any needs no Kafka client."""

from typing import TYPE_CHECKING, Any, Protocol

from msgspec.structs import replace

from anabranch.errors import ConfigurationError
from pipelines.config import Job
from pipelines.run_dir import RunDirectory

if TYPE_CHECKING:
    from operators.hub import Hub
    from operators.node_plan import NodePlan
    from operators.sites import ParameterLink
    from pipelines.gauges import Gauges
    from pipelines.positions import Positions
    from pipelines.sources import JobSource

__all__ = ["NoTopics", "Topics", "open_topics", "settle", "topics_of"]


class Topics(Protocol):
    """The topics of a job, as one of its processes uses them."""

    def source(self, job: Job) -> "JobSource":
        """Give the source of the job's topics."""
        ...

    def sink(self, kind: str, topic: str) -> Any:
        """Give the sink of a topic for predictions, scores, alarms or dead_letters."""
        ...

    def link(self, plan: "NodePlan", source: "JobSource") -> "ParameterLink | None":
        """Give the way to the other sites, if there are any."""
        ...

    def gauges(self, hub: "Hub") -> "Gauges":
        """Give what the process tells of itself."""
        ...


class NoTopics:
    """A job without topics."""

    def source(self, job: Job) -> "JobSource":
        """Refuse: there is none."""
        raise ConfigurationError(f"source.kind is {job.source.kind!r}; it must be kafka")

    def sink(self, kind: str, topic: str) -> Any:
        """Refuse: there is none."""
        raise ConfigurationError(f"output.{kind} is kafka:{topic}; the job must have topics")

    def link(self, plan: "NodePlan", source: "JobSource") -> None:
        """Give none."""
        return

    def gauges(self, hub: "Hub") -> "Gauges":
        """Give the process's own figures."""
        from pipelines.gauges import Gauges

        return Gauges(hub)


def open_topics(job: Job, process: int) -> Topics:
    """Give the topics of a job whose positions are in its run directory.

    Raises
    ------
    ConfigurationError
        Their positions are missing or damaged, or the Kafka client is not installed.
    """
    if not job.uses_topics:
        return NoTopics()
    _need_client()
    from pipelines.positions import read_positions

    return topics_of(job, process, read_positions(RunDirectory.of(job).positions))


def topics_of(job: Job, process: int, positions: "Positions | None") -> Topics:
    """Give the topics of a job from where it begins in them; None for a job without any."""
    if positions is None:
        return NoTopics()
    from pipelines.kafka_topics import KafkaTopics

    return KafkaTopics(job, process, positions)


def settle(job: Job, resumed: RunDirectory | None, *, make: bool = True) -> "Positions | None":
    """Settle where a job begins and ends in its topics, by asking the brokers.

    Parameters
    ----------
    resumed : the run that is continued, or None for a new one
    make : whether topics that the job writes are made where they are missing

    Raises
    ------
    ConfigurationError
        The brokers do not answer or refuse, or a topic cannot be used; or the Kafka client
        is not installed.
    """
    if not job.uses_topics:
        return None
    _need_client()
    from pipelines.positions import extend_positions, find_positions, make_topics, read_positions

    limits = make_topics(job) if make else {}
    if resumed is None:
        found = find_positions(job, sites=make)
    else:
        found = extend_positions(job, read_positions(resumed.positions))
    return replace(found, limits=limits)


def _need_client() -> None:
    try:
        import kafka  # noqa: F401 - only whether it is there
    except ImportError:
        raise ConfigurationError(
            "the job has topics, for which the Kafka client is needed; install anabranch[kafka]"
        ) from None
