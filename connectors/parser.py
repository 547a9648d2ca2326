"""Buffers of text to rows and dead letters: the fast path, and the careful one behind it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from anabranch.errors import ConfigurationError
from anabranch.protocol import Array
from anabranch.stream import RAW_LIMIT, DeadLetter
from connectors.inputs import Columns, Inputs, Pairs, Texts, name_columns, no_pairs
from connectors.label_names import LabelLists, NewLabels, empty_labels, label_columns
from connectors.names import NodeNames
from connectors.pairs import Store, new_store
from connectors.records import Codec, RecordFormat
from connectors.rows import Origin, Rows
from connectors.scan import SETS_AT, scan
from connectors.template import CSV, JSON, Template
from connectors.values import BadRecord, too_long

__all__ = ["RecordParser"]

_SHORTEST_PAIR = 4
"""Bytes of an index and a value, at least, with what is between them and before."""
_NO_PAIRS = no_pairs()
_NOTHING = Template.of([b""], [], [], CSV)


@dataclass(slots=True)
class _Scanned:
    """What `scan` found in one buffer, as views of its outputs."""

    inputs: Inputs
    y: Array
    names: Array
    lines: Array
    odd: Array
    keys: list[str | None] = field(default_factory=list)
    sets: list[tuple[str, ...] | None] = field(default_factory=list)


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
        self._width = form.sparse_width or 0
        self._columns = 0 if form.width is not None else width
        self._spans = name_columns(form)
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
            return self._rows(found, positions, slice(None), ()), stop
        letters = tuple(
            self._letter(data, found, row, int(positions[row]), *dead[row]) for row in sorted(dead)
        )
        keep = np.ones(count, dtype=np.bool_)
        keep[list(dead)] = False
        return self._rows(found, positions, keep, letters), stop

    def _rows(
        self, found: _Scanned, positions: Array, keep: Any, dead: tuple[DeadLetter, ...]
    ) -> Rows:
        rows = range(len(found.y)) if isinstance(keep, slice) else np.flatnonzero(keep).tolist()
        keys = [found.keys[row] or "" for row in rows] if self._named else None
        y = found.y[keep]
        sets = None if self._lists is None else [found.sets[row] for row in rows]
        if sets is not None and not self._form.grows:
            y, sets = label_columns(sets, self._form.labels), None
        X = found.inputs.rows(keep)
        return Rows(X, y, positions[keep], keys, dead, len(found.y), sets=sets)

    def _scan(self, data: bytes, at: int, last: bool, most: int) -> tuple[_Scanned, int]:
        width = self._columns
        # a record with this many values is hardly shorter: no room is made for more
        room = min(most, (len(data) - at) // (2 * width + 2) + 1)
        X, y = np.empty((room, width)), empty_labels(self._form, room)
        names = np.zeros((room, self._spans), np.int64)
        store = self._store(len(data) - at)
        lines, odd = np.empty((room, 2), np.int64), np.empty(room, np.bool_)
        templates = self._codec.templates if self._fast else ()
        form = (templates[0] if templates else _NOTHING).form
        limits = (
            self._form.ranks or 0,
            self._form.max_record,
            room,
            self._codec.comment,
            self._width,
        )
        text, columns = np.frombuffer(data, np.uint8), y.reshape(room, -1) if y.ndim == 1 else y
        count, stop = scan(text, at, last, form, limits, X, columns, names, lines, odd, store)
        if 2 * count < room:  # do not keep the room alive
            X, y = X[:count].copy(), y[:count].copy()
        inputs = self._inputs(data, X[:count], names[:count], store, form[4])
        return _Scanned(inputs, y[:count], names[:count], lines[:count], odd[:count]), stop

    def _store(self, size: int) -> Store:
        if self._form.sparse_width is None:
            return _NO_PAIRS
        return new_store(size // _SHORTEST_PAIR + 1)

    def _inputs(self, data: bytes, X: Array, names: Array, store: Store, grammar: int) -> Inputs:
        if self._form.text:
            return Texts(self._form, data, names, escapes=grammar == JSON)
        return Columns(X) if self._form.width is None else Pairs(self._form, store, names)

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
        for row, (begin, end) in enumerate(found.names[:, SETS_AT : SETS_AT + 2].tolist()):
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
            raise too_long(self._form.max_record)
        record = self._codec.parse(line)
        found.inputs.put(row, record.features)
        if isinstance(record.label, tuple):
            found.sets[row] = record.label
        else:
            found.y[row] = record.label
        if self._named:
            found.keys[row] = record.node
