"""Records on their way into one topic: never too many, and none forgotten."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from threading import RLock
from typing import NamedTuple, TypeVar

from kafka import KafkaProducer
from kafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError
from kafka.producer.future import FutureRecordMetadata

from connectors.kafka.clients import open_producer, reason
from connectors.kafka.murmur import partitions_of
from connectors.kafka.patience import PATIENCE, Patience
from connectors.kafka.refusals import SinkError, refusal
from connectors.kafka.settings import KafkaSettings
from connectors.kafka.sink_progress import SinkProgress

__all__ = ["LIMIT", "Record", "TopicProducer", "size_of"]

T = TypeVar("T")

LIMIT = 996_159
"""Size of a record, as `size_of` counts it, that brokers take unless configured otherwise."""

_BUFFER = 64 << 20
_OVERHEAD = 1000
"""Bytes that the client's own objects take for a record on its way, roughly."""
_FRAMING = 100_000
_HEADER = 10
"""Bytes that a header may take beyond its name and value."""
_BATCH = 1 << 19
_LINGER_MS = 1
_CHUNK = 1000
_POLL = 1.0


class Record(NamedTuple):
    """What is written to a topic; `time` is in ms since 1970, None for now."""

    key: bytes | None
    value: bytes
    headers: list[tuple[str, bytes]]
    time: int | None


def size_of(key: bytes | None, value: bytes, headers: Iterable[tuple[str, bytes]]) -> int:
    """Give the size of a record, in bytes of key, value and headers.

    >>> size_of(b"key", b"value", [("h", b"12")])
    21
    """
    size = len(value) if key is None else len(key) + len(value)
    for name, content in headers:
        size += len(name.encode()) + len(content) + _HEADER
    return size


