"""Letters in a topic: this site's nodes get theirs, once, in order, and what is refused is told."""

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from anabranch.letters import Letter, SiteNews
from anabranch.protocol import Message
from anabranch.stream import DeadLetter
from connectors.kafka.letter_codec import Envelope, encode_letter, letter_key
from connectors.kafka.letter_source import LetterPartition, LetterSource, Mailbox
from connectors.kafka.producer import Record
from connectors.kafka.progress import Progress
from connectors.kafka.ranges import Range
from connectors.kafka.settings import KafkaSettings
from connectors.kafka.sink import KafkaSink
from connectors.records import SourceError
from tests.brokers.client import Kafka

ENVELOPE = Envelope("run-7", "4f1c", "dsvor", "9a30")
NEIGHBOURS = {"a": ["b", "c"], "b": ["a", "c"], "c": ["a", "b"]}
LONG = 60.0
Post = Letter | DeadLetter


def letter(round: int, sender: str = "a", receiver: str = "b", **further: Any) -> Letter:
    message = Message({"w": np.full(3, float(round))})
    return Letter(sender, receiver, round, further.pop("message", message), **further)


def nothing_new(round: int, sender: str = "a") -> Letter:
    return letter(round, sender, message=None, unchanged=True)


def what(item: Post) -> tuple[Any, ...]:
    """Give a short name for what was read."""
    if isinstance(item, DeadLetter):
        return item.reason, item.position
    parameters = None if item.message is None else float(item.message.arrays["w"][0])
    return item.sender, item.round, parameters


class Stored(NamedTuple):
    """A record as a reader gives it."""

    offset: int
    key: bytes | None
    value: bytes | None
    topic: str = "p"
    partition: int = 0
    headers: Sequence[tuple[str, bytes]] = ()
    timestamp: int = 5


class Memory:
    """In place of a session and its reader: a partition in memory."""

    def __init__(self, pairs: Sequence[tuple[bytes | None, bytes | None]]) -> None:
        self.records = [Stored(offset, *pair) for offset, pair in enumerate(pairs)]
        self.reader = self
        self.progress = Progress()
        self.at = 0

    def read(self, name: str, offset: int, until: int | None) -> None:
        self.at = offset

    def take(self, name: str, most: int) -> list[Stored]:
        taken = self.records[self.at : self.at + most]
        self.at += len(taken)
        return taken

    def position(self, name: str) -> int:
        return self.at


def mailbox() -> Mailbox:
    return Mailbox(ENVELOPE, ["b"], NEIGHBOURS)


def partition_of(
    *items: Letter | tuple[bytes | None, bytes | None], offset: int = 0
) -> LetterPartition:
    pairs = [encode_letter(i, ENVELOPE) if isinstance(i, Letter) else i for i in items]
    return LetterPartition("p:0", offset, mailbox(), Memory(pairs))  # type: ignore[arg-type]


BROKEN = (letter_key("b", "a"), b"\xc1")


def test_letters_come_in_order_up_to_a_round() -> None:
    part = partition_of(letter(0), letter(0, "c"), letter(1), letter(2), letter(1, "c"), letter(3))
    assert [what(item) for item in part.read(1)] == [("a", 0, 0.0), ("c", 0, 0.0), ("a", 1, 1.0)]
    assert part.snapshot() == 3
    assert part.read(1) == []
    assert [what(item) for item in part.read(2)] == [("a", 2, 2.0), ("c", 1, 1.0)]
    assert part.snapshot() == 5
    assert [what(item) for item in part.read(9)] == [("a", 3, 3.0)]
    assert part.snapshot() == 6
    assert part.read(9) == []


def test_a_letter_comes_whole() -> None:
    sent = letter(4, last=True, news={"north": SiteNews(4, None), "south": SiteNews(3, 9)})
    (read,) = partition_of(sent).read(4)
    assert isinstance(read, Letter)
    assert (read.sender, read.receiver, read.round, read.last) == ("a", "b", 4, True)
    assert read.news == sent.news


