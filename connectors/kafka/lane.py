"""One consumer and its thread, which fills the feeds of some partitions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Event, Thread
from time import monotonic
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import (
    AuthorizationError,
    KafkaError,
    LogTruncationError,
    OffsetOutOfRangeError,
    RetriableError,
    UnknownBrokerIdError,
)

from anabranch.errors import ConfigurationError
from connectors.kafka.clients import open_consumer
from connectors.kafka.expired import Expired
from connectors.kafka.feed import Feed
from connectors.kafka.refusals import LOGIN_REFUSED
from connectors.kafka.settings import KafkaSettings
from connectors.records import SourceError

__all__ = ["Lane", "LaneOptions"]

_RECORDS_A_POLL = 500
_WAIT = 100
"""Milliseconds to wait for records."""
_WAIT_WHILE_FULL = 10
"""The same while a full feed may get hungry."""
_SWEEP = 1.0
"""Seconds after which to look for partitions that stand before what is no record."""
_AGAIN = 0.5
"""Seconds after which to try again when the brokers did not answer."""
_LOST = (
    "records that were read are not there any more: the topic was made anew, or brokers lost"
    " them; start anew in another run directory"
)


@dataclass(frozen=True, slots=True)
class LaneOptions:
    """How a lane reads.

    Attributes
    ----------
    settings : how to reach the brokers
    fetch : bytes to fetch of a partition at once
    fetch_all : bytes to fetch of all partitions at once
    expired : what to do when the next record is not there any more
    retry : seconds after which an unreadable partition is tried again
    """

    settings: KafkaSettings
    fetch: int
    fetch_all: int
    expired: Expired
    retry: float


class Lane(Thread):
    """Reads partitions by one consumer, into their feeds.

    A full feed's partition is taken from the consumer, and given back, from where it was, when
    the feed has room: so a slow job holds no more than its feeds. (To pause it would do, but
    kafka-python 3.0 never returns from a poll when a paused partition had a corrupt batch.)

    What cannot be decoded is one partition's fault, but the client does not say whose. A lane of
    several then gives half of them away, until the one is alone, which waits and tries again.

    Parameters
    ----------
    options : how to read
    feeds : the partitions
    split : starts a lane for half of a lane's feeds; False when it has only one
    """

    def __init__(
        self, options: LaneOptions, feeds: Sequence[Feed], split: Callable[["Lane"], bool]
    ) -> None:
        super().__init__(name=f"kafka {feeds[0].name}", daemon=True)
        self.wake = Event()
        self.feeds: list[Feed] = []
        self._options, self._split = options, split
        self._stopping = False
        self._consumer: KafkaConsumer | None = None
        self._assigned: set[TopicPartition] = set()
        self._swept = 0.0
        for feed in feeds:
            self.adopt(feed)

    def adopt(self, feed: Feed) -> None:
        """Take on a partition."""
        feed.wake = self.wake
        self.feeds = [*self.feeds, feed]
        self.wake.set()

    def halve(self) -> list[Feed]:
        """Let go of half of the partitions, and give them."""
        half = (len(self.feeds) + 1) // 2
        self.feeds, apart = self.feeds[:half], self.feeds[half:]
        return apart

    def stop(self) -> None:
        """End the thread, soon."""
        self._stopping = True
        self.wake.set()

    def run(self) -> None:
        """Read until told to stop."""
        try:
            while not self._stopping:
                hungry = [feed for feed in self.feeds if feed.hungry()]
                if hungry:
                    self._turn(hungry)
                else:
                    self._rest(1.0)
            self._close()
        except Exception as error:  # or the job would wait for ever
            self._fail(self.feeds, f"its reader broke down, {type(error).__name__}: {error}")

    def _turn(self, hungry: list[Feed]) -> None:
        """Read once. After any failure the consumer is given up: it may not be sound."""
        try:
            self._read(hungry)
        except (RetriableError, UnknownBrokerIdError):
            self._close()
            self._rest(_AGAIN)
        except ConfigurationError as error:
            self._close()
            self._fail(hungry, str(error))
        except OffsetOutOfRangeError as error:
            self._close()
            self._move(error.args[0])
        except (LogTruncationError, AuthorizationError, *LOGIN_REFUSED) as error:
            self._close()
            self._refuse(hungry, error)
        except Exception as error:  # whatever a decoder raises at bytes that others wrote
            self._close()
            self._poisoned(error)

    def _read(self, hungry: list[Feed]) -> None:
        consumer = self._consumer = self._consumer or self._open()
        self._assign(consumer, hungry)
        wait = _WAIT_WHILE_FULL if any(feed.full for feed in self.feeds) else _WAIT
        found = consumer.poll(timeout_ms=wait, max_records=_RECORDS_A_POLL)
        for feed in hungry:
            records = found.get(feed.place)
            if records:
                feed.put(records, records[-1].offset + 1, consumer.highwater(feed.place))
        if not found or monotonic() - self._swept > _SWEEP:
            self._sweep(consumer, hungry)

    def _open(self) -> KafkaConsumer:
        options = self._options
        return open_consumer(
            options.settings,
            max_partition_fetch_bytes=options.fetch,
            fetch_max_bytes=options.fetch_all,
        )

    def _assign(self, consumer: KafkaConsumer, hungry: list[Feed]) -> None:
        wanted = {feed.place for feed in hungry}
        if wanted == self._assigned:
            return
        consumer.assign([feed.place for feed in hungry])
        for feed in hungry:
            if feed.place not in self._assigned:
                consumer.seek(feed.place, feed.fetched)
        self._assigned = wanted

    def _sweep(self, consumer: KafkaConsumer, hungry: list[Feed]) -> None:
        """Pass what is no record: marks of transactions, the rest of a compacted batch."""
        self._swept = monotonic()
        for feed in hungry:
            feed.end = end = consumer.highwater(feed.place)
            if feed.fetched < (end or 0):
                position = consumer.position(feed.place, timeout_ms=0)
                if position is not None and position > feed.fetched:
                    feed.put([], position, end)

    def _move(self, gone: Mapping[TopicPartition, int]) -> None:
        for feed in [feed for feed in self.feeds if feed.place in gone]:
            try:
                self._options.expired.handle(feed)
            except KafkaError:
                self._rest(_AGAIN)  # the next turn finds the offset gone again

    def _refuse(self, hungry: list[Feed], error: Any) -> None:
        settings = self._options.settings
        who = settings.username or "this client"
        if isinstance(error, LogTruncationError):
            cut = [feed for feed in hungry if feed.place in error.divergent_offsets]
            self._fail(cut, _LOST)
        elif isinstance(error, AuthorizationError):
            denied = error.args[0] if error.args else {feed.place.topic for feed in hungry}
            self._fail(
                [feed for feed in hungry if feed.place.topic in denied],
                f"{who!r} may not read the topic: allow it the operation Read, then resume the job",
            )
        else:
            self._fail(hungry, f"the brokers refuse the login of {who!r}: check the password")

    def _fail(self, feeds: list[Feed], why: str) -> None:
        for feed in feeds:
            feed.fail(SourceError(f"partition {feed.name} cannot be read any more: {why}"))

    def _poisoned(self, error: Exception) -> None:
        if self._split(self):
            return
        feed = self.feeds[0]
        feed.error = (
            f"partition {feed.name} cannot be decoded at offset {feed.fetched}:"
            f" {type(error).__name__}: {error}; tried again every {self._options.retry:g} s"
        )
        self._rest(self._options.retry)

    def _rest(self, seconds: float) -> None:
        if not self._stopping:
            self.wake.wait(seconds)
            self.wake.clear()

    def _close(self) -> None:
        consumer, self._consumer = self._consumer, None
        self._assigned = set()
        if consumer is not None:
            consumer.close(autocommit=False, timeout_ms=1000)
