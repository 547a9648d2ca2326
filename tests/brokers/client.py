"""What tests do with a broker: make topics, write, read, take records away."""

import time
import uuid
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition

__all__ = ["Broker", "Kafka", "fresh_name"]

Headers = Sequence[tuple[str, bytes]]


class Broker(Protocol):
    """A broker process of either kind."""

    @property
    def kind(self) -> str:
        """Which: "apache" or "tansu"."""

    @property
    def brokers(self) -> list[str]:
        """Addresses, host:port, plain text."""


def fresh_name(prefix: str = "topic") -> str:
    """Give a topic name that nobody has used."""
    return f"{prefix}-{uuid.uuid4().hex[:10]}"


class Kafka:
    """A broker, seen by tests.

    Attributes
    ----------
    broker : what runs it; `start`, `stop`, `kill`, `restart`, `freeze`, `thaw` where it is private
    brokers : addresses, host:port
    kind : "apache" or "tansu"
    """

    def __init__(self, broker: Any) -> None:
        self.broker = broker
        self.brokers: list[str] = list(broker.brokers)
        self.kind: str = broker.kind

    def admin(self) -> AbstractContextManager[Any]:
        """Give an admin client, to be used by `with`."""
        return KafkaAdminClient(bootstrap_servers=self.brokers)

    def topic(self, partitions: int = 1, *, name: str | None = None, **config: str) -> str:
        """Make a topic, freshly named unless named; settings with _ for each dot."""
        name = name or fresh_name()
        settings = {key.replace("_", "."): str(value) for key, value in config.items()}
        with KafkaAdminClient(bootstrap_servers=self.brokers) as admin:
            wanted = {name: {"num_partitions": partitions, "configs": settings}}
            if self.kind == "tansu":
                wanted[name]["replication_factor"] = 1
            admin.create_topics(wanted, wait_for_metadata=True)
        self._await_everywhere(name)
        return name

    def _await_everywhere(self, topic: str) -> None:
        """Wait until every broker knows a topic: one of several hears of it a little later."""
        for address in self.brokers if len(self.brokers) > 1 else ():
            with KafkaAdminClient(bootstrap_servers=[address]) as admin:
                admin.wait_for_topics([topic])

    def topics(self) -> set[str]:
        """Give the names of all topics."""
        with KafkaAdminClient(bootstrap_servers=self.brokers) as admin:
            return set(admin.list_topics())

    def delete(self, topic: str) -> None:
        """Delete a topic."""
        with KafkaAdminClient(bootstrap_servers=self.brokers) as admin:
            admin.delete_topics([topic])

    def grow(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions."""
        with KafkaAdminClient(bootstrap_servers=self.brokers) as admin:
            admin.create_partitions({topic: partitions})
            admin.wait_for_topics([topic])

    def expire(self, topic: str, partition: int, offset: int) -> None:
        """Take away the records before an offset, as retention does."""
        with KafkaAdminClient(bootstrap_servers=self.brokers) as admin:
            admin.delete_records({TopicPartition(topic, partition): offset})

    def produce(
        self,
        topic: str,
        values: Sequence[bytes | None],
        keys: Sequence[bytes | None] | None = None,
        partition: int | None = None,
        headers: Sequence[Headers] | None = None,
        timestamps: Sequence[int] | None = None,
    ) -> list[Any]:
        """Write records and wait for them; give where each went (`.partition`, `.offset`).

        Parameters
        ----------
        topic : it must be there
        values : None is a tombstone
        keys, headers, timestamps : one a value; timestamps in ms since 1970
        partition : all go there; without it, by key, or spread
        """
        sent = []
        # Tansu takes the first offset of the last batch for the last offset.
        batching = {"batch_size": 0} if self.kind == "tansu" else {"linger_ms": 5}
        with KafkaProducer(bootstrap_servers=self.brokers, **batching) as producer:
            for at, value in enumerate(values):
                further = {
                    "key": None if keys is None else keys[at],
                    "headers": None if headers is None else list(headers[at]),
                    "timestamp_ms": None if timestamps is None else timestamps[at],
                }
                sent.append(producer.send(topic, value, partition=partition, **further))
            return [future.get(timeout=60) for future in sent]

    def ends(self, topic: str) -> dict[int, int]:
        """Give the next offset of each partition of a topic."""
        with KafkaConsumer(bootstrap_servers=self.brokers, **_READING) as consumer:
            found = self._ends(consumer, _partitions(consumer, topic))
            return {place.partition: offset for place, offset in found.items()}

    def read(self, topic: str, count: int | None = None, timeout: float = 20) -> list[Any]:
        """Read a topic from its beginning; give its records by partition and offset.

        Parameters
        ----------
        topic : it must be there
        count : wait for that many; without it, all that are there now
        timeout : seconds; fewer records by then are an error
        """
        deadline = time.monotonic() + timeout
        with KafkaConsumer(bootstrap_servers=self.brokers, **_READING) as consumer:
            places = _partitions(consumer, topic)
            ends = self._ends(consumer, places)
            consumer.assign(places)
            consumer.seek_to_beginning(*places)
            found: list[Any] = []
            while not _is_enough(consumer, ends, len(found), count):
                if time.monotonic() > deadline:
                    raise AssertionError(f"{topic}: {len(found)} of {count or ends} in {timeout} s")
                for records in consumer.poll(timeout_ms=100).values():
                    found.extend(records)
        return sorted(found, key=lambda record: (record.partition, record.offset))

    def _ends(self, consumer: Any, places: list[Any]) -> dict[Any, int]:
        if self.kind != "tansu":
            found: dict[Any, int] = consumer.end_offsets(places)
            return found
        # Tansu counts to the first record of the last batch; what it sends tells the end.
        consumer.assign(places)
        consumer.seek_to_beginning(*places)
        while any(consumer.highwater(place) is None for place in places):
            consumer.poll(timeout_ms=100)
        return {place: consumer.highwater(place) for place in places}


_READING = {"enable_auto_commit": False, "group_id": None, "max_partition_fetch_bytes": 8 << 20}


def _is_enough(consumer: Any, ends: dict[Any, int], found: int, count: int | None) -> bool:
    if count is not None:
        return found >= count
    return all(consumer.position(place) >= end for place, end in ends.items())


def _partitions(consumer: Any, topic: str) -> list[Any]:
    numbers = consumer.partitions_for_topic(topic)
    if not numbers:
        raise AssertionError(f"there is no topic {topic}")
    return [TopicPartition(topic, number) for number in sorted(numbers)]
