"""What the Kafka client makes by itself: loops with nothing of this project in them."""

import time
from collections.abc import Callable

import msgspec
from kafka import KafkaProducer

from benchmarks.kafka_topics import consumer, sample
from tests.brokers.client import Kafka

__all__ = ["bare_loop", "consume_rate", "produce_rate"]


class _Prediction(msgspec.Struct):
    id: str
    node: str
    prediction: float
    round: int
    y: float


def bare_loop(kafka: Kafka, topic: str, count: int, out: str, partitions: int = 1) -> None:
    """Consume, decode, produce one record of a prediction's size for each; nothing is learned."""
    decode = msgspec.json.Decoder().decode
    encode = msgspec.json.Encoder().encode
    client = consumer(kafka, topic, list(range(partitions)))
    producer = _producer(kafka)
    done = 0
    while done < count:
        for records in client.poll(timeout_ms=1000).values():
            for record in records:
                row = decode(record.value)
                id = f"{record.topic}:{record.partition}:{record.offset}"
                value = encode(_Prediction(id, row["node"], 1.0, done, row["y"]))
                producer.send(out, value, key=id.encode())
            done += len(records)
    producer.flush()
    producer.close()
    client.close()


def consume_rate(kafka: Kafka, topic: str, count: int, groups: list[list[int]]) -> float:
    """Consume a topic by one consumer for each group of partitions; gives records/s."""
    clients = [consumer(kafka, topic, group) for group in groups]

    def consume() -> None:
        done = 0
        while done < count:
            for client in clients:
                # Several cannot all wait: the others' records would lie.
                wait = 1000 if len(clients) == 1 else 0
                done += sum(len(records) for records in client.poll(timeout_ms=wait).values())

    seconds = _seconds(consume)
    for client in clients:
        client.close()
    return count / seconds


def produce_rate(kafka: Kafka, topic: str, count: int) -> float:
    """Produce samples as fast as the client can; gives records/s."""
    values = sample(0, 5000)
    producer = _producer(kafka)

    def produce() -> None:
        for number in range(count):
            producer.send(topic, values[number % len(values)])
        producer.flush()

    seconds = _seconds(produce)
    producer.close()
    return count / seconds


def _producer(kafka: Kafka) -> KafkaProducer:
    return KafkaProducer(
        bootstrap_servers=kafka.brokers,
        acks="all",
        enable_idempotence=True,
        linger_ms=5,
        batch_size=1 << 19,
    )


def _seconds(work: Callable[[], None]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
