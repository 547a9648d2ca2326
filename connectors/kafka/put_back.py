"""Dead letters' originals, written to their topics again."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from anabranch.errors import ConfigurationError
from anabranch.stream import DeadLetter
from connectors.kafka.admin import message_limit, topic_exists
from connectors.kafka.letter_codec import LETTER_REASONS
from connectors.kafka.originals import Found, Originals
from connectors.kafka.place import place_of
from connectors.kafka.placed import PlacingProducer, count_partitions
from connectors.kafka.producer import Record
from connectors.kafka.settings import KafkaSettings
from connectors.kafka.sink_progress import SinkProgress

__all__ = ["REPLAYED", "PutBack", "replayed"]

REPLAYED = "anabranch.replayed-from"
"""Header of a record that was put back: where its dead letter stood."""

_CHUNK = 500


def replayed(record: Record, at: str) -> Record:
    """Mark a record as put back, once.

    >>> before = Record(None, b"1", [("h", b"x"), (REPLAYED, b"dead:0:1")], None)
    >>> replayed(before, "dead:0:9").headers
    [('h', b'x'), ('anabranch.replayed-from', b'dead:0:9')]
    """
    kept = [header for header in record.headers if header[0] != REPLAYED]
    return record._replace(headers=[*kept, (REPLAYED, at.encode())])


@dataclass
class _Outlet:
    """One topic that records are put back to."""

    partitions: int
    producer: PlacingProducer
    progress: SinkProgress
    records: list[Record] = field(default_factory=list)
    places: list[int | None] = field(default_factory=list)

    def send(self) -> None:
        self.producer.place(self.records, self.places)
        self.records, self.places = [], []


class PutBack:
    """Writes the originals of dead letters to topics, and counts them.

    A record goes to the partition it came from, or by its key where that is not there or the
    topic is another.

    Parameters
    ----------
    settings : how to reach the brokers
    to : the topic for all; None: where each came from
    dry_run : look for the originals and count, but write nothing

    Attributes
    ----------
    sent : how many were put back, by reason and topic
    left : how many could not be, by reason and why
    """

    def __init__(
        self, settings: KafkaSettings, to: str | None = None, *, dry_run: bool = False
    ) -> None:
        self._settings, self._to, self._dry_run = settings, to, dry_run
        self._originals = Originals(settings)
        self._outlets: dict[str, _Outlet] = {}
        self.sent: Counter[tuple[str, str]] = Counter()
        self.left: Counter[tuple[str, str]] = Counter()

    def __enter__(self) -> "PutBack":
        return self

    def __exit__(self, *error: object) -> None:
        self._originals.close()
        for outlet in self._outlets.values():
            outlet.producer.close()

    @property
    def stalled(self) -> str | None:
        """A sentence while records wait for brokers that are away."""
        waiting = [outlet.progress for outlet in list(self._outlets.values())]
        return next((p.error for p in waiting if p.error and not p.failure), None)

    def take(self, letters: Iterable[Found]) -> None:
        """Put back what dead letters were made of; it has been acknowledged on return.

        Raises
        ------
        ConfigurationError
            A topic is not there.
        SourceError
            The brokers refuse, or are away too long.
        """
        left: Iterator[Found] = iter(letters)
        while chunk := list(islice(left, _CHUNK)):
            for found in chunk:
                self._take_one(found)
            for outlet in self._outlets.values():
                outlet.send()
        for outlet in self._outlets.values():
            outlet.producer.flush()

    def _take_one(self, found: Found) -> None:
        letter, came_from = found.letter, _topic_of(found.letter)
        topic = self._to or came_from
        if letter.reason in LETTER_REASONS:
            self.left[letter.reason, "parameters of a site are no samples"] += 1
            return
        if topic is None or not (found.whole or came_from):
            self.left[letter.reason, "it came from no topic"] += 1
            return
        original = self._originals.find(found)
        if original is None:
            self.left[letter.reason, "its topic has it no more"] += 1
            return
        self.sent[letter.reason, topic] += 1
        if self._dry_run:
            return
        outlet = self._outlets.get(topic) or self._open(topic)
        number = place_of(letter.partition).number
        stays = topic == came_from and number < outlet.partitions
        outlet.records.append(replayed(original, found.at))
        outlet.places.append(number if stays else None)

    def _open(self, topic: str) -> _Outlet:
        settings = self._settings
        if topic_exists(settings, topic) is False:
            raise ConfigurationError(
                f"topic {topic!r} is not there: make it, or name another by --to"
            )
        progress = SinkProgress(topic)
        producer = PlacingProducer(settings, topic, progress, message_limit(settings, topic))
        producer.open()
        outlet = _Outlet(count_partitions(settings, topic), producer, progress)
        self._outlets[topic] = outlet
        return outlet


def _topic_of(letter: DeadLetter) -> str | None:
    """Give the topic a dead letter's record came from; None when that was no topic."""
    place = place_of(letter.partition)
    is_topic = place.topic == letter.source and place.topic != letter.partition
    return place.topic if is_topic else None