def test_what_is_for_nodes_elsewhere_is_passed_over_unread() -> None:
    elsewhere = [
        (letter_key("a", "c"), b"\xc1"),
        (letter_key("a", "stranger"), b"\xc1"),
        encode_letter(letter(7, "b", "c"), ENVELOPE),
    ]
    for until in (0, None):
        part = partition_of(*elsewhere, letter(0), *elsewhere)
        assert [what(item) for item in part.read(until)] == [("a", 0, 0.0)]
        assert part.snapshot() == 7


def test_a_refused_letter_is_told_whole() -> None:
    other_run = encode_letter(letter(0), Envelope("run-8", "4f1c", "dsvor", "9a30"))
    for until in (0, None):
        part = partition_of(letter(0, "c"), other_run, letter(0))
        _, refused, _ = part.read(until)
        assert refused == DeadLetter(
            "other_run",
            "the letter is of 'run-8', and this site takes 'run-7'",
            "p",
            "p:0",
            1,
            other_run[1],
            other_run[0],
            (),
            5,
        )


@pytest.mark.parametrize("until", [0, None])
def test_every_refusal_is_told(until: int | None) -> None:
    part = partition_of(
        (None, None),
        (b"junk", b"junk"),
        (letter_key("nobody", "a"), b""),
        encode_letter(letter(0, "b", "nobody"), ENVELOPE),
        encode_letter(letter(0, "nobody", "b"), ENVELOPE),
        letter(0, "c"),
        letter(0, message=Message({"w": np.array([np.nan])})),
    )
    assert [what(item) for item in part.read(until)] == [
        ("malformed_message", 0),
        ("malformed_message", 1),
        ("malformed_message", 2),
        ("not_a_neighbour", 3),
        ("not_a_neighbour", 4),
        ("c", 0, 0.0),
        ("not_finite_message", 6),
    ]
    assert part.snapshot() == 7


def test_without_a_limit_only_the_newest_of_each_pair_counts() -> None:
    part = partition_of(letter(0), letter(0, "c"), letter(1), BROKEN, letter(2), letter(1, "c"))
    assert [what(item) for item in part.read(None)] == [
        ("malformed_message", 3),
        ("a", 2, 2.0),
        ("c", 1, 1.0),
    ]
    assert part.snapshot() == 6
    assert part.read(None) == []


def test_the_arrays_of_letters_that_nobody_needs_are_not_read() -> None:
    bad = letter(0, message=Message({"w": np.array([np.nan])}))
    assert [what(item) for item in partition_of(bad, letter(1)).read(None)] == [("a", 1, 1.0)]


def test_when_the_newest_is_refused_the_one_before_counts() -> None:
    part = partition_of(letter(0), letter(1), BROKEN, BROKEN)
    assert [what(item) for item in part.read(None)] == [
        ("a", 1, 1.0),
        ("malformed_message", 2),
        ("malformed_message", 3),
    ]


def test_when_the_newest_refers_to_one_before_both_are_there() -> None:
    part = partition_of(letter(0), letter(1), nothing_new(2), nothing_new(3), nothing_new(3, "c"))
    assert [what(item) for item in part.read(None)] == [
        ("a", 1, 1.0),
        ("a", 3, None),
        ("c", 3, None),
    ]


def test_a_sender_that_falls_silent_hides_what_it_said_before() -> None:
    part = partition_of(letter(0), letter(1, message=None))
    assert [what(item) for item in part.read(None)] == [("a", 1, None)]


def test_a_limit_may_come_and_go() -> None:
    memory = Memory([encode_letter(letter(round), ENVELOPE) for round in (0, 5, 6, 7)])
    part = LetterPartition("p:0", 0, mailbox(), memory)  # type: ignore[arg-type]
    assert [what(item) for item in part.read(0)] == [("a", 0, 0.0)]
    assert [what(item) for item in part.read(None)] == [("a", 7, 7.0)]
    assert part.snapshot() == 4
    memory.records.append(Stored(4, *encode_letter(letter(8), ENVELOPE)))
    assert [what(item) for item in part.read(8)] == [("a", 8, 8.0)]


def test_a_long_backlog_is_read_in_pieces() -> None:
    part = partition_of(*(letter(round) for round in range(1200)))
    pieces = [part.read(2000) for _ in range(4)]
    assert [what(item)[1] for piece in pieces for item in piece] == list(range(1200))
    assert max(map(len, pieces)) <= 500


