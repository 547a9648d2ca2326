"""A partition's ticks, by records made by hand."""

import time
from typing import Any

import numpy as np
import pytest

from anabranch.errors import ConfigurationError
from anabranch.stream import Block, End
from connectors.kafka.partition import KafkaState
from connectors.kafka.ranges import Range
from connectors.kafka.ticks import Tick, make_ticks
from connectors.messages import MessageParser
from connectors.records import RecordFormat, SourceError
from connectors.rows import Origin
from tests.connectors.kafka.reading import fake_session, partition, record


def test_a_tick_is_so_many_records_whatever_offsets_are_missing() -> None:
    session, reader, _ = fake_session()
    part = partition(session, Range(100, None), 3)
    assert part.next_batch() == []
    reader.put(record(100, b"1"), record(105, b"2"))
    assert part.next_batch() == []  # waits until it is full
    reader.put(record(200, b"3", time=7), record(201, b"4"))
    (block,) = part.next_batch()
    assert isinstance(block, Block)
    assert (block.partition, block.tick, block.records) == ("t:0", 0, 3)
    assert block.positions.tolist() == [100, 105, 200]
    assert block.times is not None
    assert block.times.tolist() == [0, 0, 7]
    assert part.tick == 1
    assert part.next_batch() == []


def test_a_snapshot_is_the_next_tick_not_what_was_read_ahead() -> None:
    session, reader, _ = fake_session()
    part = partition(session, Range(0, None), 2)
    reader.put(*(record(n, b"%d" % n) for n in range(5)))
    assert len(part.next_batch()) == 1
    first = part.snapshot()
    assert len(part.next_batch()) == 1
    assert part.next_batch() == []  # one record is pending
    assert first == KafkaState(phase="reading", offset=2, record=2, tick=1, rows_per_tick=2)
    assert part.snapshot()["offset"] == 4
    assert first["offset"] == 2  # a snapshot does not change later


def test_a_resumed_partition_goes_on_at_its_tick() -> None:
    session, reader, _ = fake_session()
    state = KafkaState(phase="reading", offset=50, record=20, tick=7, rows_per_tick=2)
    part = partition(session, Range(0, None, 3), 2, state)
    assert reader.feeds["t:0"].fetched == 50
    reader.put(record(50), record(51))
    (block,) = part.next_batch()
    assert isinstance(block, Block)
    assert block.tick == 7
    assert part.snapshot() == KafkaState(
        phase="reading", offset=52, record=22, tick=8, rows_per_tick=2
    )


def test_other_ticks_are_refused_on_resume_but_not_in_asynchronous_time() -> None:
    state = KafkaState(phase="reading", offset=5, record=5, tick=1, rows_per_tick=5)
    with pytest.raises(ConfigurationError, match=r"source.rows_per_tick is 4, .* started with 5"):
        partition(fake_session()[0], Range(0), 4, state)
    part = partition(fake_session()[0], Range(0), 4, state, linger=0.0)
    assert part.snapshot()["rows_per_tick"] == 4


def test_first_tick_is_where_a_partition_that_joined_later_begins() -> None:
    session, reader, _ = fake_session()
    part = partition(session, Range(0, 3, 12), 2)
    assert part.tick == 12
    reader.put(record(0), record(1), record(2))
    items = [item for _ in range(3) for item in part.next_batch()]
    assert [item.tick for item in items[:2] if isinstance(item, Block)] == [12, 13]
    assert items[2] == End("t:0", 13)


@pytest.mark.parametrize("first", [0, 4])
def test_an_empty_range_ends_before_its_first_tick(first: int) -> None:
    session, _, _ = fake_session()
    part = partition(session, Range(8, 8, first), 10)
    assert part.next_batch() == [End("t:0", first - 1)]
    with pytest.raises(StopIteration):
        part.next_batch()


def finish(part: Any) -> list[Any]:
    items = []
    for _ in range(10):
        try:
            items += part.next_batch()
        except StopIteration:
            break
    return items


