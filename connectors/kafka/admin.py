"""The topics a job writes to: there before it starts, and what they take."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import (
    AuthorizationError,
    KafkaError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
    for_code,
)

from anabranch.errors import ConfigurationError
from connectors.kafka.clients import asking
from connectors.kafka.settings import KafkaSettings

__all__ = ["TopicSpec", "ensure_topics", "message_limit", "topic_exists"]

_USUAL_LIMIT = 1_048_588
"""Kafka's own default for max.message.bytes; `LIMIT` of the producer is what it leaves."""


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """What a topic is made with, where it is not there yet.

    Attributes
    ----------
    partitions : how many; None leaves it to the brokers
    retention : seconds that records are kept; None leaves it to the brokers
    replication : copies of each record; None leaves it to the brokers
    options : further settings by Kafka's names, such as {"cleanup.policy": "compact"}

    >>> TopicSpec(partitions=4, retention=3600).request()["configs"]
    {'retention.ms': '3600000'}
    """

    partitions: int | None = None
    retention: float | None = None
    replication: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def request(self) -> dict[str, Any]:
        """Give what the client asks the brokers for."""
        kept = {} if self.retention is None else {"retention.ms": str(int(self.retention * 1000))}
        return {
            "num_partitions": -1 if self.partitions is None else self.partitions,
            "replication_factor": -1 if self.replication is None else self.replication,
            "configs": {**kept, **self.options},
        }


def ensure_topics(settings: KafkaSettings, topics: Mapping[str, TopicSpec]) -> None:
    """Make the topics that are missing, leave the others as they are; check that all take records.

    Raises
    ------
    ConfigurationError
        No broker answers, the login is refused, or a topic may not be made or written.
    """
    if not topics:
        return
    with asking(settings) as admin:
        missing = {
            topic: topics[topic].request()
            for topic, state in _states(admin, topics).items()
            if for_code(state["error_code"]) is UnknownTopicOrPartitionError
        }
        if missing:
            _create(admin, settings, missing)
        for topic, state in _states(admin, topics).items():
            _check(settings, topic, state)


def topic_exists(settings: KafkaSettings, topic: str) -> bool | None:
    """Tell whether the brokers have a topic; None when they do not say."""
    try:
        with asking(settings) as admin:
            error = for_code(_states(admin, [topic])[topic]["error_code"])
    except ConfigurationError:
        return None
    return error is not UnknownTopicOrPartitionError


def message_limit(settings: KafkaSettings, topic: str) -> int:
    """Give how long a record of a topic may be, in bytes of key, value and headers.

    A twentieth of max.message.bytes is left for the framing. Where this client may not ask, the
    topic is taken to have Kafka's default.

    Raises
    ------
    ConfigurationError
        No broker answers, or the login is refused.
    """
    with asking(settings) as admin:
        try:
            found = admin.describe_configs(
                [ConfigResource(ConfigResourceType.TOPIC, topic)], config_filter="all"
            )
            size = int(found["topic"][topic]["max.message.bytes"]["value"])
        except (AuthorizationError, KeyError):
            size = _USUAL_LIMIT
    return size - max(size // 20, 256)


def _states(admin: KafkaAdminClient, topics: Any) -> dict[str, dict[str, Any]]:
    return {state["name"]: state for state in admin.describe_topics(list(topics))}


def _create(
    admin: KafkaAdminClient, settings: KafkaSettings, missing: Mapping[str, dict[str, Any]]
) -> None:
    made = admin.create_topics(dict(missing), raise_errors=False)
    for state in made["topics"]:
        error = for_code(state["error_code"])
        if state["error_code"] and error is not TopicAlreadyExistsError:
            raise _cannot_make(settings, state["name"], error, state.get("error_message"))
    admin.wait_for_topics(list(missing), timeout_ms=settings.timeout * 1000)


def _cannot_make(
    settings: KafkaSettings, topic: str, error: type[KafkaError], message: str | None
) -> ConfigurationError:
    if issubclass(error, AuthorizationError):
        return ConfigurationError(
            f"topic {topic!r} is not there and may not be made by"
            f" {settings.username or 'this client'!r}: make it, or allow the operation Create"
        )
    return ConfigurationError(f"topic {topic!r} cannot be made: {message or _why(error)}")


def _check(settings: KafkaSettings, topic: str, state: Mapping[str, Any]) -> None:
    error = for_code(state["error_code"])
    allowed = state.get("authorized_operations")
    if issubclass(error, AuthorizationError) or (allowed and "WRITE" not in allowed):
        raise ConfigurationError(
            f"topic {topic!r} may not be written by {settings.username or 'this client'!r}:"
            " allow it the operation Write, or name another topic"
        )
    if state["error_code"]:
        raise ConfigurationError(f"topic {topic!r} cannot be written: {_why(error)}")


def _why(error: type[KafkaError]) -> str:
    return getattr(error, "description", None) or error.__name__
