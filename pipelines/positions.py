"""Where a job begins and ends in its topics: settled once, when it is first started.

A job that dies before its first snapshot is started again from here, so `latest` and "until the
end" mean the same records in every attempt.
"""

from collections.abc import Mapping
from math import ceil
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from anabranch.errors import ConfigurationError
from connectors import named_features
from connectors.kafka import (
    KafkaSettings,
    Range,
    TopicSpec,
    added_ranges,
    ensure_topics,
    infer_topic_features,
    message_limit,
    resolve_ranges,
    speaks_for,
    topic_ids,
)
from pipelines.config import OUTPUTS, Connection, Job, Target
from pipelines.config.wording import show
from pipelines.records import record_format

__all__ = ["Positions", "extend_positions", "find_positions", "read_positions", "settings_of"]


class Positions(Struct, frozen=True):
    """The ranges of a job's partitions, in their order, and the features found there.

    Attributes
    ----------
    source : partitions of the source's topics
    parameters : partitions of the sites' topic
    features : names of X's columns; () where there are no topics
    limits : longest record of each topic that the job writes, in bytes
    ids : the brokers' ids of the topics that are read
    """

    source: dict[str, Range] = {}
    parameters: dict[str, Range] = {}
    features: tuple[str, ...] = ()
    limits: dict[str, int] = {}
    ids: dict[str, str] = {}

    def to_json(self) -> str:
        """Write them, for `read_positions`."""
        return msgspec.json.encode(self).decode()


def settings_of(connection: Connection, section: str) -> KafkaSettings:
    """Make a section's connection what the connectors take.

    Raises
    ------
    ConfigurationError
        Keys do not go together.
    """
    keys = {name: getattr(connection, name) for name in Connection.__struct_fields__}
    try:
        return KafkaSettings(**{**keys, "timeout": float(connection.timeout)})
    except ConfigurationError as error:
        raise ConfigurationError(str(error).replace("kafka.", f"{section}.")) from None


def make_topics(job: Job) -> dict[str, int]:
    """Make the topics that a job writes, where they are missing; give the longest record of each.

    Raises
    ------
    ConfigurationError
        The brokers do not answer or refuse.
    """
    texts = (getattr(job.output, key) for key in OUTPUTS)
    targets = [Target.of(text) for text in texts if text]
    own = {target.name: TopicSpec() for target in targets if target.topic}
    limits = _make(settings_of(job.kafka, "kafka"), own) if own else {}
    sites = job.sites
    if job.exchange.transport == "kafka":
        spec = TopicSpec(partitions=sites.partitions, retention=float(sites.retention))
        limits |= _make(settings_of(sites, "sites"), {str(sites.topic): spec})
    return limits


def _make(settings: KafkaSettings, topics: dict[str, TopicSpec]) -> dict[str, int]:
    ensure_topics(settings, topics)
    return {topic: message_limit(settings, topic) for topic in topics}


def find_positions(job: Job, *, sites: bool = True) -> Positions:
    """Ask the brokers where a new job begins.

    Parameters
    ----------
    sites : whether to look into the topic of the sites, which must be there then

    Raises
    ------
    ConfigurationError
        The brokers do not answer or refuse, a topic is not there or does not tell its features,
        or the sites' topic holds messages of this site from an earlier job of the same name.
    """
    found = Positions(parameters=_parameters(job) if sites else {}, ids=_ids(job) if sites else {})
    source = job.source
    if source.kind != "kafka":
        return found
    settings = settings_of(job.kafka, "kafka")
    ranges = resolve_ranges(settings, source.topics, source.start, source.until_end)
    features = _features(job, settings, ranges)
    return replace(found, source=ranges, features=features)


def extend_positions(job: Job, known: Positions) -> Positions:
    """Take up the partitions that a resumed job's topics have gained.

    In synchronous time a partition joins at a tick that no node can have reached: beyond all
    that the older partitions hold by now.

    Raises
    ------
    ConfigurationError
        The brokers do not answer or refuse, or a topic is not the one it was.
    """
    _check_ids(_ids(job), known.ids)
    source = job.source
    if source.kind != "kafka" or source.until_end:
        return known
    settings = settings_of(job.kafka, "kafka")
    added = added_ranges(settings, source.topics, known.source)
    if not added:
        return known
    first = 0
    if job.exchange.mode == "synchronous":
        first = _beyond(job, known, resolve_ranges(settings, source.topics, "latest", False))
    joined = {name: Range(one.start, None, first) for name, one in added.items()}
    return replace(known, source={**known.source, **joined})


def _ids(job: Job) -> dict[str, str]:
    found: dict[str, str] = {}
    if job.source.kind == "kafka":
        found |= topic_ids(settings_of(job.kafka, "kafka"), job.source.topics)
    if job.exchange.transport == "kafka":
        found |= topic_ids(settings_of(job.sites, "sites"), (str(job.sites.topic),))
    return found


def _check_ids(now: Mapping[str, str], before: Mapping[str, str]) -> None:
    for topic, id in before.items():
        if now.get(topic) != id:
            raise ConfigurationError(
                f"topic {topic!r} was deleted and made anew since the job was begun: its offsets "
                "are not those of the snapshots; begin anew in another run directory"
            )


def _beyond(job: Job, known: Positions, ends: Mapping[str, Range]) -> int:
    return max(
        one.first_tick + ceil((ends[name].start - one.start) / job.source.rows_per_tick)
        for name, one in known.source.items()
    )


def _features(job: Job, settings: KafkaSettings, ranges: dict[str, Range]) -> tuple[str, ...]:
    source, form = job.source, record_format(job)
    found = named_features(form, source.format) or infer_topic_features(
        settings, ranges, form, source.format
    )
    if not found and source.columns_in_all is None:
        raise ConfigurationError(
            f"source.features is none, and {', '.join(source.topics)} has no record yet that "
            "names them; it must name them"
        )
    return found or ()


def _parameters(job: Job) -> dict[str, Range]:
    """A new job reads the sites' topic from its beginning: others may have begun before."""
    sites = job.sites
    if job.exchange.transport != "kafka":
        return {}
    topic = str(sites.topic)
    settings = settings_of(sites, "sites")
    ranges = resolve_ranges(settings, (topic,), "earliest", True)
    if speaks_for(settings, ranges, str(sites.run), frozenset(job.hosted)):
        raise ConfigurationError(
            f"sites.run is {show(sites.run)}, and topic {topic} holds messages of "
            f"site {show(sites.here)} from a job of that name; choose another at all sites, or "
            "give --resume to continue it"
        )
    return {name: Range(one.start) for name, one in ranges.items()}


def read_positions(file: Path) -> Positions:
    """Read what was settled when the job was first started.

    Raises
    ------
    ConfigurationError
        The file is missing or damaged.
    """
    try:
        return msgspec.json.decode(file.read_bytes(), type=Positions)
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise ConfigurationError(f"{file} is damaged: {error}") from None
