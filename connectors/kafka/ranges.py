"""Where a job begins in its topics and, if it is to end, where it ends."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kafka import IsolationLevel, KafkaAdminClient, OffsetSpec, TopicPartition
from kafka.errors import AuthorizationError, UnknownTopicOrPartitionError, for_code

from anabranch.errors import ConfigurationError
from connectors.kafka.clients import asking
from connectors.kafka.settings import KafkaSettings

__all__ = [
    "Range",
    "added_ranges",
    "partition_name",
    "resolve_ranges",
    "topic_ids",
    "topic_of",
]

_HEARSAY = 2.0
"""Seconds in which a topic that nobody knows may still be heard of."""


@dataclass(frozen=True, slots=True)
class Range:
    """What a job reads of one partition.

    Attributes
    ----------
    start : the first offset
    end : the offset before which it ends; None: never
    first_tick : number of the tick that holds `start`

    >>> Range(7, end=7)  # nothing
    Range(start=7, end=7, first_tick=0)
    """

    start: int
    end: int | None = None
    first_tick: int = 0


def partition_name(topic: str, number: int) -> str:
    """Name a partition.

    >>> partition_name("bearings", 3)
    'bearings:3'
    """
    return f"{topic}:{number}"


def topic_of(partition: str) -> tuple[str, int]:
    """Give the topic and number of a partition's name.

    >>> topic_of("bearings:3")
    ('bearings', 3)
    """
    topic, _, number = partition.rpartition(":")
    return topic, int(number)


def resolve_ranges(
    settings: KafkaSettings, topics: Sequence[str], start: str, until_end: bool
) -> dict[str, Range]:
    """Ask where a new job begins in its topics, and where it ends.

    Parameters
    ----------
    settings : how to reach the brokers
    topics : their names
    start : "earliest", "latest", or a time such as "2026-01-31T12:00:00+00:00": at the first
        record of that time or later
    until_end : whether to end where the topics end now

    Returns
    -------
    A range for each partition, by topic in the order given, then by number.

    Raises
    ------
    ConfigurationError
        `start` is neither, no broker answers, the login is refused, or a topic is not there or
        may not be read.
    """
    spec = _spec(start)
    with asking(settings) as admin:
        places = _places(admin, settings, topics)
        ends = offsets(admin, places, OffsetSpec.LATEST)
        starts = offsets(admin, places, spec)
    return {
        partition_name(*place): Range(
            starts[place] if starts[place] >= 0 else ends[place],  # nothing is that young
            max(starts[place], ends[place]) if until_end else None,
        )
        for place in places
    }


def added_ranges(
    settings: KafkaSettings, topics: Sequence[str], known: Iterable[str]
) -> dict[str, Range]:
    """Give the partitions that topics have gained, from the earliest record they hold.

    Raises as `resolve_ranges` does.
    """
    names = set(known)
    with asking(settings) as admin:
        places = _places(admin, settings, topics)
        added = [place for place in places if partition_name(*place) not in names]
        starts = offsets(admin, added, OffsetSpec.EARLIEST)
    return {partition_name(*place): Range(starts[place]) for place in added}


def topic_ids(settings: KafkaSettings, topics: Sequence[str]) -> dict[str, str]:
    """Give the brokers' own id of each topic: one that is made anew has another.

    Raises as `resolve_ranges` does.
    """
    with asking(settings) as admin:
        states = _described(admin, topics)
        for topic in topics:
            _numbers(settings, topic, states[topic])
        return {topic: str(states[topic].get("topic_id") or "") for topic in topics}


def offsets(
    admin: KafkaAdminClient, places: Sequence[TopicPartition], spec: int
) -> dict[TopicPartition, int]:
    """Ask for an offset of each partition; -1 where there is none of that time."""
    found = admin.list_partition_offsets(
        dict.fromkeys(places, spec), isolation_level=IsolationLevel.READ_COMMITTED
    )
    return {place: found[place].offset for place in places}


def _spec(start: str) -> int:
    if start in ("earliest", "latest"):
        return int(OffsetSpec.EARLIEST if start == "earliest" else OffsetSpec.LATEST)
    wanted = "allowed are 'earliest', 'latest', and a time such as '2026-01-31T12:00:00+00:00'"
    try:
        time = datetime.fromisoformat(start)
    except ValueError:
        raise ConfigurationError(f"source.start is {start!r}: {wanted}") from None
    if time.tzinfo is None:
        raise ConfigurationError(f"source.start is {start!r}, which has no time zone: {wanted}")
    if time.timestamp() < 0:
        raise ConfigurationError(f"source.start is {start!r}, which is before 1970: {wanted}")
    return round(time.timestamp() * 1000)


def _places(
    admin: KafkaAdminClient, settings: KafkaSettings, topics: Sequence[str]
) -> list[TopicPartition]:
    states = _described(admin, topics)
    return [
        TopicPartition(topic, number)
        for topic in topics
        for number in _numbers(settings, topic, states[topic])
    ]


def _described(admin: KafkaAdminClient, topics: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Ask for the state of topics, again for a while if one is missing.

    A broker of several hears of a topic a little after the one that made it.
    """
    deadline = time.monotonic() + _HEARSAY
    while True:
        states = {state["name"]: state for state in admin.describe_topics(list(topics))}
        errors = (for_code(state["error_code"]) for state in states.values())
        if UnknownTopicOrPartitionError not in errors or time.monotonic() > deadline:
            return states
        time.sleep(0.2)


def _numbers(settings: KafkaSettings, topic: str, state: Mapping[str, Any]) -> list[int]:
    """Give a topic's partitions, or say why it cannot be read."""
    error = for_code(state["error_code"])
    allowed = state.get("authorized_operations")
    if error is UnknownTopicOrPartitionError:
        raise ConfigurationError(
            f"source.topics names {topic!r}, which is not there: the brokers at"
            f" {settings.addresses} have no such topic"
        )
    if issubclass(error, AuthorizationError) or (allowed and "READ" not in allowed):
        raise ConfigurationError(
            f"source.topics names {topic!r}, which {settings.username or 'this client'!r} may not"
            " read: allow it the operations Describe and Read"
        )
    if state["error_code"]:
        raise ConfigurationError(
            f"source.topics names {topic!r}, which cannot be read: {error.__name__}"
        )
    for partition in state["partitions"]:
        if partition["leader_id"] < 0:
            raise ConfigurationError(
                f"partition {partition_name(topic, partition['partition_index'])} has no leader:"
                " the brokers that hold it are down; start them first"
            )
    return sorted(partition["partition_index"] for partition in state["partitions"])