def test_the_progress_has_how_far_it_is() -> None:
    part = partition_of(letter(0), letter(5))
    part.read(0)
    assert part._session.progress.rows()["p:0"]["offset"] == 1


def source(kafka: Kafka, topic: str, partitions: int = 1, **further: Any) -> LetterSource:
    ranges = {f"{topic}:{number}": Range(0) for number in range(partitions)}
    settings = KafkaSettings(tuple(kafka.brokers), timeout=5)
    return LetterSource(settings, ranges, mailbox(), watch_every=0.5, **further)


def read_all(part: LetterPartition, until: int | None, count: int) -> list[Post]:
    """Read until so many have come."""
    items: list[Post] = []
    deadline = time.monotonic() + LONG
    while len(items) < count:
        assert time.monotonic() < deadline
        items += part.read(until)
    return items


@pytest.fixture
def parts() -> Iterator[list[LetterPartition]]:
    opened: list[LetterPartition] = []
    yield opened
    for part in opened:
        part.close()


def send(kafka: Kafka, topic: str, letters: Sequence[Letter], **further: Any) -> None:
    sink = KafkaSink[Letter](
        KafkaSettings(tuple(kafka.brokers)),
        topic,
        lambda letter: [Record(*encode_letter(letter, ENVELOPE), [], None)],
        **further,
    )
    part = sink.build_part("letters", "00000", None)
    part.write_batch(list(letters))
    part.close()


def test_letters_go_through_a_topic_and_a_resumed_site_reads_on(
    kafka: Kafka, parts: list[LetterPartition]
) -> None:
    topic = kafka.topic()
    send(kafka, topic, [letter(round, sender) for round in range(50) for sender in "ac"])
    first = source(kafka, topic).build_part("letters", f"{topic}:0", None)
    items = read_all(first, 19, 40)
    assert [what(item)[:2] for item in items] == [(s, r) for r in range(20) for s in "ac"]
    state = first.snapshot()
    assert state == 40
    first.close()
    again = source(kafka, topic).build_part("letters", f"{topic}:0", state)
    parts.append(again)
    items = read_all(again, 49, 60)
    assert [what(item)[:2] for item in items] == [(s, r) for r in range(20, 50) for s in "ac"]
    assert again.snapshot() == 100


def test_letters_are_spread_over_no_more_partitions_than_are_read(
    kafka: Kafka, parts: list[LetterPartition]
) -> None:
    topic = kafka.topic(partitions=4)
    send(kafka, topic, [letter(0, "a"), letter(0, "c")], partitions=2)
    letters = source(kafka, topic, partitions=2)
    parts.extend(letters.build_part("letters", name, None) for name in letters.list_parts())
    deadline = time.monotonic() + LONG
    found: list[Post] = []
    while len(found) < 2:
        assert time.monotonic() < deadline
        for part in parts:
            found += part.next_batch()
    assert sorted(what(item)[0] for item in found) == ["a", "c"]


def test_letters_that_were_deleted_stop_the_job_or_are_passed_over(
    kafka: Kafka, parts: list[LetterPartition]
) -> None:
    topic = kafka.topic()
    send(kafka, topic, [letter(round) for round in range(10)])
    kafka.expire(topic, 0, 6)
    strict = source(kafka, topic).build_part("letters", f"{topic}:0", 3)
    parts.append(strict)
    with pytest.raises(
        SourceError, match=rf"^partition {topic}:0 has no offset 3 any more: .*start all"
    ):
        read_all(strict, 9, 1)
    lenient = source(kafka, topic, on_expired="earliest").build_part("letters", f"{topic}:0", 3)
    parts.append(lenient)
    assert [what(item)[1] for item in read_all(lenient, 9, 4)] == [6, 7, 8, 9]


def test_a_parameter_topic_that_is_deleted_stops_the_job(
    kafka: Kafka, parts: list[LetterPartition]
) -> None:
    topic = kafka.topic()
    send(kafka, topic, [letter(0)])
    part = source(kafka, topic).build_part("letters", f"{topic}:0", None)
    parts.append(part)
    read_all(part, 0, 1)
    kafka.delete(topic)
    with pytest.raises(SourceError, match=rf"topic '{topic}' was deleted"):
        read_all(part, 0, 1)