def test_a_range_ends_at_its_end_though_more_is_there() -> None:
    session, reader, _ = fake_session()
    part = partition(session, Range(0, 5), 2)
    reader.put(*(record(n) for n in range(9)))
    items = finish(part)
    assert [block.positions.tolist() for block in items[:-1]] == [[0, 1], [2, 3], [4]]
    assert items[-1] == End("t:0", 2)
    assert part.snapshot()["phase"] == "done"


def test_a_range_ends_where_no_record_is() -> None:
    """As after the mark of a transaction, or where the last records were compacted away."""
    session, reader, _ = fake_session()
    part = partition(session, Range(0, 5), 2)
    reader.put(record(0))
    assert part.next_batch() == []
    reader.put(position=5)
    items = finish(part)
    assert [item.records if isinstance(item, Block) else item for item in items] == [
        1,
        End("t:0", 0),
    ]


@pytest.mark.parametrize(("phase", "left"), [("end", [End("t:0", 2)]), ("done", [])])
def test_a_partition_that_has_ended_stays_so_without_a_broker(phase: str, left: list[End]) -> None:
    session, reader, watch = fake_session()
    state = KafkaState(phase=phase, offset=5, record=5, tick=3, rows_per_tick=2)
    part = partition(session, Range(0, 5), 2, state)
    assert finish(part) == left
    assert reader.feeds == {}
    assert watch.state == "new"


def test_dead_letters_count_as_records_and_keep_what_they_had() -> None:
    session, reader, _ = fake_session()
    part = partition(session, Range(0, None), 2)
    reader.put(
        record(0, b"bad", 5, key=b"k", headers=[("h", b"v"), ("null", None)]), record(1, b"7")
    )
    (block,) = part.next_batch()
    assert isinstance(block, Block)
    assert block.records == 2
    assert block.X.tolist() == [[7.0]]
    (letter,) = block.dead
    assert (letter.position, letter.raw, letter.key, letter.time) == (0, b"bad", b"k", 5)
    assert letter.headers == (("h", b"v"), ("null", b""))


