"""Buffers of text to rows and dead letters: the fast path, and the careful one behind it."""

from dataclasses import dataclass, field

import numpy as np

from anabranch.errors import ConfigurationError
from anabranch.protocol import Array
from anabranch.stream import RAW_LIMIT, DeadLetter
from connectors.label_names import LabelLists, NewLabels, empty_labels, label_columns
from connectors.names import NodeNames
from connectors.records import Codec, RecordFormat
from connectors.rows import Origin, Rows
from connectors.scan import scan
from connectors.template import CSV, Template
from connectors.values import BadRecord

__all__ = ["RecordParser"]

_NOTHING = Template.of([b""], [], [], CSV)


@dataclass(slots=True)
class _Scanned:
    """What `scan` found in one buffer, as views of its outputs."""

    X: Array
    y: Array
    names: Array
    lines: Array
    odd: Array
    keys: list[str | None] = field(default_factory=list)
    sets: list[tuple[str, ...] | None] = field(default_factory=list)

    def rows(self, keep: Array) -> "_Scanned":
        """Give the rows that are to be kept."""
        keys = [name for name, kept in zip(self.keys, keep, strict=False) if kept]
        sets = [names for names, kept in zip(self.sets, keep, strict=False) if kept]
        spans, lines = self.names[keep], self.lines[keep]
        return _Scanned(self.X[keep], self.y[keep], spans, lines, self.odd[keep], keys, sets)


class RecordParser:
    """Parses the records of one file; `fast=False` reads all of them carefully (for tests).

    Raises
    ------
    ConfigurationError
        The format looks for nodes, ids or sparse features where only messages have them.
    """

    def __init__(
        self, form: RecordFormat, width: int, codec: Codec, origin: Origin, *, fast: bool = True
    ) -> None:
        if form.node_from != "field" or form.id_from is not None:
            raise ConfigurationError(
                f"source.node from a {form.node_from} and source.id {form.id_from!r} are for"
                " messages: the records of a file name their nodes in a field and have labels"
            )
        if form.sparse_width is not None:
            raise ConfigurationError(
                f"source.sparse_width is {form.sparse_width}: lists of indices are for messages;"
                " allowed in files is ARFF, whose records may be sparse"
            )
        self._form = form
        self._width = width
        self._codec = codec
        self._origin = origin
        self._fast = fast
        self._named = form.named
        self._names = NodeNames(form)
        self._lists = LabelLists(form) if form.label_list else None
        self._new = NewLabels(form) if form.grows else None

    def begin_tick(self) -> None:
        """Count new labels from zero again; see `RecordFormat.max_labels`."""
        if self._new is not None:
            self._new.clear()

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
        if self._lists is not None:
            self._find_sets(data, found, self._lists)
        dead = self._read_odd(data, found)
        if self._new is not None:
            self._bound(found, dead, self._new)
        positions = positions[:count]
        if not dead:
            return self._rows(found, positions, count), stop
        letters = tuple(
            self._letter(data, found, row, int(positions[row]), *dead[row]) for row in sorted(dead)
        )
        keep = np.ones(count, dtype=np.bool_)
        keep[list(dead)] = False
        return self._rows(found.rows(keep), positions[keep], count, letters), stop

    def _rows(
        self, found: _Scanned, positions: Array, count: int, dead: tuple[DeadLetter, ...] = ()
    ) -> Rows:
        keys = [name or "" for name in found.keys] if self._named else None
        y, sets = found.y, found.sets if self._form.grows else None
        if self._lists is not None and sets is None:
            y = label_columns(found.sets, self._form.labels)
        return Rows(found.X, y, positions, keys, dead, count, sets=sets)

    def _scan(self, data: bytes, at: int, last: bool, most: int) -> tuple[_Scanned, int]:
        # a record with this many values is hardly shorter: no room is made for more
        room = min(most, (len(data) - at) // (2 * self._width + 2) + 1)
        X, y = np.empty((room, self._width)), empty_labels(self._form, room)
        names = np.zeros((room, 6 if self._lists is not None else 2), np.int64)
        lines, odd = np.empty((room, 2), np.int64), np.empty(room, np.bool_)
        templates = self._codec.templates if self._fast else ()
        form = (templates[0] if templates else _NOTHING).form
        limits = (self._form.ranks or 0, self._form.max_record, room, self._codec.comment)
        text, columns = np.frombuffer(data, np.uint8), y.reshape(room, -1) if y.ndim == 1 else y
        count, stop = scan(text, at, last, form, limits, X, columns, names, lines, odd)
        if 2 * count < room:  # do not keep the room alive
            X, y = X[:count].copy(), y[:count].copy()
        return _Scanned(X[:count], y[:count], names[:count], lines[:count], odd[:count]), stop

    def _look_up(self, data: bytes, found: _Scanned) -> None:
        """Name the nodes of plain rows; a row with an unknown one becomes odd."""
        found.keys = [None] * len(found.y)
        for row, (begin, end) in enumerate(found.names[:, :2].tolist()):
            if not found.odd[row]:
                found.keys[row] = self._names.find(data[begin:end])
                found.odd[row] = found.keys[row] is None

    def _find_sets(self, data: bytes, found: _Scanned, lists: LabelLists) -> None:
        """Read the names of labels of plain rows; a row with a bad list becomes odd."""
        found.sets = [None] * len(found.y)
        if found.odd.all():
            return
        grammar = self._codec.templates[0].grammar
        for row, (begin, end) in enumerate(found.names[:, 4:].tolist()):
            if not found.odd[row]:
                found.sets[row] = lists.find(data[begin:end], grammar)
                found.odd[row] = found.sets[row] is None

    def _read_odd(self, data: bytes, found: _Scanned) -> dict[int, tuple[str, str]]:
        """Read odd lines carefully, in place; give the rows that are bad, and why."""
        dead = {}
        for row in np.flatnonzero(found.odd).tolist():
            begin, end = found.lines[row].tolist()
            try:
                self._read_line(data[begin:end], found, row)
            except BadRecord as bad:
                dead[row] = bad.reason, bad.detail
        return dead

    def _bound(self, found: _Scanned, dead: dict[int, tuple[str, str]], new: NewLabels) -> None:
        for row, names in enumerate(found.sets):
            why = None if row in dead else new.refusal(names)
            if why is not None:
                dead[row] = "unknown_label", why

    def _letter(
        self, data: bytes, found: _Scanned, row: int, position: int, reason: str, detail: str
    ) -> DeadLetter:
        begin, end = found.lines[row].tolist()
        raw = data[begin : min(end, begin + RAW_LIMIT)]
        return self._origin.dead(reason, detail, position, raw)

    def _read_line(self, line: bytes, found: _Scanned, row: int) -> None:
        if len(line) > self._form.max_record:
            raise BadRecord("too_long", f"longer than max_record ({self._form.max_record} bytes)")
        record = self._codec.parse(line)
        found.X[row] = record.features
        if isinstance(record.label, tuple):
            found.sets[row] = record.label
        else:
            found.y[row] = record.label
        if self._named:
            found.keys[row] = record.node
