"""What goes into a Kafka sink is in the topic by the time a snapshot is taken."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bytewax.recovery import init_db_dir
from kafka.partitioner.default import murmur2

from connectors.kafka.producer import Record
from connectors.kafka.settings import KafkaSettings
from connectors.kafka.sink import PARTS, KafkaSink
from connectors.kafka.sink_progress import SinkProgress
from tests.brokers.client import Kafka
from tests.brokers.secure import SecureKafka

ROOT = Path(__file__).resolve().parents[3]


def numbered(item: int) -> list[Record]:
    return [Record(b"k%d" % item, b"%d" % item, [], None)]


def sink_to(kafka: Kafka, topic: str, **further: Any) -> KafkaSink[int]:
    settings = KafkaSettings(tuple(kafka.brokers), timeout=5)
    return KafkaSink(settings, topic, numbered, **further)


@pytest.fixture
def open_parts() -> Iterator[list[Any]]:
    """Parts that the test leaves open are closed when it is over."""
    parts: list[Any] = []
    yield parts
    for part in parts:
        part.close()


def test_a_record_arrives_whole(kafka: Kafka, open_parts: list[Any]) -> None:
    topic = kafka.topic()
    record = Record(b"key", b"value", [("h", b"\xff\x00"), ("h", b"")], 1_600_000_000_000)
    settings = KafkaSettings(tuple(kafka.brokers))
    part = KafkaSink(settings, topic, lambda item: [item]).build_part("out", "00000", None)
    open_parts.append(part)
    part.write_batch([record])
    part.snapshot()
    (read,) = kafka.read(topic)
    assert Record(read.key, read.value, list(read.headers), read.timestamp) == record


def test_a_snapshot_waits_until_everything_is_in_the_topic(
    kafka: Kafka, open_parts: list[Any]
) -> None:
    topic = kafka.topic(partitions=3)
    sink = sink_to(kafka, topic)
    part = sink.build_part("out", "00000", None)
    open_parts.append(part)
    for start in range(0, 30_000, 10_000):
        part.write_batch(list(range(start, start + 10_000)))
        part.snapshot()
        assert sum(kafka.ends(topic).values()) == start + 10_000
        assert (sink.progress.queued, sink.progress.sent) == (start + 10_000, start + 10_000)
    assert sink.progress.error is None


def test_keys_go_where_kafkas_own_clients_send_them(kafka: Kafka, open_parts: list[Any]) -> None:
    topic = kafka.topic(partitions=5)
    part = sink_to(kafka, topic).build_part("out", "00000", None)
    open_parts.append(part)
    part.write_batch(list(range(500)))
    part.snapshot()
    records = kafka.read(topic)
    assert len(records) == 500
    assert all(r.partition == (murmur2(r.key) & 0x7FFFFFFF) % 5 for r in records)


def test_keys_are_spread_over_as_many_partitions_as_it_is_told(
    kafka: Kafka, open_parts: list[Any]
) -> None:
    topic = kafka.topic(partitions=4)
    part = sink_to(kafka, topic, partitions=2).build_part("out", "00000", None)
    open_parts.append(part)
    part.write_batch(list(range(200)))
    part.snapshot()
    assert {record.partition for record in kafka.read(topic)} == {0, 1}


def test_records_without_a_key_arrive_too(kafka: Kafka, open_parts: list[Any]) -> None:
    topic = kafka.topic(partitions=3)
    settings = KafkaSettings(tuple(kafka.brokers))
    sink = KafkaSink[bytes](
        settings, topic, lambda item: [Record(None, item, [], None), Record(b"k", item, [], None)]
    )
    part = sink.build_part("out", "00000", None)
    open_parts.append(part)
    part.write_batch([b"a", b"b"])
    part.snapshot()
    records = kafka.read(topic)
    assert sorted((r.key or b"", r.value) for r in records) == [
        (b"", b"a"),
        (b"", b"b"),
        (b"k", b"a"),
        (b"k", b"b"),
    ]


def test_parts_of_a_process_share_one_connection_until_the_last_is_closed(kafka: Kafka) -> None:
    topic = kafka.topic()
    before = set(threading.enumerate())
    sink = sink_to(kafka, topic)
    first, second = (sink.build_part("out", name, None) for name in ("00000", "00001"))
    first.write_batch([1])
    second.write_batch([2])
    during = set(threading.enumerate())
    assert len(during - before) == 1
    first.close()
    second.write_batch([3])
    second.snapshot()
    assert set(threading.enumerate()) == during
    second.close()
    assert [record.value for record in kafka.read(topic)] == [b"1", b"2", b"3"]
    assert set(threading.enumerate()) == before


def test_records_go_over_tls_from_who_has_logged_in(
    secure_kafka: SecureKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = secure_kafka.topic()
    secure_kafka.grant("bob", topic, "WRITE")
    monkeypatch.setenv("SINK_PASSWORD", secure_kafka.passwords["bob"])
    settings = KafkaSettings(
        tuple(secure_kafka.sasl_tls),
        "sasl_tls",
        "SCRAM-SHA-512",
        "bob",
        "SINK_PASSWORD",
        ca_file=str(secure_kafka.certificates.ca_file),
    )
    part = KafkaSink(settings, topic, numbered).build_part("out", "00000", None)
    part.write_batch(list(range(10)))
    part.close()
    assert [record.value for record in secure_kafka.read(topic)] == [b"%d" % n for n in range(10)]


def test_every_process_has_its_own_parts_and_together_they_have_all() -> None:
    settings = KafkaSettings(("localhost:9092",))
    lists = [
        KafkaSink[int](settings, "t", numbered, process, 3).list_parts() for process in range(3)
    ]
    together = sorted(part for parts in lists for part in parts)
    assert together == [f"{number:05d}" for number in range(PARTS)]
    assert all(int(part) % 3 == process for process, parts in enumerate(lists) for part in parts)
    sink = KafkaSink[int](settings, "t", numbered)
    assert [sink.part_fn(key) for key in together] == list(range(PARTS))


def test_a_sink_that_nothing_is_written_to_asks_no_broker() -> None:
    part = KafkaSink[int](KafkaSettings(("localhost:1",)), "t", numbered).build_part("o", "0", None)
    part.snapshot()
    part.close()


def test_after_kill_9_nothing_is_missing_and_ids_tell_what_came_twice(
    kafka: Kafka, tmp_path: Path
) -> None:
    topic = kafka.topic(partitions=2)
    init_db_dir(tmp_path, 1)
    flow = [sys.executable, "-m", "tests.connectors.kafka.killed_flow", ",".join(kafka.brokers)]
    for last in (2700, 4100, -1):
        command = [*flow, topic, str(tmp_path), "6000", str(last)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
        assert done.returncode == (0 if last < 0 else 9), done.stderr
    values = {record.key: int(record.value) for record in kafka.read(topic)}
    assert values == {b"id-%d" % item: item for item in range(6000)}


def test_the_progress_speaks_of_records_that_wait_too_long() -> None:
    progress = SinkProgress("scores", quiet=0.0)
    assert progress.error is None
    progress.hand_over(3)
    progress.explain("the brokers at b:1 do not answer")
    error = progress.error
    assert error is not None
    assert error.startswith("3 records for topic 'scores' have waited")
    assert error.endswith("the brokers at b:1 do not answer")
    progress.acknowledge(3)
    assert progress.error is None


def test_the_progress_of_an_idle_sink_is_brought_up_to_date_when_asked(
    kafka: Kafka, open_parts: list[Any]
) -> None:
    topic = kafka.topic()
    sink = sink_to(kafka, topic)
    part = sink.build_part("out", "00000", None)
    open_parts.append(part)
    sink.progress._quiet = 0.0
    part.write_batch([1])
    deadline = time.monotonic() + 30
    while sink.progress.error is not None:
        assert time.monotonic() < deadline
    assert sink.progress.sent == 1
