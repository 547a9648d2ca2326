"""A partition's queue: what it gives, how much it holds."""

import pytest

from connectors.kafka.feed import Feed, memory_of
from connectors.kafka.progress import Progress
from connectors.records import SourceError
from tests.connectors.kafka.reading import record


def offsets(feed: Feed, most: int) -> list[int]:
    return [one.offset for one in feed.take(most)]


def filled(*sizes: int, room: int = 1 << 20, until: int | None = None) -> Feed:
    """Make a feed with a chunk of so many records each."""
    feed, at = Feed("t", 0, 0, until, room), 0
    for size in sizes:
        feed.put([record(n) for n in range(at, at + size)], at + size, None)
        at += size
    return feed


def test_records_come_in_order_whatever_chunks_they_came_in() -> None:
    feed = filled(3, 1, 4)
    assert [offsets(feed, most) for most in (2, 3, 1, 10, 5)] == [
        [0, 1], [2, 3, 4], [5], [6, 7], [],
    ]  # fmt: skip
    assert feed.position == 8


def test_the_position_is_after_what_was_taken() -> None:
    feed = filled(2, 2)
    assert feed.position == 0
    feed.take(3)
    assert feed.position == 3
    feed.take(3)
    feed.put([], 9, 9)  # no records up to there
    assert (feed.position, feed.end) == (9, 9)


def test_a_full_feed_is_not_hungry_until_half_is_gone() -> None:
    one = memory_of([record(0)])
    feed = filled(1, 1, 1, 1, room=3 * one + one // 2)
    assert not feed.hungry()
    feed.take(1)
    assert not feed.wake.is_set()
    assert not feed.hungry()
    feed.take(2)
    assert feed.wake.is_set()
    assert feed.hungry()


def test_memory_counts_keys_values_and_headers() -> None:
    plain = memory_of([record(0, b"")])
    assert memory_of([record(0, b"x" * 1000)]) == plain + 1000
    assert memory_of([record(n) for n in range(7)]) == 7 * memory_of([record(0)])


def test_a_feed_ends_at_its_end() -> None:
    feed = filled(3, 4, until=5)
    assert not feed.hungry()
    assert offsets(feed, 100) == [0, 1, 2, 3, 4]
    assert feed.ended
    assert filled(until=0).ended
    assert not filled(3, until=5).ended
    assert not filled(3).ended


def test_a_failed_feed_is_never_read_again_and_keeps_its_first_reason() -> None:
    feed = filled(2)
    feed.fail(SourceError("first"))
    feed.fail(SourceError("second"))
    assert not feed.hungry()
    assert offsets(feed, 1) == [0]
    assert offsets(feed, 5) == [1]
    for _ in range(2):
        with pytest.raises(SourceError, match="first"):
            feed.take(5)


def test_records_clear_an_error() -> None:
    feed = filled(1)
    feed.error = "partition t:0 cannot be decoded"
    feed.put([record(1)], 2, None)
    assert feed.error is None


def test_progress_tells_ages_and_stillness() -> None:
    now = [100.0]
    progress = Progress(lambda: now[0])
    progress.open("t:0", 5)
    now[0] = 130.0
    assert progress.rows()["t:0"] == {
        "offset": 5, "end": None, "lag": None, "age": None, "still": 30.0, "error": None,
    }  # fmt: skip
    progress.move("t:0", 6, 1000)
    progress.see_end("t:0", 4)  # asked before it moved
    now[0] = 131.0
    row = progress.rows()["t:0"]
    assert (row["still"], row["lag"]) == (1.0, 0)
    assert row["age"] > 1e9
    progress.move("t:0", 6)
    assert progress.rows()["t:0"]["still"] == 1.0


def test_a_range_that_ends_is_not_behind_what_comes_later() -> None:
    progress = Progress()
    progress.open("t:0", 5, 8)
    assert progress.rows()["t:0"]["lag"] == 3
    progress.see_end("t:0", 100)
    assert progress.rows()["t:0"]["end"] == 8


def test_errors_of_a_partition_come_before_those_of_all() -> None:
    progress = Progress()
    progress.open("t:0", 0)
    progress.open("t:1", 0)
    progress.miss("no broker answers")
    progress.fail("t:0", "cannot be decoded")
    errors = {name: row["error"] for name, row in progress.rows().items()}
    assert errors == {"t:0": "cannot be decoded", "t:1": "no broker answers"}
    progress.miss(None)
    progress.fail("t:0", None)
    assert all(row["error"] is None for row in progress.rows().values())


def test_a_notice_is_given_once() -> None:
    progress = Progress()
    for sentence in ("b", "a", "b"):
        progress.say(sentence)
    assert progress.notices == ("b", "a")
