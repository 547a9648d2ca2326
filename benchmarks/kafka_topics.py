"""Topics for benchmarks: a broker, samples in it, and how fast records came out."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from anabranch.synthetic import make_stream
from tests.brokers.apache import Apache
from tests.brokers.client import Kafka

__all__ = ["Written", "broker", "fill", "sample", "timed", "written"]

FEATURES = 20


@contextmanager
def broker(nodes: int = 1) -> Iterator[Kafka]:
    """Run an Apache Kafka of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-kafka-") as folder,
        Apache(Path(folder), nodes) as up,
    ):
        yield Kafka(up)


def sample(begin: int, count: int, nodes: int = 20) -> list[bytes]:
    """Make labelled samples of 20 features as JSON, some 400 bytes each."""
    X, y = make_stream("wide", seed=1, features=FEATURES).block(begin, count)
    return [
        json.dumps(
            {f"x{i + 1}": round(value, 6) for i, value in enumerate(row)}
            | {"y": int(label), "node": f"n{(begin + number) % nodes:02d}"}
        ).encode()
        for number, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True))
    ]


def fill(kafka: Kafka, count: int, partitions: int = 1) -> str:
    """Make a topic of so many samples, the same number in each partition."""
    topic, block = kafka.topic(partitions), 5000
    with KafkaProducer(bootstrap_servers=kafka.brokers, linger_ms=5, batch_size=1 << 18) as client:
        for begin in range(0, count, block):
            values = sample(begin, min(block, count - begin))
            for number, value in enumerate(values):
                client.send(topic, value, partition=number % partitions)
        client.flush()
    return topic


@dataclass(frozen=True)
class Written:
    """What came into a topic: how many records, and from when to when, in seconds."""

    count: int
    seconds: float

    @property
    def rate(self) -> float:
        """Records a second, over the middle eight tenths of them."""
        return self.count / self.seconds


def written(kafka: Kafka, topic: str) -> Written:
    """Read the brokers' own times of a topic's records; the first and last tenth are left out."""
    times = sorted(record.timestamp for record in kafka.read(topic, timeout=300))
    tenth = len(times) // 10
    middle = times[tenth : len(times) - tenth]
    return Written(len(middle), (middle[-1] - middle[0]) / 1000)


def timed(kafka: Kafka, partitions: int = 1) -> str:
    """Make a topic whose records bear the time at which the broker took them."""
    return kafka.topic(partitions, message_timestamp_type="LogAppendTime")


def consumer(kafka: Kafka, topic: str, partitions: list[int]) -> KafkaConsumer:
    """Give a consumer of some partitions, at their beginning."""
    client = KafkaConsumer(
        bootstrap_servers=kafka.brokers,
        enable_auto_commit=False,
        max_poll_records=5000,
        max_partition_fetch_bytes=8 << 20,
    )
    places = [TopicPartition(topic, number) for number in partitions]
    client.assign(places)
    client.seek_to_beginning(*places)
    return client
