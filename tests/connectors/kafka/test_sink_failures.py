"""A sink waits for brokers that are away, and fails with a sentence when waiting is no use."""

import re
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from connectors.kafka import patience, producer
from connectors.kafka.producer import Record
from connectors.kafka.refusals import SinkError
from connectors.kafka.settings import KafkaSettings
from connectors.kafka.sink import KafkaSink
from tests.brokers.client import Kafka, fresh_name
from tests.brokers.fixtures import SKIPPED
from tests.brokers.secure import SecureKafka

LONG = 60.0
"""Seconds within which anything here happens; nothing hangs."""


def as_is(item: Record) -> list[Record]:
    return [item]


def records(count: int, size: int = 10) -> list[Record]:
    return [Record(b"%d" % number, b"x" * size, [], None) for number in range(count)]


def sink_to(kafka: Kafka, topic: str, **further: Any) -> KafkaSink[Record]:
    return KafkaSink(KafkaSettings(tuple(kafka.brokers), timeout=5), topic, as_is, **further)


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


class Behind(threading.Thread):
    """A call in a thread of its own, with what it raised."""

    def __init__(self, call: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._call = call
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            self._call()
        except SinkError as error:
            self.error = error

    def over(self) -> bool:
        """Wait until it has returned."""
        self.join(LONG)
        return not self.is_alive()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sink looks for its topic soon."""
    monkeypatch.setattr(patience, "_LOOK_AFTER", 0.5)
    monkeypatch.setattr(patience, "_LOOK_EVERY", 1.0)


def test_records_wait_for_a_broker_that_is_away(private_kafka: Kafka) -> None:
    topic = private_kafka.topic(partitions=2)
    sink = sink_to(private_kafka, topic)
    part = sink.build_part("out", "00000", None)
    part.write_batch(records(10))
    part.snapshot()
    private_kafka.broker.stop()
    sink.progress._quiet = 0.5
    part.write_batch(records(1000))
    snapshot = Behind(part.snapshot)
    said = re.compile(
        rf"1000 records for topic '{topic}' have waited \d+ s: the brokers at"
        f" {private_kafka.brokers[0]} do not acknowledge them"
    )
    wait_for(lambda: said.fullmatch(str(sink.progress.error)))
    assert snapshot.is_alive()
    private_kafka.broker.start()
    assert snapshot.over()
    assert snapshot.error is None
    assert sink.progress.error is None
    assert len(private_kafka.read(topic)) == 1010
    part.close()


def test_a_broker_that_is_killed_and_comes_back_has_every_record_once(private_kafka: Kafka) -> None:
    topic = private_kafka.topic(partitions=2)
    part = sink_to(private_kafka, topic).build_part("out", "00000", None)
    sent = records(40_000)

    def write() -> None:
        for at in range(0, len(sent), 500):
            part.write_batch(sent[at : at + 500])

    writer = Behind(write)
    wait_for(lambda: sum(private_kafka.ends(topic).values()) > 100)
    private_kafka.broker.kill()
    private_kafka.broker.start()
    assert writer.over()
    assert writer.error is None
    part.snapshot()
    keys = [record.key for record in private_kafka.read(topic)]
    assert sorted(keys) == sorted(record.key for record in sent)
    part.close()


def test_when_a_leader_dies_another_takes_over_and_has_every_record_once(
    kafka_cluster: Kafka,
) -> None:
    topic = kafka_cluster.topic(partitions=3)
    part = sink_to(kafka_cluster, topic).build_part("out", "00000", None)
    sent = records(20_000)

    def write() -> None:
        for at in range(0, len(sent), 500):
            part.write_batch(sent[at : at + 500])
            time.sleep(0.02)

    writer = Behind(write)
    wait_for(lambda: sum(kafka_cluster.ends(topic).values()) > 100)
    kafka_cluster.broker.kill(2)
    assert writer.over()
    assert writer.error is None
    part.snapshot()
    keys = [record.key for record in kafka_cluster.read(topic)]
    assert sorted(keys) == sorted(record.key for record in sent)
    part.close()


def test_brokers_that_stay_away_end_the_job_with_a_sentence() -> None:
    settings = KafkaSettings(("localhost:1",), timeout=0.2)
    sink = KafkaSink(settings, "scores", as_is, patience=1.0)
    part = sink.build_part("out", "00000", None)
    with pytest.raises(
        SinkError,
        match=r"^topic 'scores' took no record for 1 s: the brokers at localhost:1 do not answer"
        r" \(.*\); resume the job when they are back$",
    ):
        part.write_batch(records(1))
    assert sink.progress.error == sink.progress.failure
    assert sink.progress.failure is not None
    part.close()


def test_whoever_sends_more_than_the_broker_takes_waits(
    private_kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(producer, "_BUFFER", 4_000_000)
    topic = private_kafka.topic()
    sink = sink_to(private_kafka, topic)
    part = sink.build_part("out", "00000", None)
    part.write_batch(records(1))
    part.snapshot()
    private_kafka.broker.freeze()
    writer = Behind(lambda: part.write_batch(records(10_000, size=3000)))
    wait_for(lambda: sink.progress.queued > 1000)
    time.sleep(1)
    assert writer.is_alive()
    assert sink.progress.waiting <= 4_000_000 / 3000 + 1000
    private_kafka.broker.thaw()
    assert writer.over()
    part.snapshot()
    assert private_kafka.ends(topic) == {0: 10_001}
    part.close()


def test_a_record_longer_than_allowed_fails_with_both_sizes(kafka: Kafka) -> None:
    topic = kafka.topic()
    sink = sink_to(kafka, topic, limit=1000)
    part = sink.build_part("out", "00000", None)
    message = (
        f"^a record for topic '{topic}' is 1201 bytes: allowed are 1000, which the topic's"
        " max.message.bytes sets$"
    )
    with pytest.raises(SinkError, match=message):
        part.write_batch(records(1, size=1200))
    with pytest.raises(SinkError, match=message):
        part.write_batch(records(1))
    with pytest.raises(SinkError, match=message):
        part.snapshot()
    assert (sink.progress.failed, sink.progress.error) == (1, sink.progress.failure)
    part.close()


def test_a_record_that_the_topic_finds_too_long_fails_with_its_size(kafka: Kafka) -> None:
    if kafka.kind != "apache":
        pytest.skip(f"{SKIPPED}no other broker keeps to max.message.bytes")
    topic = kafka.topic(max_message_bytes="5000")
    part = sink_to(kafka, topic).build_part("out", "00000", None)
    # Records that are too long only together are parted by the client, and arrive.
    part.write_batch(records(100, size=1000))
    part.snapshot()
    assert kafka.ends(topic) == {0: 100}
    part.write_batch(records(1, size=6000))
    with pytest.raises(
        SinkError,
        match=rf"^topic '{topic}' refuses a record of 6001 bytes as too large: raise its"
        r" max\.message\.bytes$",
    ):
        part.snapshot()
    part.close()


@pytest.mark.usefixtures("impatient")
def test_a_topic_that_was_never_there_fails(kafka: Kafka) -> None:
    topic = fresh_name()
    part = sink_to(kafka, topic).build_part("out", "00000", None)
    with pytest.raises(SinkError, match=f"^topic '{topic}' is gone from the brokers at .*: create"):
        part.write_batch(records(1))
    assert topic not in kafka.topics()
    part.close()


@pytest.mark.usefixtures("impatient")
def test_a_topic_that_is_deleted_fails(kafka: Kafka) -> None:
    topic = kafka.topic()
    part = sink_to(kafka, topic).build_part("out", "00000", None)
    part.write_batch(records(1))
    part.snapshot()
    kafka.delete(topic)
    part.write_batch(records(1))
    with pytest.raises(SinkError, match=f"^topic '{topic}' is gone from the brokers at .*: create"):
        part.snapshot()
    assert topic not in kafka.topics()
    part.close()


def secure(
    kafka: SecureKafka, monkeypatch: pytest.MonkeyPatch, user: str, password: str
) -> KafkaSettings:
    monkeypatch.setenv("SINK_PASSWORD", password)
    return KafkaSettings(
        tuple(kafka.sasl),
        "sasl_plaintext",
        "SCRAM-SHA-256",
        user,
        "SINK_PASSWORD",
        timeout=5,
    )


def test_a_topic_that_may_not_be_written_fails(
    secure_kafka: SecureKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = secure_kafka.topic()
    secure_kafka.grant("bob", topic, "WRITE")
    settings = secure(secure_kafka, monkeypatch, "bob", secure_kafka.passwords["bob"])
    message = f"^topic '{topic}' may not be written by 'bob': the brokers at .* must allow it"

    def until_refused(sink: KafkaSink[Record]) -> None:
        part = sink.build_part("out", "00000", None)
        try:
            deadline = time.monotonic() + LONG
            while time.monotonic() < deadline:
                part.write_batch(records(1))
                part.snapshot()
        finally:
            part.close()

    sink = KafkaSink(settings, topic, as_is)
    running = Behind(lambda: until_refused(sink))
    wait_for(lambda: sink.progress.sent > 3)
    secure_kafka.revoke("bob", topic)
    assert running.over()
    assert re.match(message, str(running.error))
    with pytest.raises(SinkError, match=message):
        until_refused(KafkaSink(settings, topic, as_is))


def test_a_refused_login_fails_at_once_and_tells_no_password(
    secure_kafka: SecureKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = secure_kafka.topic()
    settings = secure(secure_kafka, monkeypatch, "bob", "not-the-password")
    part = KafkaSink(settings, topic, as_is).build_part("out", "00000", None)
    began = time.monotonic()
    with pytest.raises(SinkError, match="refuse the login of 'bob': check") as caught:
        part.write_batch(records(1))
    assert time.monotonic() - began < LONG
    assert "not-the-password" not in str(caught.value)
    part.close()
