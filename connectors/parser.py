"""Buffers of text to rows and dead letters: the fast path, and the careful one behind it."""

from dataclasses import dataclass, field

import numpy as np

from anabranch.errors import ConfigurationError
from anabranch.protocol import Array, freeze
from anabranch.stream import RAW_LIMIT, Apart, Block, DeadLetter
from connectors.names import NodeNames
from connectors.records import Codec, RecordFormat
from connectors.scan import scan
from connectors.template import CSV, Template
from connectors.values import BadRecord

__all__ = ["Origin", "RecordParser", "Rows", "join_rows"]

_NOTHING = Template.of([b""], [], [], CSV)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where records come from, as dead letters tell it."""

    source: str
    partition: str

    def dead(self, reason: str, detail: str, position: int, raw: bytes) -> DeadLetter:
        """Make a dead letter; the raw record is cut to RAW_LIMIT bytes.

        >>> Origin("a.csv", "a.csv").dead("malformed", "no", 3, b"?" * 5000).raw == b"?" * 1000
        True
        """
        return DeadLetter(reason, detail, self.source, self.partition, position, raw[:RAW_LIMIT])


@dataclass(frozen=True, slots=True)
class Rows:
    """Records in the order they were read: the good ones as arrays, the bad ones apart."""

    X: Array
    y: Array
    positions: Array
    keys: list[str] | None
    dead: tuple[DeadLetter, ...] = ()
    records: int = 0
    times: Array | None = None
    apart: Apart | None = None

    def block(self, partition: str, tick: int, held: Array | None) -> Block:
        """Make a tick's block; `held` are the sorted record numbers that are held back."""
        mask = None
        if held is not None:
            mask = freeze(np.isin(self.positions, held))
        return Block(
            partition, tick, freeze(self.X), freeze(self.y), freeze(self.positions), self.keys,
            mask if mask is not None and mask.any() else None, self.dead, self.records,
            None if self.times is None else freeze(self.times), self.apart,
        )  # fmt: skip


