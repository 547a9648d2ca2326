"""What the tests of the Kafka source share."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from kafka.consumer.fetcher import ConsumerRecord

from anabranch.stream import Block, DeadLetter, End
from connectors.kafka.feed import Feed
from connectors.kafka.partition import KafkaPartition, KafkaState
from connectors.kafka.progress import Progress
from connectors.kafka.ranges import Range, resolve_ranges
from connectors.kafka.session import Session
from connectors.kafka.settings import KafkaSettings
from connectors.kafka.source import KafkaSource
from connectors.messages import MessageParser
from connectors.records import RecordFormat
from connectors.rows import Origin, Rows

Seen = list[Block | End]
PATIENCE = 60.0
"""Seconds after which a test gives up; none should come near."""


def record(offset: int, value: bytes | None = b"1", time: int = 0, **further: Any) -> Any:
    """Make a record as kafka-python does."""
    parts = {"key": None, "headers": [], **further}
    sizes = (-1, -1 if value is None else len(value), -1)
    return ConsumerRecord(
        "t", 0, -1, offset, time, 0, parts["key"], value, parts["headers"], None, *sizes
    )


class FakeReader:
    """A reader whose records are given by hand, through a real feed."""

    def __init__(self) -> None:
        self.feeds: dict[str, Feed] = {}
        self.closed = False

    def add(self, topic: str, number: int, offset: int, until: int | None = None) -> None:
        feed = Feed(topic, number, offset, until, 1 << 20)
        self.feeds[feed.name] = feed

    def put(self, *records: Any, position: int | None = None, name: str = "t:0") -> None:
        """Let records come; `position` is where the client stands after them."""
        after = records[-1].offset + 1 if position is None else position
        self.feeds[name].put(list(records), after, None)

    def take(self, name: str, most: int) -> list[Any]:
        return self.feeds[name].take(most)

    def position(self, name: str) -> int:
        return self.feeds[name].position

    def since(self, name: str) -> float | None:
        return self.feeds[name].since

    def ended(self, name: str) -> bool:
        return self.feeds[name].ended

    def close(self) -> None:
        self.closed = True


class FakeWatch:
    """Watches nothing."""

    state = "new"

    def start(self) -> None:
        assert self.state == "new"
        self.state = "started"

    def stop(self) -> None:
        self.state = "stopped"


class FakeParser:
    """Rows of one feature and label, both the number in the value; no number is a dead letter."""

    def parse(
        self,
        offsets: Sequence[int],
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        headers: Sequence[Any],
        times: Sequence[int],
        tick: int | None = None,
    ) -> Rows:
        good = [i for i, value in enumerate(values) if value is not None and value.isdigit()]
        dead = tuple(
            DeadLetter(
                "malformed", "", "t", "t:0", offsets[i], values[i] or b"", keys[i],
                tuple(headers[i]), times[i],
            )
            for i in range(len(values)) if i not in good
        )  # fmt: skip
        numbers = np.array([float(values[i] or 0) for i in good])
        positions = np.array([offsets[i] for i in good], np.int64)
        clock = np.array([times[i] for i in good], np.int64)
        return Rows(numbers[:, None], numbers, positions, None, dead, len(values), clock)


def fake_session() -> tuple[Session, FakeReader, FakeWatch]:
    reader, watch = FakeReader(), FakeWatch()
    return Session(reader, watch, Progress()), reader, watch  # type: ignore[arg-type]


def partition(
    session: Session, range: Range, rows: int, state: KafkaState | None = None, **options: Any
) -> KafkaPartition:
    """Make partition t:0 of a session."""
    session.join("t:0")
    return KafkaPartition("t:0", range, rows, options.get("linger"), FakeParser(), session, state)


def need_apache(kafka: Any, what: str) -> None:
    """Skip a test where the broker lacks something."""
    if kafka.kind != "apache":
        pytest.skip(f"needs Apache Kafka: {what}")


def settings(kafka: Any, **options: Any) -> KafkaSettings:
    return KafkaSettings(tuple(kafka.brokers), **options)


def topic_source(kafka: Any, *topics: str, rows: int = 10, **options: Any) -> KafkaSource:
    """Make a source of JSON messages with features a and b, label y."""
    reach = options.pop("settings", None) or settings(kafka)
    until_end, start = options.pop("until_end", True), options.pop("start", "earliest")
    ranges = options.pop("ranges", None) or resolve_ranges(reach, topics, start, until_end)
    form = options.pop("form", RecordFormat(features=("a", "b")))

    def parser(origin: Origin) -> MessageParser:
        return MessageParser(form, ("a", "b"), "json", origin)

    options.setdefault("watch_every", 0.2)
    return KafkaSource(reach, ranges, rows, parser, ("a", "b"), **options)


def message(number: int) -> bytes:
    """Make a sample that tells its number."""
    return b'{"a": %d, "b": 0.5, "y": %d}' % (number, number % 3 + 1)


class Reading:
    """Partitions of a source that are read in turn, as a dataflow does it."""

    def __init__(self, source: KafkaSource, states: dict[str, KafkaState] | None = None) -> None:
        self.source = source
        self.parts = {
            name: source.build_part("step", name, (states or {}).get(name))
            for name in source.list_parts()
        }
        self.seen: dict[str, Seen] = {name: [] for name in self.parts}
        self.live = set(self.parts)

    def __enter__(self) -> "Reading":
        return self

    def __exit__(self, *_: object) -> None:
        for part in self.parts.values():
            part.close()

    def poll(self) -> int:
        """Ask every partition once; give the number of items."""
        before = sum(map(len, self.seen.values()))
        for name in sorted(self.live):
            try:
                self.seen[name] += self.parts[name].next_batch()
            except StopIteration:
                self.live.discard(name)
        return sum(map(len, self.seen.values())) - before

    def until(self, done: Callable[[], bool], what: str = "") -> "Reading":
        """Read until something holds."""
        deadline = time.monotonic() + PATIENCE
        while not done():
            if time.monotonic() > deadline:
                raise AssertionError(f"waited {PATIENCE} s for {what}, have {self.count()} records")
            if not self.poll():
                time.sleep(0.002)
        return self

    def to_end(self) -> "Reading":
        return self.until(lambda: not self.live, "the end")

    def until_rows(self, count: int) -> "Reading":
        return self.until(lambda: self.count() >= count, f"{count} records")

    def blocks(self, name: str | None = None) -> list[Block]:
        names = self.seen if name is None else [name]
        return [item for one in names for item in self.seen[one] if isinstance(item, Block)]

    def count(self) -> int:
        return sum(block.records for block in self.blocks())

    def numbers(self, name: str | None = None) -> list[int]:
        """Give feature a of all rows."""
        return [int(number) for block in self.blocks(name) for number in block.X[:, 0]]

    def dead(self) -> list[DeadLetter]:
        return [letter for block in self.blocks() for letter in block.dead]

    def states(self) -> dict[str, KafkaState]:
        return {name: part.snapshot() for name, part in self.parts.items()}

    def row(self, name: str) -> dict[str, Any]:
        return self.source.progress.rows()[name]


def spread(numbers: Sequence[int], partitions: int) -> Iterator[tuple[int, list[int]]]:
    """Deal numbers to partitions in turn."""
    for number in range(partitions):
        yield number, list(numbers[number::partitions])
