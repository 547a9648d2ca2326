"""A hundred thousand hostile messages: each becomes a row or a dead letter, in flat memory."""

import json
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import msgspec
import pytest

from connectors.message_layout import MessageFormat
from connectors.messages import MessageParser
from connectors.records import REASONS, RecordFormat
from connectors.rows import Origin

NAMES = tuple(f"x{i}" for i in range(6))
NODES = frozenset(f"n{i}" for i in range(4))
BODY = 900_000
TICK = 500
Message = tuple[bytes | None, bytes | None]


def encode(format: MessageFormat, record: Any) -> bytes:
    if format == "msgpack":
        return msgspec.msgpack.encode(record)
    if format == "csv":
        return ",".join(map(str, record.values())).encode()
    return json.dumps(record).encode()


def good(draw: Random) -> dict[str, Any]:
    return {**{name: draw.gauss(0, 1) for name in NAMES}, "y": draw.randint(1, 5)}


def junk(draw: Random, format: MessageFormat) -> bytes:
    return draw.randbytes(draw.randrange(200))


def cut(draw: Random, format: MessageFormat) -> bytes:
    whole = encode(format, good(draw))
    return whole[: draw.randrange(len(whole))]


def flipped(draw: Random, format: MessageFormat) -> bytes:
    whole = bytearray(encode(format, good(draw)))
    for _ in range(draw.randint(1, 3)):
        whole[draw.randrange(len(whole))] = draw.randrange(256)
    return bytes(whole)


def retyped(draw: Random, format: MessageFormat) -> bytes:
    wrong = draw.choice([None, True, "text", "", [], [1, [2]], {"a": {}}, "1", "NaN", "é"])
    return encode(format, good(draw) | {draw.choice([*NAMES, "y", "x9"]): wrong})


def huge(draw: Random, format: MessageFormat) -> bytes:
    if format == "msgpack":
        value = draw.choice([2**64 - 1, -(2**63), 1e308, float("inf"), float("nan")])
        return encode(format, good(draw) | {draw.choice(NAMES): value})
    digits = draw.choice("19") * draw.randrange(1, 2000)
    number = digits + draw.choice(["", ".5", "e5", "e99999", "e-99999", "." + digits])
    text = encode(format, good(draw) | {draw.choice([*NAMES, "y"]): 0.0}).decode()
    return text.replace("0.0", number).encode()


def nested(draw: Random, format: MessageFormat) -> bytes:
    depth = draw.choice([10, 500, 990, 1100, 5000])
    if format == "msgpack":
        return draw.choice([b"\x91" * depth, b"\x81\xa1a" * depth]) + b"\x01"
    shut = depth if draw.random() < 0.5 else draw.randrange(depth)
    deep = draw.choice(["[" * depth + "]" * shut, '{"a":' * depth + "1" + "}" * shut])
    return ('{"x0": ' + deep + ', "y": 1}').encode()


def renamed(draw: Random, format: MessageFormat) -> bytes:
    record = good(draw)
    record[draw.choice(["", "y ", "X0", "x\0", "é" * 50])] = record.pop(draw.choice([*NAMES, "y"]))
    return encode(format, record)


def large(draw: Random, format: MessageFormat) -> bytes:
    kind = draw.randrange(5)
    fill = (b"\x90", b"\xc0", b"\xff", b"[", b"9")[kind]
    if kind == 0:
        return b"\xdd" + BODY.to_bytes(4, "big") + fill * BODY
    if kind == 1:
        return encode(format, good(draw)) + b" " * BODY
    return draw.choice([b"", b'{"x0": ', b"\xdb\0\x0d\xbb\xa0", b'"']) + fill * BODY


KINDS: list[Callable[[Random, MessageFormat], bytes]] = [
    *[junk, cut, flipped, retyped, huge, renamed] * 3, nested,
]  # fmt: skip
KEYS = [b"n0", b"n1", b"n2", b"n3", b"n0", b"n1", b"n9", b"", b"\xff\xfe", None, b"k" * 5000]


def messages(draw: Random, format: MessageFormat, count: int) -> Iterator[Message]:
    for i in range(count):
        if i % 3 == 0:
            yield b"n1", encode(format, good(draw))
        elif i % 1499 == 1:
            yield b"n1", large(draw, format)
        else:
            value = draw.choice(KINDS)(draw, format)
            yield draw.choice(KEYS), None if draw.random() < 0.01 else value


def check(parser: MessageParser, some: list[Message], first: int) -> Counter[str]:
    """Parse a tick; count what became of its messages, each of which must be accounted for."""
    keys, values = [key for key, _ in some], [value for _, value in some]
    offsets = list(range(first, first + len(some)))
    rows = parser.parse(offsets, keys, values, [[]] * len(some), offsets)
    read, dead = rows.positions.tolist(), [letter.position for letter in rows.dead]
    assert rows.records == len(some)
    assert sorted(read + dead) == offsets
    assert {offset for offset in offsets if offset % 3 == 0} <= set(read)
    for letter in rows.dead:
        assert letter.raw == (values[letter.position - first] or b"")
    return Counter([letter.reason for letter in rows.dead] + ["good"] * len(read))


@pytest.mark.parametrize(
    ("format", "count"), [("json", 100_000), ("msgpack", 15_000), ("csv", 15_000)]
)
def test_every_hostile_message_is_accounted_for(format: MessageFormat, count: int) -> None:
    form = RecordFormat(ranks=5, node_from="key", nodes=NODES, features=NAMES)
    parser = MessageParser(form, NAMES, format, Origin("t", "t:0"))
    source, fates, held = messages(Random(7), format, count), Counter[str](), []
    for first in range(0, count, TICK):
        if first == count - 5 * TICK:
            tracemalloc.start()
        fates += check(parser, [next(source) for _ in range(TICK)], first)
        held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert fates.total() == count
    assert set(fates) - {"good"} <= set(REASONS)
    assert len(fates) > 9
    assert held[-1] - held[-4] < 500_000
