"""Topics as sinks: nothing is acknowledged to recovery that is not in Kafka."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from bytewax.outputs import FixedPartitionedSink, StatefulSinkPartition
from typing_extensions import override

from connectors.kafka.patience import PATIENCE
from connectors.kafka.producer import LIMIT, Record, TopicProducer
from connectors.kafka.settings import KafkaSettings
from connectors.kafka.sink_progress import SinkProgress

__all__ = ["PARTS", "KafkaSink"]

X = TypeVar("X")

PARTS = 32
"""Parts of every sink, whatever the number of processes: a recovery store that knows a part
cannot be resumed without it."""


class _Part(StatefulSinkPartition[X, None]):
    def __init__(self, producer: TopicProducer, encode: Callable[[X], list[Record]]) -> None:
        self._producer, self._encode = producer, encode
        self._written = False
        producer.open()

    @override
    def write_batch(self, values: list[X]) -> None:
        self._written = True
        self._producer.send([record for value in values for record in self._encode(value)])

    @override
    def snapshot(self) -> None:
        if self._written:
            self._producer.flush()
            self._written = False

    @override
    def close(self) -> None:
        self._producer.close()


@dataclass(frozen=True)
class KafkaSink(FixedPartitionedSink[X, None], Generic[X]):
    """Write items to a topic; a snapshot waits until Kafka has acknowledged them.

    So a job that is resumed writes again what came after its last snapshot, and nothing is
    missing. Who reads the topic tells the duplicates by the id that every record carries.

    Items come keyed by the number of a process, which then writes them. All parts of a process
    share one producer.

    Attributes
    ----------
    settings : how to reach the brokers
    topic : where the records go; it must be there
    encode : makes an item zero or more records
    process, processes : this process's number, and how many there are
    limit : longest record in bytes of key, value and headers
    partitions : how many partitions keys are spread over; None: as many as the topic has when
        a record is sent
    patience : seconds to wait for brokers that are away before the job fails
    progress : counts what this process sends

    >>> sink = KafkaSink(KafkaSettings(("localhost:9092",)), "scores", list, processes=16)
    >>> sink.list_parts(), sink.part_fn("00003")
    (['00000', '00016'], 3)
    """

    settings: KafkaSettings
    topic: str
    encode: Callable[[X], list[Record]]
    process: int = 0
    processes: int = 1
    limit: int = LIMIT
    partitions: int | None = None
    patience: float = PATIENCE
    progress: SinkProgress = field(init=False, compare=False, repr=False)
    _producer: TopicProducer = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        progress = SinkProgress(self.topic)
        producer = TopicProducer(
            self.settings, self.topic, progress, self.limit, self.partitions, self.patience
        )
        object.__setattr__(self, "progress", progress)
        object.__setattr__(self, "_producer", producer)

    @override
    def list_parts(self) -> list[str]:
        return [f"{number:05d}" for number in range(self.process, PARTS, self.processes)]

    @override
    def part_fn(self, item_key: str) -> int:
        return int(item_key)

    @override
    def build_part(self, step_id: str, for_part: str, resume_state: None) -> _Part[X]:
        return _Part(self._producer, self.encode)
