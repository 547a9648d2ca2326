"""Records to ticks: parsed many at a time, then divided."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from connectors.kafka.feed import Record
from connectors.message_names import Headers
from connectors.rows import Rows

__all__ = ["Parser", "Tick", "make_ticks"]


class Parser(Protocol):
    """What makes rows of messages, as `MessageParser` does."""

    def parse(
        self,
        offsets: Sequence[int],
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        headers: Sequence[Headers],
        times: Sequence[int],
        tick: int | None = None,
    ) -> Rows:
        """Read messages, given as lists of equal length; dead letters are in their order.

        They make ticks of `tick` messages each; None: one.
        """
        ...


class Tick(NamedTuple):
    """The rows of a tick, and its last record's offset and time."""

    rows: Rows
    last: int
    time: int


def make_ticks(parser: Parser, records: Sequence[Record], size: int) -> list[Tick]:
    """Make ticks of `size` records each; the last may have fewer."""
    rows = parser.parse(
        [record.offset for record in records],
        [record.key for record in records],
        [record.value for record in records],
        [_headers(record) for record in records],
        [record.timestamp for record in records],
        size,
    )
    ends = [*records[size - 1 :: size]]
    if len(records) % size:
        ends.append(records[-1])
    pieces = [rows] if len(ends) == 1 else _cut(rows, [end.offset for end in ends], size)
    return [Tick(piece, end.offset, end.timestamp) for piece, end in zip(pieces, ends, strict=True)]


def _headers(record: Record) -> Headers:
    """Give a record's headers; a value may be null in Kafka, and is empty here."""
    headers: Headers = record.headers
    if not headers or all(value is not None for _, value in headers):
        return headers
    return [(name, value or b"") for name, value in headers]


def _cut(rows: Rows, lasts: Sequence[int], size: int) -> Iterator[Rows]:
    """Divide rows after the records with the offsets `lasts`."""
    stops = [0, *np.searchsorted(rows.positions, lasts, side="right").tolist()]
    letters = [letter.position for letter in rows.dead]
    fates = [0, *np.searchsorted(letters, lasts, side="right").tolist()]
    left = rows.records
    for (begin, end), (first, after) in zip(pairwise(stops), pairwise(fates), strict=True):
        part = slice(begin, end)
        yield Rows(
            rows.X[part], rows.y[part], rows.positions[part],
            None if rows.keys is None else rows.keys[part],
            rows.dead[first:after],
            min(size, left),
            None if rows.times is None else rows.times[part],
            None if rows.apart is None else rows.apart.rows(part),
            None if rows.sets is None else rows.sets[part],
        )  # fmt: skip
        left -= size
