"""The records of one partition, on their way from the brokers to the dataflow."""

from collections import deque
from collections.abc import Sequence
from operator import itemgetter
from threading import Event, Lock
from time import monotonic
from typing import Any

from kafka import TopicPartition

from connectors.kafka.ranges import partition_name
from connectors.records import SourceError

__all__ = ["Feed", "Record", "memory_of"]

Record = Any
"""A `ConsumerRecord` of kafka-python."""

_RECORD_BYTES = 600
"""What a record takes beyond its key, value and headers."""
_SIZES = itemgetter(10, 11, 12)
"""Serialised sizes of key, value and headers; -1 where there is none."""


def memory_of(records: Sequence[Record]) -> int:
    """Estimate the memory that records take, in bytes."""
    return sum(map(sum, map(_SIZES, records))) + _RECORD_BYTES * len(records)


class Feed:
    """A queue between the thread that reads a partition and the one that uses its records.

    Parameters
    ----------
    topic, number : the partition
    offset : where to begin
    until : the offset before which it ends, or None
    room : bytes it may hold; one turn of the reader may go beyond

    Attributes
    ----------
    fetched : offset of the next record to be fetched
    end : the partition's end as far as known, or None
    full : whether it has no room
    error : why it cannot be read just now, or None
    wake : set whenever there is room again after the feed was full

    >>> feed = Feed("bearings", 0, 7, None, 1 << 20)
    >>> feed.take(10), feed.position, feed.hungry()
    ([], 7, True)
    """

    def __init__(self, topic: str, number: int, offset: int, until: int | None, room: int) -> None:
        self.name = partition_name(topic, number)
        self.place = TopicPartition(topic, number)
        self.fetched = offset
        self.end: int | None = None
        self.error: str | None = None
        self.wake = Event()
        self._until, self._room = until, room
        self._failure: SourceError | None = None
        self._chunks: deque[tuple[list[Record], int, float]] = deque()
        self._at = 0
        self._bytes = 0
        self._given = offset
        self.full = False
        self._lock = Lock()

    @property
    def position(self) -> int:
        """The offset after all that was taken, and after what is no record behind it."""
        with self._lock:
            return self._given if self._chunks else max(self._given, self.fetched)

    @property
    def since(self) -> float | None:
        """When the next record to be taken came, by the monotonic clock; None without one."""
        with self._lock:
            return self._chunks[0][2] if self._chunks else None

    @property
    def ended(self) -> bool:
        """Whether everything before `until` was taken."""
        return self._until is not None and self.position >= self._until

    def hungry(self) -> bool:
        """Tell whether records should be fetched: there is room, and something to come.

        Once full, a feed wants nothing until half of its room is free.
        """
        with self._lock:
            self.full = self._bytes > (self._room // 2 if self.full else self._room)
            done = self._until is not None and self.fetched >= self._until
            return not (self.full or done or self._failure)

    def put(self, records: list[Record], position: int, end: int | None) -> None:
        """Add fetched records.

        Parameters
        ----------
        records : in order
        position : the offset to be fetched next
        end : where the partition ends, if known
        """
        if self._until is not None and records and records[-1].offset >= self._until:
            records = [record for record in records if record.offset < self._until]
        size = memory_of(records)
        with self._lock:
            if records:
                self._chunks.append((records, size, monotonic()))
            self._bytes += size
            self.fetched = position
            self.end = self.end if end is None else end
            self.error = None

    def take(self, most: int) -> list[Record]:
        """Give the next records, at most so many.

        Raises
        ------
        SourceError
            The partition cannot be read any more, and all that was read before was given.
        """
        taken: list[Record] = []
        with self._lock:
            while self._chunks and len(taken) < most:
                taken += self._next(most - len(taken))
            if self.full and self._bytes <= self._room // 2:
                self.wake.set()
            if taken:
                self._given = taken[-1].offset + 1
            elif self._failure is not None:
                raise self._failure
        return taken

    def _next(self, most: int) -> list[Record]:
        records, size, _ = self._chunks[0]
        at, stop = self._at, self._at + most
        if stop < len(records):
            self._at = stop
            return records[at:stop]
        self._chunks.popleft()
        self._at = 0
        self._bytes -= size
        return records[at:]

    def skip(self, offset: int) -> None:
        """Go on from another offset."""
        with self._lock:
            self.fetched = offset

    def fail(self, failure: SourceError) -> None:
        """Note that the partition cannot be read any more; the first reason stays."""
        with self._lock:
            self._failure = self._failure or failure