def join_rows(parts: list[Rows], width: int, named: bool) -> Rows:
    """Put pieces of a tick together; no pieces make rows of no records."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        whole = np.empty(0, np.int64)
        return Rows(np.empty((0, width)), np.empty(0), whole, [] if named else None)
    keys = [name for part in parts for name in part.keys or ()]
    return Rows(
        np.concatenate([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        np.concatenate([part.positions for part in parts]),
        keys if named else None,
        tuple(letter for part in parts for letter in part.dead),
        sum(part.records for part in parts),
        _join([part.times for part in parts]),
        _join_apart([part.apart for part in parts]),
    )


def _join(arrays: list[Array | None]) -> Array | None:
    there = [array for array in arrays if array is not None]
    return np.concatenate(there) if len(there) == len(arrays) else None


def _join_apart(parts: list[Apart | None]) -> Apart | None:
    there = [part for part in parts if part is not None]
    if len(there) < len(parts):
        return None
    return Apart(
        freeze(np.concatenate([part.kinds for part in there])),
        [id for part in there for id in part.ids],
        freeze(np.concatenate([part.times for part in there])),
    )


@dataclass(slots=True)
class _Scanned:
    """What `scan` found in one buffer, as views of its outputs."""

    X: Array
    y: Array
    names: Array
    lines: Array
    odd: Array
    keys: list[str | None] = field(default_factory=list)


class RecordParser:
    """Parses the records of one file; `fast=False` reads all of them carefully (for tests).

    Raises
    ------
    ConfigurationError
        The format looks for nodes or ids where only messages have them.
    """

    def __init__(
        self, form: RecordFormat, width: int, codec: Codec, origin: Origin, *, fast: bool = True
    ) -> None:
        if form.node_from != "field" or form.id_from is not None:
            raise ConfigurationError(
                f"source.node from a {form.node_from} and source.id {form.id_from!r} are for"
                " messages: the records of a file name their nodes in a field and have labels"
            )
        self._form = form
        self._width = width
        self._codec = codec
        self._origin = origin
        self._fast = fast
        self._named = form.named
        self._names = NodeNames(form)

    def parse(
        self, data: bytes, at: int, last: bool, most: int, positions: int | Array
    ) -> tuple[Rows, int]:
        """Read at most `most` records from a position in a buffer.

        Parameters
        ----------
        data : the buffer
        at : where to begin
        last : the text ends with this buffer
        most : most records to read, at least 1
        positions : the record number of the first, or (n,) those of all

        Returns
        -------
        The rows, and the position after the last record read. Fewer than `most` records do not
        mean that the buffer is done; no records do.
        """
        found, stop = self._scan(data, at, last, most)
        count = len(found.y)
        if isinstance(positions, int):
            positions = np.arange(positions, positions + count, dtype=np.int64)
        if self._named:
            self._look_up(data, found)
        dead = self._read_odd(data, found, positions) if found.odd.any() else []
        if not dead:
            return self._rows(found, positions[:count], count), stop
        keep = np.ones(count, dtype=np.bool_)
        keep[[row for row, _ in dead]] = False
        keys = [name for name, kept in zip(found.keys, keep, strict=False) if kept]
        good = _Scanned(found.X[keep], found.y[keep], found.names, found.lines, found.odd, keys)
        letters = tuple(letter for _, letter in dead)
        return self._rows(good, positions[:count][keep], count, letters), stop

    def _rows(
        self, found: _Scanned, positions: Array, count: int, dead: tuple[DeadLetter, ...] = ()
    ) -> Rows:
        keys = [name or "" for name in found.keys] if self._named else None
        return Rows(found.X, found.y, positions, keys, dead, count)

    def _scan(self, data: bytes, at: int, last: bool, most: int) -> tuple[_Scanned, int]:
        # a record with this many values is hardly shorter: no room is made for more
        room = min(most, (len(data) - at) // (2 * self._width + 2) + 1)
        X, y = np.empty((room, self._width)), np.empty(room)
        names = np.zeros((room, 2), np.int64)
        lines, odd = np.empty((room, 2), np.int64), np.empty(room, np.bool_)
        templates = self._codec.templates if self._fast else ()
        form = (templates[0] if templates else _NOTHING).form
        limits = (self._form.ranks or 0, self._form.max_record, room)
        count, stop = scan(
            np.frombuffer(data, np.uint8), at, last, form, limits, X, y, names, lines, odd
        )
        if 2 * count < room:  # do not keep the room alive
            X, y = X[:count].copy(), y[:count].copy()
        return _Scanned(X[:count], y[:count], names[:count], lines[:count], odd[:count]), stop

    def _look_up(self, data: bytes, found: _Scanned) -> None:
        """Name the nodes of plain rows; a row with an unknown one becomes odd."""
        found.keys = [None] * len(found.y)
        for row, (begin, end) in enumerate(found.names.tolist()):
            if not found.odd[row]:
                found.keys[row] = self._names.find(data[begin:end])
                found.odd[row] = found.keys[row] is None

    def _read_odd(
        self, data: bytes, found: _Scanned, positions: Array
    ) -> list[tuple[int, DeadLetter]]:
        """Read odd lines carefully, in place; give the rows that are bad."""
        dead = []
        for row in np.flatnonzero(found.odd).tolist():
            begin, end = found.lines[row].tolist()
            try:
                self._read_line(data[begin:end], found, row)
            except BadRecord as bad:
                raw = data[begin : min(end, begin + RAW_LIMIT)]
                letter = self._origin.dead(bad.reason, bad.detail, int(positions[row]), raw)
                dead.append((row, letter))
        return dead

    def _read_line(self, line: bytes, found: _Scanned, row: int) -> None:
        if len(line) > self._form.max_record:
            raise BadRecord("too_long", f"longer than max_record ({self._form.max_record} bytes)")
        record = self._codec.parse(line)
        found.X[row], found.y[row] = record.features, record.label
        if self._named:
            found.keys[row] = record.node
