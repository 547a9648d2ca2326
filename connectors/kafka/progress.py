"""How far a process has come in its partitions, for whoever watches the job."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from time import monotonic, time
from typing import Any

__all__ = ["PartitionProgress", "Progress"]

log = logging.getLogger("anabranch.source")


@dataclass(slots=True)
class PartitionProgress:
    """One partition's row.

    Attributes
    ----------
    offset : what is read next
    end : where the partition ends, or where the job ends in it; None while unknown
    time : when the last record was made, ms since 1970
    moved : when `offset` last moved, by the monotonic clock
    error : why the partition cannot be read just now
    """

    offset: int
    moved: float
    limit: int | None = None
    end: int | None = None
    time: int | None = None
    error: str | None = None

    @property
    def lag(self) -> int | None:
        """Records still to be read, those of others counted too; None while unknown."""
        return None if self.end is None else max(self.end - self.offset, 0)


class Progress:
    """A table of the partitions that one process reads: its partitions write, any thread reads.

    Parameters
    ----------
    clock : seconds, for tests

    Examples
    --------
    >>> progress = Progress()
    >>> progress.open("bearings:0", 10)
    >>> progress.see_end("bearings:0", 15)
    >>> progress.move("bearings:0", 12, 1700000000000)
    >>> row = progress.rows()["bearings:0"]
    >>> row["offset"], row["end"], row["lag"], row["error"]
    (12, 15, 3, None)
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._rows: dict[str, PartitionProgress] = {}
        self._away: str | None = None
        self._notices: dict[str, None] = {}
        self._lock = Lock()

    def open(self, name: str, offset: int, limit: int | None = None) -> None:
        """Begin a row; `limit` is where the job ends in the partition."""
        with self._lock:
            self._rows[name] = PartitionProgress(offset, self._clock(), limit, limit)

    def move(self, name: str, offset: int, time: int | None = None) -> None:
        """Note that a partition was read up to an offset, with a record of a time in ms."""
        with self._lock:
            row = self._rows[name]
            if offset != row.offset:
                row.offset, row.moved = offset, self._clock()
            row.time = row.time if time is None else time

    def see_end(self, name: str, end: int) -> None:
        """Note where a partition ends."""
        with self._lock:
            row = self._rows[name]
            row.end = end if row.limit is None else min(end, row.limit)

    def fail(self, name: str, error: str | None) -> None:
        """Note why a partition cannot be read just now; None when it can."""
        with self._lock:
            row = self._rows[name]
            before, row.error = row.error, error
        if error and not before:
            log.warning(error, extra={"partition": name})
        elif before and not error:
            log.info("partition %s can be read again", name, extra={"partition": name})

    def miss(self, error: str | None) -> None:
        """Note why no broker can be reached just now; None when one can."""
        with self._lock:
            before, self._away = self._away, error
        if error and not before:
            log.warning(error)
        elif before and not error:
            log.info("the brokers answer again")

    def say(self, sentence: str) -> None:
        """Note what somebody should know; the same sentence once."""
        with self._lock:
            self._notices[sentence] = None

    @property
    def notices(self) -> tuple[str, ...]:
        """The sentences, in the order they were first said."""
        with self._lock:
            return tuple(self._notices)

    def rows(self) -> dict[str, dict[str, Any]]:
        """Give each partition's row as JSON values.

        `offset`, `end`, `lag` and `error` as in `PartitionProgress`; `age` is that of the last
        record and `still` the time since `offset` moved, both in seconds.
        """
        now, today = self._clock(), time()
        with self._lock:
            return {
                name: {
                    "offset": row.offset,
                    "end": row.end,
                    "lag": row.lag,
                    "age": None if row.time is None else max(today - row.time / 1000, 0.0),
                    "still": now - row.moved,
                    "error": row.error or self._away,
                }
                for name, row in self._rows.items()
            }
