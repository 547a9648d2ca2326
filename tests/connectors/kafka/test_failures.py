"""What goes wrong with brokers and topics while a source reads them."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaProducer

from anabranch.errors import ConfigurationError
from connectors.kafka.partition import KafkaState
from connectors.kafka.ranges import Range, resolve_ranges
from connectors.kafka.reader import Reader
from connectors.kafka.settings import KafkaSettings
from connectors.records import SourceError
from tests.brokers.client import Kafka
from tests.connectors.kafka.reading import (
    PATIENCE,
    Reading,
    message,
    need_apache,
    settings,
    spread,
    topic_source,
)


def endless(kafka: Kafka, topic: str, **options: Any) -> Reading:
    return Reading(topic_source(kafka, topic, rows=100, until_end=False, eager=True, **options))


def error_of(reading: Reading, name: str) -> str:
    return str(reading.row(name)["error"])


def start(offset: int) -> KafkaState:
    return KafkaState(phase="reading", offset=offset, record=offset, tick=0, rows_per_tick=100)


@pytest.mark.parametrize("brokers", [("localhost:1",), ("192.0.2.1:9092",)])
def test_an_unreachable_broker_is_named_in_time(brokers: tuple[str, ...]) -> None:
    begin, before = time.monotonic(), set(threading.enumerate())
    with pytest.raises(ConfigurationError, match=rf"kafka.brokers is '{brokers[0]}', where nobody"):
        resolve_ranges(KafkaSettings(brokers), ["t"], "earliest", False)
    assert time.monotonic() - begin < 15
    new = set(threading.enumerate()) - before
    assert not [thread for thread in new if "kafka-io" in thread.name]


def test_a_broker_that_is_away_is_waited_for(private_kafka: Kafka) -> None:
    topic = private_kafka.topic()
    name = f"{topic}:0"
    private_kafka.produce(topic, [message(n) for n in range(1000)])
    with endless(private_kafka, topic).until_rows(300) as reading:
        for round in range(2):
            private_kafka.broker.kill()
            reading.until(lambda: "have not answered" in error_of(reading, name), "an error")
            assert private_kafka.brokers[0] in error_of(reading, name)
            private_kafka.broker.start()
            more = range(1000 + 500 * round, 1500 + 500 * round)
            private_kafka.produce(topic, [message(n) for n in more])
            reading.until_rows(more.stop)
            reading.until(lambda: reading.row(name)["error"] is None, "the error to go")
        assert reading.numbers() == list(range(2000))


def test_a_source_may_begin_while_the_broker_is_away(private_kafka: Kafka) -> None:
    topic = private_kafka.topic()
    private_kafka.produce(topic, [message(n) for n in range(10)])
    source = topic_source(private_kafka, topic, settings=settings(private_kafka, timeout=1))
    private_kafka.broker.stop()
    with Reading(source) as reading:
        reading.until(lambda: "have not answered" in error_of(reading, f"{topic}:0"), "an error")
        private_kafka.broker.start()
        reading.to_end()
        assert reading.numbers() == list(range(10))


def test_a_broker_that_hangs_is_noticed(private_kafka: Kafka) -> None:
    topic = private_kafka.topic()
    name = f"{topic}:0"
    private_kafka.produce(topic, [message(n) for n in range(10)])
    reach = settings(private_kafka, timeout=2)
    with endless(private_kafka, topic, settings=reach).until_rows(10) as reading:
        private_kafka.broker.freeze()
        reading.until(lambda: "have not answered" in error_of(reading, name), "an error")
        private_kafka.broker.thaw()
        private_kafka.produce(topic, [message(n) for n in range(10, 20)])
        reading.until_rows(20)
        reading.until(lambda: reading.row(name)["error"] is None, "the error to go")
        assert reading.numbers() == list(range(20))


def test_another_broker_takes_over(kafka_cluster: Kafka) -> None:
    topic = kafka_cluster.topic(3)
    with endless(kafka_cluster, topic) as reading:
        for number, dealt in spread(range(300), 3):
            kafka_cluster.produce(topic, [message(n) for n in dealt], partition=number)
        reading.until_rows(300)
        kafka_cluster.broker.kill(2)  # it led one of the partitions
        with KafkaProducer(
            bootstrap_servers=kafka_cluster.brokers, delivery_timeout_ms=60000, acks="all"
        ) as producer:
            for number, dealt in spread(range(300, 600), 3):
                for n in dealt:
                    producer.send(topic, message(n), partition=number)
        reading.until_rows(600)
        for number, dealt in spread(range(600), 3):
            assert reading.numbers(f"{topic}:{number}") == dealt


def test_a_deleted_topic_stops_the_source(kafka: Kafka) -> None:
    topic, other = kafka.topic(), kafka.topic()
    kafka.produce(topic, [message(n) for n in range(10)])
    source = topic_source(kafka, topic, other, rows=100, until_end=False, eager=True)
    with Reading(source).until_rows(10) as reading:
        kafka.delete(topic)
        with pytest.raises(SourceError, match=rf"topic '{topic}' was deleted while the job"):
            reading.until(lambda: False, "the deletion")


def test_a_topic_made_anew_is_not_read_on(kafka: Kafka) -> None:
    need_apache(kafka, "topic ids")
    topic = kafka.topic()
    kafka.produce(topic, [message(n) for n in range(10)])
    with endless(kafka, topic, watch_every=1.0).until_rows(10) as reading:
        reading.until(lambda: reading.row(f"{topic}:0")["end"] == 10, "a first look")
        kafka.delete(topic)
        kafka.topic(name=topic)
        with pytest.raises(SourceError, match=r"made anew|was deleted while the job"):
            reading.until(lambda: False, "the deletion")


def test_expired_offsets_stop_the_source_with_advice(kafka: Kafka) -> None:
    need_apache(kafka, "deleting records")
    topic = kafka.topic()
    kafka.produce(topic, [message(n) for n in range(50)])
    kafka.expire(topic, 0, 30)
    source = topic_source(kafka, topic, rows=100, ranges={f"{topic}:0": Range(0)})
    with (
        Reading(source, {f"{topic}:0": start(20)}) as reading,
        pytest.raises(SourceError) as caught,
    ):
        reading.until(lambda: False, "a refusal")
    assert str(caught.value) == (
        f"partition {topic}:0 has no offset 20 any more: its records before offset 30 were deleted,"
        " by retention or by hand; set source.on_expired to 'earliest' or 'latest' and resume the"
        " job to go on without them, or start anew"
    )


@pytest.mark.parametrize(("rule", "first"), [("earliest", 30), ("latest", 50)])
def test_expired_offsets_may_be_skipped(kafka: Kafka, rule: Any, first: int) -> None:
    need_apache(kafka, "deleting records")
    topic = kafka.topic()
    kafka.produce(topic, [message(n) for n in range(50)])
    kafka.expire(topic, 0, 30)
    source = topic_source(kafka, topic, rows=5, ranges={f"{topic}:0": Range(0)}, on_expired=rule)
    with Reading(source, {f"{topic}:0": {**start(20), "rows_per_tick": 5}}) as reading:
        reading.until(lambda: bool(source.progress.notices), "a notice")
        kafka.produce(topic, [message(n) for n in range(50, 60)])
        reading.until_rows(60 - first)
        assert reading.numbers() == list(range(first, 60))
        assert reading.blocks()[0].tick == 0  # ticks count records
    assert source.progress.notices == (
        f"partition {topic}:0 was deleted up to offset 30: the job goes on there at the {rule}"
        f" offset {first}, {first - 20} records were skipped",
    )


def test_an_expired_range_ends(kafka: Kafka) -> None:
    need_apache(kafka, "deleting records")
    topic = kafka.topic()
    kafka.produce(topic, [message(n) for n in range(50)])
    source = topic_source(kafka, topic, ranges={f"{topic}:0": Range(0, 25)}, on_expired="earliest")
    kafka.expire(topic, 0, 30)
    with Reading(source).to_end() as reading:
        assert reading.count() == 0


def test_an_offset_beyond_the_end_stops_the_source_whatever_the_rule(kafka: Kafka) -> None:
    need_apache(kafka, "refusing offsets")
    topic = kafka.topic()
    kafka.produce(topic, [message(n) for n in range(5)])
    ranges = {f"{topic}:0": Range(0)}
    source = topic_source(kafka, topic, ranges=ranges, rows=100, on_expired="earliest")
    with (
        Reading(source, {f"{topic}:0": start(20)}) as reading,
        pytest.raises(SourceError, match=r"ends at offset 5, before offset 20 .* made anew"),
    ):
        reading.until(lambda: False, "a refusal")


def log_file(kafka: Kafka, topic: str, number: int) -> Path:
    (found,) = kafka.broker.nodes[0].folder.rglob(f"{topic}-{number}/*.log")
    return Path(found)


def overwrite(file: Path, old: bytes, new: bytes) -> None:
    """Change bytes of a log behind the broker's back."""
    at = file.read_bytes().index(old)
    with file.open("r+b") as log:
        log.seek(at)
        log.write(new)


