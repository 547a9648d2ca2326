"""Messages of a topic to rows and dead letters: in bulk where they are regular, else one by one."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from anabranch import stream
from anabranch.protocol import Array, freeze
from anabranch.sparse import freeze_rows
from anabranch.stream import Apart, DeadLetter
from connectors.label_names import LabelLists, NewLabels, label_columns
from connectors.message_batch import Batch
from connectors.message_layout import MessageFormat, open_message_codec
from connectors.message_names import Headers, MessageNames
from connectors.names import NodeNames
from connectors.records import Codec, RecordFormat
from connectors.rows import Origin, Rows, join_rows
from connectors.scan import SETS_AT, scan_messages
from connectors.template import (
    CSV,
    FEATURE,
    ID,
    ID_NUMBER,
    LABELS,
    NAMES,
    NODE,
    VALUES,
    WORDS,
    Template,
)
from connectors.values import LONGEST_ID, BadRecord, too_long

__all__ = ["MessageParser"]

_LEARN = 4
"""Shapes learned in one call at most; each costs a pass over what is still to read."""
_AT_ONCE = 10_000
"""Messages read in one go: their values are copied into one text."""
_INPUTS = frozenset((FEATURE, VALUES, WORDS))
_BLANKS = b" \t\r\n"


class MessageParser:
    """Parses the messages of one partition; `fast=False` reads all one by one (for tests).

    Parameters
    ----------
    form : what a record is; a message is one record, whatever its value holds
    features : names of X's columns
    format : "json", "msgpack" or "csv" (without a header)
    origin : topic and partition, for the dead letters

    Raises
    ------
    ConfigurationError
        The format lacks what messages of it need.

    >>> parser = MessageParser(RecordFormat(), ("a",), "json", Origin("t", "t:0"))
    >>> rows = parser.parse([7, 9], [None, b"k"], [b'{"a": 1, "y": 2}', None], [[], []], [5, 6])
    >>> rows.X.tolist(), rows.y.tolist(), rows.positions.tolist(), rows.times.tolist()
    ([[1.0]], [2.0], [7], [5])
    >>> [(letter.reason, letter.position, letter.key) for letter in rows.dead]
    [('empty_record', 9, b'k')]
    """

    def __init__(
        self,
        form: RecordFormat,
        features: Sequence[str],
        format: MessageFormat,
        origin: Origin,
        *,
        fast: bool = True,
    ) -> None:
        self._form = form
        self._width = form.width or len(features)
        self._codec: Codec = open_message_codec(tuple(features), form, format)
        self._origin = origin
        self._fast = fast
        self._format = format
        self._names = NodeNames(form)
        self._outside = MessageNames(form, self._names)
        self._lists = LabelLists(form)

    def parse(
        self,
        offsets: Sequence[int],
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        headers: Sequence[Headers],
        times: Sequence[int],
        tick: int | None = None,
    ) -> Rows:
        """Read messages, given as lists of equal length; `times` in ms since 1970.

        Every message becomes a row or a dead letter, which holds it whole. They make blocks of
        `tick` messages each, or one: new labels are counted anew for each.
        """
        new, block = NewLabels(self._form), tick or max(len(offsets), 1)
        parts = []
        for first in range(0, max(len(offsets), 1), _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            batch = self._read([value or b"" for value in values[some]])
            self._outside.look_up(keys[some], headers[some], batch.nodes, batch.ids, batch.dead)
            if self._form.grows:
                self._bound(batch, new, first, block)
            letters = self._letters(batch, offsets[some], keys[some], headers[some], times[some])
            parts.append(self._rows(batch, offsets[some], times[some], letters))
        return join_rows(parts, self._form, self._width)

    def _bound(self, batch: Batch, new: NewLabels, first: int, block: int) -> None:
        for row, names in enumerate(batch.sets):
            if (first + row) % block == 0:
                new.clear()
            why = None if row in batch.dead else new.refusal(names)
            if why is not None:
                batch.dead[row] = "unknown_label", why

    def _letters(
        self,
        batch: Batch,
        offsets: Sequence[int],
        keys: Sequence[bytes | None],
        headers: Sequence[Headers],
        times: Sequence[int],
    ) -> tuple[DeadLetter, ...]:
        return tuple(
            DeadLetter(
                reason, detail, self._origin.source, self._origin.partition,
                int(offsets[row]), batch.values[row], keys[row], tuple(headers[row]), times[row],
            )
            for row, (reason, detail) in sorted(batch.dead.items())
        )  # fmt: skip

    def _rows(
        self,
        batch: Batch,
        offsets: Sequence[int],
        times: Sequence[int],
        letters: tuple[DeadLetter, ...],
    ) -> Rows:
        arrays = [batch.y, np.array(offsets, np.int64), np.array(times, np.int64)]
        kinds, nodes, ids, sets = batch.kinds, batch.nodes, batch.ids, batch.sets
        keep: Any = slice(None)
        if letters:
            keep = np.ones(len(offsets), dtype=np.bool_)
            keep[list(batch.dead)] = False
            rows = np.flatnonzero(keep).tolist()
            arrays, kinds = [array[keep] for array in arrays], kinds[keep]
            nodes, ids = ([part[row] for row in rows] if part else part for part in (nodes, ids))
            sets = [sets[row] for row in rows] if sets else sets
        if self._form.label_list and not self._form.grows:
            arrays[0] = label_columns(sets, self._form.labels)
        y, positions, clock = map(freeze, arrays)
        X = freeze_rows(batch.inputs.rows(keep))
        apart = None
        if self._form.apart:
            apart = Apart(freeze(kinds), [id or "" for id in ids], clock)
        named = [node or "" for node in nodes] if self._form.named else None
        grown = sets if self._form.grows else None
        return Rows(X, y, positions, named, letters, len(offsets), clock, apart, grown)

    def _read(self, values: list[bytes]) -> Batch:
        batch, rows = (
            Batch.of(values, self._form, self._width, self._format),
            np.arange(len(values)),
        )
        if self._fast:
            for _ in range(_LEARN):  # every odd message may be the first of many like it
                rows = self._read_odd(batch, self._read_regular(batch, rows), 1)
        self._read_odd(batch, rows, len(values))
        return batch

    def _read_regular(self, batch: Batch, rows: Array) -> Array:
        """Read what has a known shape; give the other rows."""
        if len(rows) == 0:
            return rows
        data, count = np.frombuffer(batch.data, np.uint8), len(batch.values)
        limits = (self._form.ranks or 0, self._form.max_record, self._width)
        y = batch.y.reshape(count, -1) if batch.y.ndim == 1 else batch.y
        names, odd, bounds = batch.names, np.empty(count, bool), batch.bounds
        outputs = (batch.X, y, names, odd, batch.store)
        for template in self._codec.templates:
            scan_messages(data, bounds, rows, template.form, limits, *outputs)
            self._take_names(batch, rows, template.has, names, odd)
            if NAMES in template.has:
                self._take_sets(batch, rows, template, names, odd)
            good = rows[~odd[rows]]
            if self._form.apart:
                self._tell_apart(batch, good, template.has)
            rows = rows[odd[rows]]
            if len(rows) == 0:
                break
        return rows

    def _take_names(
        self, batch: Batch, rows: Array, has: frozenset[int], names: Array, odd: Array
    ) -> None:
        """Read nodes and ids in the values; what is not plain becomes odd."""
        good, data = rows[~odd[rows]], batch.data
        if NODE in has:
            for row, (begin, end) in zip(good.tolist(), names[good, :2].tolist(), strict=True):
                name = batch.nodes[row] = self._names.find(data[begin:end])
                if name is None:
                    odd[row] = True
        if ID_NUMBER in has or ID in has:
            begins, ends = names[good, 2], names[good, 3]
            sizes = np.where(ends < 0, 1, ends - begins)
            odd[good[(sizes == 0) | (sizes > LONGEST_ID)]] = True
            for row, begin, end in zip(good.tolist(), begins.tolist(), ends.tolist(), strict=True):
                batch.ids[row] = data[begin:end].decode() if end >= 0 else str(begin)

    def _take_sets(
        self, batch: Batch, rows: Array, template: Template, names: Array, odd: Array
    ) -> None:
        """Read lists of labels' names; what is not plain becomes odd."""
        good, grammar = rows[~odd[rows]], template.grammar
        features = bool(_INPUTS & template.has)
        for row, (begin, end) in zip(
            good.tolist(), names[good, SETS_AT : SETS_AT + 2].tolist(), strict=True
        ):
            found = self._lists.find(batch.data[begin:end], grammar)
            batch.sets[row] = found
            # an empty field of CSV beside features is a label that is to come
            to_come = self._form.apart and grammar == CSV and features and not found
            if found is None or to_come:
                odd[row], batch.sets[row] = True, None

    def _tell_apart(self, batch: Batch, rows: Array, has: frozenset[int]) -> None:
        if not _INPUTS & has:
            batch.kinds[rows] = stream.LABEL
            batch.inputs.clear(rows)
        elif not LABELS & has:
            batch.kinds[rows], batch.y[rows] = stream.SAMPLE, np.nan
        else:
            batch.kinds[rows] = stream.WHOLE

    def _read_odd(self, batch: Batch, rows: Array, most: int) -> Array:
        """Read rows one by one until `most` were good; give the rows after these."""
        for done, row in enumerate(rows.tolist()):
            try:
                self._read_one(batch, row)
            except BadRecord as bad:
                batch.dead[row] = bad.reason, bad.detail
                continue
            most -= 1
            if most == 0:
                return rows[done + 1 :]
        return rows[:0]

    def _read_one(self, batch: Batch, row: int) -> None:
        value = batch.values[row]
        if len(value) > self._form.max_record:
            raise too_long(self._form.max_record)
        if self._format != "msgpack":
            value = value.strip(_BLANKS)
        if not value:
            raise BadRecord("empty_record", "the message has no value, or a blank one")
        record = self._codec.parse(value)
        batch.inputs.put(row, record.features)
        batch.kinds[row] = record.kind
        if isinstance(record.label, tuple):
            batch.sets[row] = record.label
        else:
            batch.y[row] = record.label
        if record.node is not None:
            batch.nodes[row] = record.node
        if record.id is not None:
            batch.ids[row] = record.id
