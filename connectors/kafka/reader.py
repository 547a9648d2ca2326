"""Reads partitions in the background, so that no dataflow ever waits for a broker."""

from collections.abc import Callable, Sequence
from threading import Lock

from connectors.kafka.expired import ADVICE, Expired, OnExpired
from connectors.kafka.feed import Feed, Record
from connectors.kafka.lane import Lane, LaneOptions
from connectors.kafka.settings import KafkaSettings
from connectors.records import SourceError

__all__ = ["BUFFER_BYTES", "Reader", "Record"]

BUFFER_BYTES = 32 << 20
_FETCH = (64 << 10, 1 << 20)
"""Least and most bytes to fetch of a partition at once."""
_ROOM = 256 << 10
"""Least bytes of records to hold of a partition."""


def _nothing(sentence: str) -> None:
    pass


class Reader:
    """The partitions that a process reads of some brokers, each from an offset on.

    One consumer reads them all: with 340 bytes a record 105,000 to 135,000 records/s of 8
    partitions, where a consumer each reads 84,000, and 125,000 to 137,000 of 64 partitions against
    68,000 to 75,000 (and 10 to 28 % of a core when nothing comes): their threads stand in each
    other's way. Records are bounded in memory: a full partition is not fetched.

    Any thread may call any method.

    Parameters
    ----------
    settings : how to reach the brokers
    partitions : how many there will be, to divide the memory by
    buffer_bytes : memory for records that nobody has taken yet, about; a partition has at least
        256 kB
    on_expired : "stop", or go on with the "earliest" or "latest" record, when the next one of a
        partition was deleted
    say : takes a sentence when records were skipped so
    advice : what to do when it stops for that reason
    retry : seconds after which a partition that cannot be decoded is tried again

    Notes
    -----
    Brokers that are away are waited for. Whoever wants to know reads `end` and `error`, or
    watches the brokers by other means.

    >>> reader = Reader(KafkaSettings(("localhost:1",), timeout=0.2))
    >>> reader.add("bearings", 0, 7)
    >>> reader.take("bearings:0", 10), reader.position("bearings:0")
    ([], 7)
    >>> reader.close()
    """

    def __init__(
        self,
        settings: KafkaSettings,
        *,
        partitions: int = 1,
        buffer_bytes: int = BUFFER_BYTES,
        on_expired: OnExpired = "stop",
        say: Callable[[str], None] = _nothing,
        advice: str = ADVICE,
        retry: float = 5.0,
    ) -> None:
        share = buffer_bytes // max(partitions, 1)
        self._room = max(share // 2, _ROOM)
        self._options = LaneOptions(
            settings,
            fetch=min(max(share // 8, _FETCH[0]), _FETCH[1]),
            fetch_all=max(buffer_bytes // 4, _FETCH[1]),
            expired=Expired(settings, on_expired, say, advice),
            retry=retry,
        )
        self._feeds: dict[str, Feed] = {}
        self._lanes: list[Lane] = []
        self._lock = Lock()
        self._closed = False

    @property
    def names(self) -> list[str]:
        """The partitions that are read."""
        return list(self._feeds)

    def add(self, topic: str, number: int, offset: int, until: int | None = None) -> None:
        """Begin to read a partition.

        Parameters
        ----------
        topic, number : which
        offset : of the first record wanted
        until : the offset before which to end; None: never
        """
        feed = Feed(topic, number, offset, until, self._room)
        with self._lock:
            self._feeds[feed.name] = feed
            if self._lanes:
                self._lanes[0].adopt(feed)
            else:
                self._start([feed])

    def take(self, name: str, most: int) -> list[Record]:
        """Give the next records of a partition, at most so many; none if there are none yet.

        Raises
        ------
        SourceError
            The partition cannot be read any more.
        """
        return self._feeds[name].take(most)

    def position(self, name: str) -> int:
        """Give the offset after all that was taken, and after what is no record behind it."""
        return self._feeds[name].position

    def since(self, name: str) -> float | None:
        """Tell when a partition's next record came, by the monotonic clock; None without one."""
        return self._feeds[name].since

    def ended(self, name: str) -> bool:
        """Tell whether everything before a partition's `until` was taken."""
        return self._feeds[name].ended

    def end(self, name: str) -> int | None:
        """Give where a partition ends, as far as is known."""
        return self._feeds[name].end

    def error(self, name: str) -> str | None:
        """Say why a partition cannot be read just now; None when it can."""
        return self._feeds[name].error

    def fail(self, name: str, why: SourceError) -> None:
        """Let the next `take` that has nothing to give raise an error."""
        self._feeds[name].fail(why)

    def close(self) -> None:
        """Stop reading. Threads that wait for brokers end a little later."""
        with self._lock:
            self._closed = True
            lanes = list(self._lanes)
        for lane in lanes:
            lane.stop()
        for lane in lanes:
            lane.join(timeout=2.0)

    def _start(self, feeds: Sequence[Feed]) -> None:
        lane = Lane(self._options, feeds, self._split)
        self._lanes.append(lane)
        lane.start()

    def _split(self, lane: Lane) -> bool:
        with self._lock:
            apart = lane.halve()
            if apart and not self._closed:
                self._start(apart)
            return bool(apart)