class TopicProducer:
    """An idempotent producer for one topic, made when it is first needed and safe to share.

    Whoever sends more than the brokers take waits; so does `flush`, until Kafka has
    acknowledged everything. While brokers are away both wait, as long as `patience` allows,
    and the progress says so. Once a record is refused for good every call says it again.

    Parameters
    ----------
    settings : how to reach the brokers
    topic : where the records go
    progress : counts records for whoever watches
    limit : longest record in bytes
    partitions : how many partitions to spread keys over; None: as many as the topic has
    patience : seconds to wait for brokers that do not answer

    >>> settings = KafkaSettings(("localhost:9092",))
    >>> producer = TopicProducer(settings, "scores", SinkProgress("scores"))
    >>> producer.flush()  # nothing was sent, so no broker is asked
    """

    def __init__(
        self,
        settings: KafkaSettings,
        topic: str,
        progress: SinkProgress,
        limit: int = LIMIT,
        partitions: int | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self._settings, self._topic, self._progress = settings, topic, progress
        self._limit, self._partitions = limit, partitions
        self._seconds, self._patience = patience, Patience(settings, topic, progress, patience)
        self._lock = RLock()
        self._client: KafkaProducer | None = None
        self._pending: deque[tuple[FutureRecordMetadata, int]] = deque()
        self._bytes = self._users = 0
        self._failure: SinkError | None = None
        progress.attach(self._try_settle)

    def open(self) -> None:
        """Count a user; the last one to close ends the connection."""
        with self._lock:
            self._users += 1

    def send(self, records: Sequence[Record]) -> None:
        """Send records; those of one key arrive in order.

        Raises
        ------
        SinkError
            A record, now or earlier, was refused for good, or brokers were away too long.
        """
        with self._lock:
            self._settle()
            for start in range(0, len(records), _CHUNK):
                self._send_chunk(records[start : start + _CHUNK])
                self._settle()
                while self._bytes > _BUFFER:
                    self._wait()

    def flush(self) -> None:
        """Wait until Kafka has acknowledged everything sent.

        Raises
        ------
        SinkError
            As `send` does.
        """
        with self._lock:
            self._settle()
            while self._pending:
                self._wait()

    def close(self) -> None:
        """End the connection when nobody uses it any more; flush what can be sent.

        Raises
        ------
        SinkError
            As `send` does, unless it has been raised before.
        """
        with self._lock:
            self._users -= 1
            if self._users > 0 or self._client is None:
                return
            try:
                if self._failure is None:
                    self.flush()
            finally:
                self._disconnect(self._client)

    def _disconnect(self, client: KafkaProducer) -> None:
        # What a failed sink could not send is dropped: the job that is resumed makes it again.
        self._client = None
        client.close(timeout=0 if self._pending else 10)
        self._pending.clear()

    def _send_chunk(self, records: Sequence[Record]) -> None:
        topic = self._topic
        self._progress.hand_over(len(records))
        client = self._client or self._connect()
        numbers = self._deal(client, [record.key for record in records])
        for (key, value, headers, time), number in zip(records, numbers, strict=True):
            size = size_of(key, value, headers)
            if size > self._limit:
                raise self._fail(_too_large(topic, size, self._limit))
            try:
                future = client.send(topic, value, key, headers, number, time)
            except (KafkaError, ValueError):
                again = partial(client.send, topic, value, key, headers, number, time)
                future = self._insist(again, size)
            self._pending.append((future, size + _OVERHEAD))
            self._bytes += size + _OVERHEAD

    def _deal(self, client: KafkaProducer, keys: list[bytes | None]) -> list[int | None]:
        """Give the partition of each key; None, the client's choice, where there is no key."""
        count = self._partitions or len(self._insist(partial(client.partitions_for, self._topic)))
        dealt = partitions_of([key or b"" for key in keys], count)
        return [None if key is None else number for key, number in zip(keys, dealt, strict=True)]

    def _connect(self) -> KafkaProducer:
        options = {
            "batch_size": min(_BATCH, self._limit),
            "delivery_timeout_ms": int((self._seconds + self._settings.timeout) * 1000) + 1000,
            "linger_ms": _LINGER_MS,
            "max_block_ms": 5000,
            "max_request_size": self._limit + _FRAMING,
        }
        self._client = self._insist(partial(open_producer, self._settings, **options))
        return self._client

    def _insist(self, call: Callable[[], T], size: int = 0) -> T:
        """Call again while brokers are away."""
        while True:
            try:
                return call()
            except (KafkaTimeoutError, KafkaConnectionError) as error:
                self._strain(f"do not answer ({reason(error)})")
            except KafkaError as error:
                raise self._fail(refusal(error, self._settings, self._topic, size)) from None
            except ValueError as error:
                raise self._fail(SinkError(f"topic {self._topic!r} has changed: {error}")) from None

    def _wait(self) -> None:
        """Give the oldest record a second."""
        before = len(self._pending)
        with suppress(KafkaError):
            self._pending[0][0].get(timeout=_POLL)
        self._settle()
        if len(self._pending) == before:
            self._strain("do not acknowledge them")

    def _strain(self, why: str) -> None:
        try:
            self._patience.strain(why)
        except SinkError as error:
            raise self._fail(error) from None

    def _settle(self) -> None:
        """Forget what was acknowledged; raise what was refused."""
        if self._failure is not None:
            raise self._failure
        pending, before = self._pending, len(self._pending)
        failed: Exception | None = None
        while failed is None and pending and pending[0][0].is_done:
            future, size = pending.popleft()
            self._bytes -= size
            failed = future.exception
        settled = before - len(pending)
        if settled:
            self._progress.acknowledge(settled if failed is None else settled - 1)
        if failed is not None:
            error = refusal(failed, self._settings, self._topic, size - _OVERHEAD)
            raise self._fail(error) from failed

    def _try_settle(self) -> None:
        if self._lock.acquire(blocking=False):
            try:
                with suppress(SinkError):  # which the progress has, and the sink raises
                    self._settle()
            finally:
                self._lock.release()

    def _fail(self, error: SinkError) -> SinkError:
        self._failure = error
        self._progress.fail(str(error))
        return error


def _too_large(topic: str, size: int, limit: int) -> SinkError:
    return SinkError(
        f"a record for topic {topic!r} is {size} bytes: allowed are {limit}, which the topic's"
        " max.message.bytes sets"
    )
