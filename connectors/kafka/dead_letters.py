"""Dead letters as records: the original value and key, and why they could not be used."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from anabranch.stream import DeadLetter
from connectors.kafka.place import place_of
from connectors.kafka.producer import LIMIT, Record, size_of
from connectors.records import SourceError

__all__ = ["TRUNCATED", "dead_letter_records", "decode_dead_letter"]

Headers = Sequence[tuple[str, bytes]]

TRUNCATED = "anabranch.truncated"
"""The header of a dead letter that is not all of its original; it has the value's length."""

_OURS = {
    f"anabranch.{name}"
    for name in ("id", "reason", "detail", "topic", "partition", "offset", "source", "time")
} | {TRUNCATED}
_LONGEST_DETAIL = 1000
_TRUNCATED_SIZE = size_of(None, b"", [(TRUNCATED, b"9" * 10)])


class _Read(Protocol):
    key: bytes | None
    value: bytes | None
    headers: Headers


def dead_letter_records(letter: DeadLetter, limit: int = LIMIT) -> list[Record]:
    r"""Make one record of a dead letter: the bytes that came, under the key they came with.

    Its headers say why: anabranch.id ("topic:partition:offset:reason", the same after a crash),
    .reason, .detail, .topic, .partition, .offset, .time (ms since 1970, of the original, where
    known), then come the original's own headers, unchanged. What did not come from a topic has
    its partition's name as .topic, no .partition, and .source where that is another.

    An original too long for a record of size `limit` is cut: its headers go when they alone
    take a quarter, the key at a quarter, then the value. Then .truncated says so.

    >>> record = dead_letter_records(DeadLetter("malformed", "no", "a", "a:1", 7, b"{"))[0]
    >>> record.value, record.headers[0]
    (b'{', ('anabranch.id', b'a:1:7:malformed'))
    """
    ours = _headers(letter, limit)
    original = letter.headers if size_of(None, b"", letter.headers) <= limit // 4 else ()
    key = None if letter.key is None else letter.key[: limit // 4]
    room = max(0, limit - size_of(key, b"", [*ours, *original]) - _TRUNCATED_SIZE)
    if len(letter.raw) > room or key != letter.key or original != letter.headers:
        ours.append((TRUNCATED, b"%d" % len(letter.raw)))
    return [Record(key, letter.raw[:room], [*ours, *original], None)]


def decode_dead_letter(record: _Read) -> DeadLetter:
    """Give the dead letter that a record was made of.

    Raises
    ------
    SourceError
        The record is no dead letter.

    >>> letter = DeadLetter("malformed", "no", "a", "a:1", 7, b"{", b"k", (("h", b"1"),), 5)
    >>> decode_dead_letter(dead_letter_records(letter)[0]) == letter
    True
    """
    ours, original = _split(record.headers)
    for name in ("reason", "detail", "topic", "offset"):
        if name not in ours:
            raise SourceError(
                f"a record has no header anabranch.{name}: it is no dead letter; name a topic of"
                " dead letters"
            )
    topic = ours["topic"]
    return DeadLetter(
        ours["reason"],
        ours["detail"],
        ours.get("source", topic),
        f"{topic}:{_number(ours, 'partition')}" if "partition" in ours else topic,
        _number(ours, "offset"),
        record.value or b"",
        record.key,
        original,
        _number(ours, "time") if "time" in ours else None,
    )


def _number(ours: Mapping[str, str], name: str) -> int:
    try:
        return int(ours[name])
    except ValueError:
        raise SourceError(
            f"a record's header anabranch.{name} is {ours[name]!r}: allowed are whole numbers"
        ) from None


def _headers(letter: DeadLetter, limit: int) -> list[tuple[str, bytes]]:
    place = place_of(letter.partition)
    named: dict[str, Any] = {
        "id": f"{place.topic}:{place.number}:{letter.position}:{letter.reason}",
        "reason": letter.reason,
        "detail": letter.detail[: min(_LONGEST_DETAIL, limit // 8)],
        "topic": place.topic,
        "partition": place.number,
        "offset": letter.position,
    }
    if letter.partition == place.topic:
        del named["partition"]
    if letter.source != place.topic:
        named["source"] = letter.source
    if letter.time is not None:
        named["time"] = letter.time
    return [(f"anabranch.{name}", str(value).encode()) for name, value in named.items()]


def _split(headers: Headers) -> tuple[dict[str, str], tuple[tuple[str, bytes], ...]]:
    """Part ours, which come first and once each, from the original's."""
    ours: dict[str, str] = {}
    for at, (name, value) in enumerate(headers):
        short = name.removeprefix("anabranch.")
        if name not in _OURS or short in ours:
            return ours, tuple(headers[at:])
        ours[short] = value.decode(errors="replace")
    return ours, ()
