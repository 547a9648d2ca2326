"""Topics on a real broker, read as a source."""

import time
from typing import Any

import pytest
from kafka import KafkaProducer

from anabranch.errors import ConfigurationError
from anabranch.stream import End
from connectors.kafka.features import infer_topic_features
from connectors.kafka.ranges import Range, added_ranges, resolve_ranges
from connectors.kafka.settings import KafkaSettings
from connectors.records import RecordFormat
from tests.brokers.client import Kafka
from tests.connectors.kafka.reading import (
    Reading,
    message,
    need_apache,
    settings,
    spread,
    topic_source,
)


def fill(kafka: Kafka, count: int, partitions: int, first: int = 0) -> str:
    """Make a topic whose messages tell their numbers, dealt to its partitions in turn."""
    topic = kafka.topic(partitions)
    for number, dealt in spread(range(first, first + count), partitions):
        kafka.produce(topic, [message(n) for n in dealt], partition=number)
    return topic


def test_every_record_is_there_once_in_order(kafka: Kafka) -> None:
    topic = fill(kafka, 1000, 3)
    with Reading(topic_source(kafka, topic, rows=50)).to_end() as reading:
        for number, dealt in spread(range(1000), 3):
            name = f"{topic}:{number}"
            assert reading.numbers(name) == dealt
            ticks = [block.tick for block in reading.blocks(name)]
            assert ticks == list(range(-(-len(dealt) // 50)))
            assert [block.records for block in reading.blocks(name)[:-1]] == [50] * (len(ticks) - 1)
            positions = [p for block in reading.blocks(name) for p in block.positions]
            assert positions == list(range(len(dealt)))
            assert reading.seen[name][-1] == End(name, ticks[-1])
            assert reading.row(name)["lag"] == 0
        assert not reading.dead()


def test_times_keys_and_headers_come_along(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.produce(
        topic, [message(1), b"?", None], keys=[b"k1", b"k2", b"k3"],
        headers=[[], [("h", b"\xff"), ("h", b"")], []], timestamps=[1000, 2000, 3000],
    )  # fmt: skip
    with Reading(topic_source(kafka, topic)).to_end() as reading:
        (block,) = reading.blocks()
    assert block.times is not None
    assert block.times.tolist() == [1000]
    bad, empty = block.dead
    assert (bad.source, bad.partition, bad.position) == (topic, f"{topic}:0", 1)
    assert (bad.raw, bad.key, bad.headers, bad.time) == (
        b"?", b"k2", (("h", b"\xff"), ("h", b"")), 2000,
    )  # fmt: skip
    assert (empty.reason, empty.raw, empty.key, empty.position) == ("empty_record", b"", b"k3", 2)


def test_a_value_above_the_limit_is_a_dead_letter_and_whole(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.produce(topic, [b"x" * 5000, message(1)])
    form = RecordFormat(features=("a", "b"), max_record=1000)
    with Reading(topic_source(kafka, topic, form=form)).to_end() as reading:
        (letter,) = reading.dead()
        assert (letter.reason, len(letter.raw)) == ("too_long", 5000)
        assert reading.numbers() == [1]


@pytest.mark.parametrize("ticks", [1, 4, 7])
def test_a_resumed_source_goes_on_exactly(kafka: Kafka, ticks: int) -> None:
    topic = fill(kafka, 300, 2)
    source = topic_source(kafka, topic, rows=20)
    with Reading(source) as before:
        before.until(lambda: len(before.blocks()) >= ticks)
        states = before.states()
    again = topic_source(kafka, topic, rows=20, ranges=source.ranges)
    with Reading(again, states).to_end() as after:
        for number, dealt in spread(range(300), 2):
            name = f"{topic}:{number}"
            assert before.numbers(name) + after.numbers(name) == dealt
            both = before.blocks(name) + after.blocks(name)
            assert [block.tick for block in both] == list(range(8))
        ended = after.states()
    with Reading(again, ended).to_end() as nothing:
        assert not any(nothing.seen.values())


def test_where_a_job_begins_and_ends(kafka: Kafka) -> None:
    need_apache(kafka, "exact times")
    topic = kafka.topic(2)
    for number in range(2):
        times = [1_000_000 + 1000 * i for i in range(10)]
        kafka.produce(topic, [b"1"] * 10, partition=number, timestamps=times)
    kafka.produce(topic, [b"1"] * 5, partition=1, timestamps=[2_000_000] * 5)
    reach, names = settings(kafka), (f"{topic}:0", f"{topic}:1")

    def ranges(start: str, until_end: bool = False) -> list[tuple[int, int | None]]:
        found = resolve_ranges(reach, [topic], start, until_end)
        assert tuple(found) == names
        return [(one.start, one.end) for one in found.values()]

    assert ranges("earliest", True) == [(0, 10), (0, 15)]
    assert ranges("latest") == [(10, None), (15, None)]
    assert ranges("1970-01-01T00:16:45+00:00", True) == [(5, 10), (5, 15)]
    assert ranges("1970-01-01T00:16:44.001+00:00") == [(5, None), (5, None)]
    assert ranges("1970-01-01T01:30:00+01:00") == [(10, None), (10, None)]  # as young as that: none
    assert ranges("1970-01-01T00:20:00Z") == [(10, None), (10, None)]
    kafka.expire(topic, 0, 7)
    assert ranges("earliest") == [(7, None), (0, None)]


@pytest.mark.parametrize("start", ["newest", "2026-01-31T12:00:00", "1960-01-01T00:00:00Z", ""])
def test_a_start_that_is_none_is_refused(start: str) -> None:
    with pytest.raises(ConfigurationError, match=r"source.start is .*allowed are 'earliest'"):
        resolve_ranges(KafkaSettings(("localhost:1",)), ["t"], start, False)


def test_a_missing_topic_is_refused_and_not_made(kafka: Kafka) -> None:
    topic = f"{kafka.topic()}-missing"
    with pytest.raises(ConfigurationError, match=rf"source.topics names '{topic}', .* not there"):
        resolve_ranges(settings(kafka), [kafka.topic(), topic], "earliest", False)
    assert topic not in kafka.topics()


def test_partitions_that_a_topic_gained_begin_at_their_beginning(kafka: Kafka) -> None:
    need_apache(kafka, "growing topics")
    topic = fill(kafka, 10, 2)
    known = resolve_ranges(settings(kafka), [topic], "latest", False)
    assert added_ranges(settings(kafka), [topic], known) == {}
    kafka.grow(topic, 4)
    kafka.produce(topic, [b"1"] * 3, partition=3)
    assert added_ranges(settings(kafka), [topic], known) == {
        f"{topic}:2": Range(0), f"{topic}:3": Range(0),
    }  # fmt: skip


def test_a_bounded_source_leaves_what_came_later(kafka: Kafka) -> None:
    topic = fill(kafka, 100, 1)
    source = topic_source(kafka, topic, rows=30)
    kafka.produce(topic, [message(n) for n in range(100, 150)])
    with Reading(source).to_end() as reading:
        assert reading.numbers() == list(range(100))


def test_an_endless_source_goes_on_when_records_come(kafka: Kafka) -> None:
    topic = fill(kafka, 5, 1)
    with Reading(topic_source(kafka, topic, rows=10, until_end=False)) as reading:
        name = f"{topic}:0"
        reading.until(lambda: reading.row(name)["lag"] == 5, "its end")
        assert not reading.blocks()  # five are no tick
        kafka.produce(topic, [message(n) for n in range(5, 12)])
        reading.until_rows(10)
        assert reading.numbers() == list(range(10))
        reading.until(lambda: reading.row(name)["lag"] == 2, "two more")
        assert reading.live == {name}


def test_an_eager_source_gives_what_is_there(kafka: Kafka) -> None:
    topic = fill(kafka, 5, 1)
    with Reading(topic_source(kafka, topic, rows=1000, until_end=False, eager=True)) as reading:
        reading.until_rows(5)
        states = reading.states()
        kafka.produce(topic, [message(5)])
        reading.until_rows(6)
        ticks = [block.tick for block in reading.blocks()]
        assert ticks == list(range(len(ticks)))
    (state,) = states.values()
    assert (state["offset"], state["record"]) == (5, 5)


def test_latest_means_the_end_at_the_first_start(kafka: Kafka) -> None:
    topic = fill(kafka, 50, 1)
    source = topic_source(kafka, topic, rows=10, start="latest", until_end=False)
    kafka.produce(topic, [message(n) for n in range(50, 60)])
    with Reading(source).until_rows(10) as reading:
        assert reading.numbers() == list(range(50, 60))


def transact(kafka: Kafka, topic: str, numbers: list[int], commit: bool) -> None:
    producer = KafkaProducer(bootstrap_servers=kafka.brokers, transactional_id=f"t-{topic}")
    producer.init_transactions()
    producer.begin_transaction()
    for number in numbers:
        producer.send(topic, message(number), partition=0)
    producer.flush()
    (producer.commit_transaction if commit else producer.abort_transaction)()
    producer.close()


def test_transactions_that_were_given_up_are_not_there(kafka: Kafka) -> None:
    need_apache(kafka, "transactions")
    topic = kafka.topic()
    transact(kafka, topic, [0, 1, 2], commit=True)  # and a mark at offset 3
    transact(kafka, topic, [97, 98], commit=False)  # and a mark at 6
    transact(kafka, topic, [3, 4], commit=True)  # and a mark at 9
    source = topic_source(kafka, topic, rows=2)
    assert source.ranges[f"{topic}:0"] == Range(0, 10)
    with Reading(source).to_end() as reading:
        assert reading.numbers() == [0, 1, 2, 3, 4]
        assert [block.positions.tolist() for block in reading.blocks()] == [[0, 1], [2, 7], [8]]
        assert reading.row(f"{topic}:0")["lag"] == 0
    endless = topic_source(kafka, topic, rows=2, until_end=False, eager=True)
    with Reading(endless).until_rows(5) as reading:
        reading.until(lambda: reading.row(f"{topic}:0")["lag"] == 0, "the mark to be passed")


def test_offsets_that_compaction_took_do_not_count(kafka: Kafka) -> None:
    need_apache(kafka, "compaction")
    topic = kafka.topic(
        cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.01",
        max_compaction_lag_ms="100",
    )  # fmt: skip
    for number in range(20):
        kafka.produce(topic, [message(number)], keys=[b"%d" % (number % 4)])
        time.sleep(0.01)

    deadline = time.monotonic() + 60
    while len(kafka.read(topic)) >= 15:
        assert time.monotonic() < deadline, "the broker does not compact"
        time.sleep(0.2)
        kafka.produce(topic, [message(99)], keys=[b"last"])
    source = topic_source(kafka, topic, rows=3)
    with Reading(source).to_end() as reading:
        positions = [p for block in reading.blocks() for p in block.positions.tolist()]
        assert positions == sorted(set(positions))
        assert len(positions) < positions[-1]  # offsets are missing
        left = {record.offset for record in kafka.read(topic)}  # more may have gone since
        assert left <= set(positions)
        assert {block.records for block in reading.blocks()[:-1]} == {3}


def test_packed_batches_are_read_from_their_middle(kafka: Kafka) -> None:
    need_apache(kafka, "packed batches")
    topic = kafka.topic()
    with KafkaProducer(
        bootstrap_servers=kafka.brokers, compression_type="gzip", linger_ms=200
    ) as producer:
        for number in range(100):
            producer.send(topic, message(number))
    source = topic_source(kafka, topic, rows=7)
    with Reading(source) as before:
        before.until(lambda: len(before.blocks()) >= 3)
        states = before.states()
    with Reading(source, states).to_end() as after:
        assert before.numbers() + after.numbers() == list(range(100))


def test_features_are_those_of_the_first_record_that_tells(kafka: Kafka) -> None:
    topic = kafka.topic(3)
    kafka.produce(topic, [b"?", b"", b'{"y": 1, "c": 2, "d": 3}'], partition=1)
    kafka.produce(topic, [b'{"y": 1, "e": 2}'], partition=2)
    reach, form = settings(kafka), RecordFormat()

    def infer(start: str, form: RecordFormat = form) -> Any:
        ranges = resolve_ranges(reach, [topic], start, False)
        return infer_topic_features(reach, ranges, form, "json")

    assert infer("earliest") == ("c", "d")
    assert infer("latest") is None
    assert infer("latest", RecordFormat(features=("q",))) == ("q",)
    kafka.produce(topic, [b"?"] * 100 + [b'{"y": 1, "far": 2}'], partition=0)
    assert infer("earliest") == ("c", "d")


def test_a_new_partition_is_said_once_and_left_alone(kafka: Kafka) -> None:
    need_apache(kafka, "growing topics")
    topic = fill(kafka, 10, 2)
    with Reading(topic_source(kafka, topic, until_end=False, eager=True)) as reading:
        reading.until_rows(10)
        kafka.grow(topic, 4)
        kafka.produce(topic, [message(10)], partition=3)
        progress = reading.source.progress
        reading.until(lambda: bool(progress.notices), "a word about it")
        time.sleep(0.5)
        reading.poll()
    assert progress.notices == (
        f"topic '{topic}' has gained {topic}:2, {topic}:3: taken up when the job is resumed next",
    )
    assert reading.count() == 10