@pytest.mark.parametrize("buffer_bytes", [1 << 25, 1 << 16])
def test_a_poisoned_partition_waits_and_the_others_go_on(
    private_kafka: Kafka, buffer_bytes: int
) -> None:
    """With a small buffer too: kafka-python hangs if the poison comes when it is full."""
    topic = private_kafka.topic(5)
    for number, dealt in spread(range(2000), 5):
        for half in (dealt[:100], dealt[100:200], dealt[200:]):  # batches of their own
            private_kafka.produce(topic, [message(n) for n in half], partition=number)
    file = log_file(private_kafka, topic, 3)
    overwrite(file, b'"a": 1003', b'"A": 1003')
    name = f"{topic}:3"
    options = {"buffer_bytes": buffer_bytes, "retry": 0.5}
    with endless(private_kafka, topic, **options).until_rows(1800) as reading:
        for number, dealt in spread(range(2000), 5):
            assert reading.numbers(f"{topic}:{number}") == dealt[: 200 if number == 3 else 400]
        reading.until(lambda: reading.row(name)["error"] is not None, "an error")
        assert f"partition {name} cannot be decoded at offset 200: " in error_of(reading, name)
        assert "CorruptRecordError" in error_of(reading, name)
        assert reading.row(f"{topic}:1")["error"] is None
        private_kafka.produce(topic, [message(n) for n in range(2000, 2050)], partition=1)
        reading.until_rows(1850)
        overwrite(file, b'"A": 1003', b'"a": 1003')
        reading.until_rows(2050)
        reading.until(lambda: reading.row(name)["error"] is None, "the error to go")
        for number, dealt in spread(range(2000), 5):
            assert reading.numbers(f"{topic}:{number}")[:400] == dealt


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def grows() -> bool:
    """Tell whether this process took a megabyte more within two seconds."""
    before = resident()
    time.sleep(2.0)
    return resident() - before > 1 << 20


