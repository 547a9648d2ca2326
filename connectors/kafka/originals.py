"""The records that dead letters were made of."""

import time
from dataclasses import dataclass, field
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError, OffsetOutOfRangeError

from anabranch.stream import DeadLetter
from connectors.kafka.admin import topic_exists
from connectors.kafka.clients import open_consumer
from connectors.kafka.producer import Record
from connectors.kafka.ranges import topic_of
from connectors.kafka.settings import KafkaSettings
from connectors.records import SourceError

__all__ = ["Found", "Originals"]

_FETCH = 1 << 16
_POLL_MS = 200
_LONGEST = 30.0


@dataclass(frozen=True, slots=True)
class Found:
    """A dead letter and where it stood.

    Attributes
    ----------
    letter : the dead letter
    at : "topic:partition:offset" of it, or file and line
    whole : whether it holds all of the record it was made of
    """

    letter: DeadLetter
    at: str
    whole: bool


@dataclass
class Originals:
    """Finds dead letters' records: in the letters, or in the topic they came from.

    >>> letter = DeadLetter("malformed", "no", "a", "a:1", 7, b"{", b"k", (("h", b"1"),))
    >>> Originals(KafkaSettings(("localhost:9092",))).find(Found(letter, "dead:0:3", True))
    Record(key=b'k', value=b'{', headers=[('h', b'1')], time=None)
    """

    settings: KafkaSettings
    _consumer: KafkaConsumer | None = field(default=None, repr=False)
    _there: dict[str, bool] = field(default_factory=dict, repr=False)

    def find(self, found: Found) -> Record | None:
        """Give a dead letter's record; None where its topic has it no more.

        Raises
        ------
        SourceError
            The brokers do not answer or refuse.
        """
        letter = found.letter
        if found.whole:
            return Record(letter.key, letter.raw, list(letter.headers), None)
        place = TopicPartition(*topic_of(letter.partition))
        if not self._exists(place.topic):
            return None
        try:
            record = self._fetch(place, letter.position)
        except OffsetOutOfRangeError:
            return None
        except KafkaError as error:
            raise SourceError(
                f"the brokers at {self.settings.addresses} do not let {place.topic!r} be read:"
                f" {error}"
            ) from None
        if record is None or record.value is None:
            return None
        return Record(record.key, record.value, list(record.headers), None)

    def close(self) -> None:
        """End the connection."""
        if self._consumer is not None:
            self._consumer.close()

    def _exists(self, topic: str) -> bool:
        if topic not in self._there:
            self._there[topic] = topic_exists(self.settings, topic) is not False
        return self._there[topic]

    def _fetch(self, place: TopicPartition, offset: int) -> Any:
        """Read one record; None where there is none of this offset."""
        if self._consumer is None:
            self._consumer = open_consumer(
                self.settings, max_poll_records=1, max_partition_fetch_bytes=_FETCH
            )
        consumer = self._consumer
        # Letters come in the order of their records, so often the next one is at hand.
        if consumer.assignment() != {place} or consumer.position(place) != offset:
            consumer.assign([place])
            consumer.seek(place, offset)
        deadline = time.monotonic() + _LONGEST
        while consumer.position(place) <= offset:
            for record in consumer.poll(timeout_ms=_POLL_MS).get(place, ()):
                return record if record.offset == offset else None
            if time.monotonic() > deadline:
                raise SourceError(
                    f"the brokers at {self.settings.addresses} do not give record {offset} of"
                    f" {place.topic}:{place.partition} in {_LONGEST:g} s"
                )
        return None