class Clock:
    """Seconds by hand."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("connectors.kafka.partition.monotonic", clock)
    monkeypatch.setattr("connectors.kafka.feed.monotonic", clock)
    return clock


def test_an_eager_partition_waits_only_for_the_linger(clock: Clock) -> None:
    session, reader, _ = fake_session()
    part = partition(session, Range(0, None), 100, linger=0.05)
    reader.put(record(0), record(1))
    assert part.next_batch() == []  # a full tick may still come
    clock.now += 0.049
    assert part.next_batch() == []
    clock.now += 0.002
    reader.put(record(2))
    (block,) = part.next_batch()
    assert isinstance(block, Block)
    assert block.positions.tolist() == [0, 1, 2]
    assert part.tick == 1


def test_the_linger_begins_when_a_record_comes_not_when_it_is_looked_for(clock: Clock) -> None:
    session, reader, _ = fake_session()
    part = partition(session, Range(0, None), 100, linger=0.05)
    reader.put(record(0))
    clock.now += 0.06
    assert len(part.next_batch()) == 1
    reader.put(record(1))
    clock.now += 0.01
    assert part.next_batch() == []


def test_an_eager_partition_is_awake_when_the_linger_is_over(clock: Clock) -> None:
    session, reader, _ = fake_session()
    part = partition(session, Range(0, None), 100, linger=0.05)
    for _ in range(8):
        part.next_batch()
    reader.put(record(0))
    part.next_batch()
    clock.now += 0.0499
    awake = part.next_awake()
    assert awake is not None
    assert awake.timestamp() < time.time() + 0.001


def test_an_eager_partition_gives_a_full_tick_at_once() -> None:
    session, reader, _ = fake_session()
    part = partition(session, Range(0, None), 2, linger=1000.0)
    reader.put(record(0), record(1), record(2))
    assert len(part.next_batch()) == 1
    assert part.next_batch() == []


def test_a_patient_partition_never_gives_less_than_a_tick(clock: Clock) -> None:
    session, reader, _ = fake_session()
    part = partition(session, Range(0, None), 2)
    reader.put(record(0))
    for _ in range(5):
        assert part.next_batch() == []
        clock.now += 1000


def test_a_partition_without_records_is_asked_less_and_less_often() -> None:
    session, reader, _ = fake_session()
    part = partition(session, Range(0, None), 1)
    for _ in range(8):
        before = time.time()
        part.next_batch()
        awake = part.next_awake()
    assert awake is not None
    assert awake.timestamp() - before > 0.015
    reader.put(record(0))
    part.next_batch()
    assert part.next_awake() is None  # there may be more


def test_what_was_read_is_given_before_a_failure_is_raised() -> None:
    session, reader, _ = fake_session()
    part = partition(session, Range(0, None), 1)
    reader.put(record(0))
    reader.feeds["t:0"].fail(SourceError("topic 't' was deleted"))
    assert len(part.next_batch()) == 1
    with pytest.raises(SourceError, match="deleted"):
        part.next_batch()


def test_progress_follows_what_was_given_not_what_was_read() -> None:
    session, reader, _ = fake_session()
    part = partition(session, Range(3, None), 2)
    session.progress.see_end("t:0", 10)
    assert session.progress.rows()["t:0"]["lag"] == 7
    reader.put(record(3), record(4, time=9), record(5))
    part.next_batch()
    row = session.progress.rows()["t:0"]
    assert (row["offset"], row["end"], row["lag"]) == (5, 10, 5)
    assert row["age"] == pytest.approx(time.time(), abs=5)
    part.next_batch()
    assert session.progress.rows()["t:0"]["offset"] == 5  # one is pending


def test_marks_behind_the_last_record_are_no_lag() -> None:
    session, reader, _ = fake_session()
    part = partition(session, Range(0, None), 1)
    session.progress.see_end("t:0", 2)
    reader.put(record(0))
    part.next_batch()
    reader.put(position=2)
    part.next_batch()
    assert session.progress.rows()["t:0"]["lag"] == 0
    assert part.snapshot()["offset"] == 1


def test_the_session_ends_with_its_last_partition() -> None:
    session, reader, watch = fake_session()
    part = partition(session, Range(0, None), 1)
    session.join("t:1")
    assert watch.state == "started"
    part.close()
    assert not reader.closed
    session.leave("t:1")
    assert reader.closed
    assert watch.state == "stopped"
    assert not session.join("t:2")


def shown(tick: Tick) -> object:
    rows = tick.rows
    return (
        tick.last, tick.time, rows.X.tolist(), np.nan_to_num(rows.y, nan=-1).tolist(),
        rows.positions.tolist(), rows.keys, rows.dead, rows.records,
        None if rows.times is None else rows.times.tolist(),
        None if rows.apart is None else (rows.apart.ids, rows.apart.kinds.tolist()),
    )  # fmt: skip


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 40, 100])
def test_ticks_cut_from_many_records_are_those_made_one_by_one(size: int, apart: bool) -> None:
    form = RecordFormat(
        features=("a",), node_from="key", nodes=frozenset("nm"),
        id_from="header:id" if apart else None,
    )  # fmt: skip
    parser = MessageParser(form, ("a",), "json", Origin("t", "t:0"))
    values = [b'{"a": 1, "y": 2}', b"bad", b'{"a": 3}', b"", b'{"y": 1}', b'{"a": 5, "y": 1}']
    records = [
        record(
            3 * n, values[n % 6] if n // 7 != 3 else b"bad", n, key=b"nmx"[n % 3 : n % 3 + 1],
            headers=[("id", b"%d" % n)] if n % 5 else [],
        )
        for n in range(50)
    ]  # fmt: skip
    singly = [
        tick
        for at in range(0, 50, size)
        for tick in make_ticks(parser, records[at : at + size], size)
    ]
    assert [shown(tick) for tick in make_ticks(parser, records, size)] == list(map(shown, singly))
    assert sum(len(tick.rows.dead) for tick in singly) > 10
    assert sum(len(tick.rows.y) for tick in singly) >= 5