@pytest.mark.parametrize(("partitions", "most"), [(1, 8 << 20), (64, 32 << 20)])
def test_memory_is_bounded_however_long_the_topic(kafka: Kafka, partitions: int, most: int) -> None:
    if not Path("/proc/self/statm").exists():
        pytest.skip("needs /proc to measure memory")
    topic, size, count = kafka.topic(partitions), 100_000, 512
    for number in range(partitions):
        kafka.produce(topic, [b"x" * size] * (count // partitions), partition=number)
    reader = Reader(settings(kafka), partitions=partitions, buffer_bytes=8 << 20)
    for number in range(partitions):
        reader.add(topic, number, 0)
    names = [f"{topic}:{number}" for number in range(partitions)]
    deadline = time.monotonic() + PATIENCE
    while not all(map(reader.end, names)) or grows():  # nobody takes anything
        assert time.monotonic() < deadline, "it never stops reading"
    held = sum(len(reader.take(name, count)) for name in names)
    assert 0 < held * size < most
    reader.close()


def test_a_poll_never_waits(private_kafka: Kafka) -> None:
    """Whatever the broker does: the dataflow's thread must not stand still."""
    topic = private_kafka.topic()
    private_kafka.produce(topic, [message(n) for n in range(1000)])
    with endless(private_kafka, topic).until_rows(1) as reading:
        private_kafka.broker.freeze()
        longest = 0.0
        begin = time.monotonic()
        while time.monotonic() < begin + 3.0:
            before = time.monotonic()
            reading.poll()
            longest = max(longest, time.monotonic() - before)
            time.sleep(0.005)
        private_kafka.broker.thaw()
    assert longest < 2.0
