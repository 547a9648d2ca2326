"""One file, read from its beginning to its end, or followed as it grows."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from time import monotonic

import numpy as np
from typing_extensions import override

from anabranch.protocol import Array
from anabranch.stream import Block
from connectors.layout import FileFormat, open_codec
from connectors.parser import RecordParser
from connectors.partition import PartState, TickPartition
from connectors.reader import BlockReader
from connectors.records import RecordFormat
from connectors.rows import Origin, Rows, join_rows

__all__ = ["FilePartition", "PartState", "held_records", "lone_letter"]

_BLOCKS_A_CALL = 64
"""Blocks read in one call at most (16 MB), so that other steps of the worker get their turn."""
_POLL = 0.05
"""Seconds between looks at a followed file."""


def held_records(split: tuple[int, ...] | None) -> Array | None:
    """Make the record numbers that are held back an array."""
    return None if split is None else np.array(split, dtype=np.int64)


def lone_letter(
    origin: Origin, form: RecordFormat, width: int, path: str, *, header: bool = False
) -> Block:
    """Make the block of a file without records: tick -1, no record, one dead letter."""
    if header:
        letter = origin.dead("header_only", f"{path} has a header and no record", 0, b"")
    else:
        letter = origin.dead("empty_file", f"{path} has nothing in it", 0, b"")
    rows = replace(join_rows([], form, width), dead=(letter,))
    return rows.block(origin.partition, -1, None)


class FilePartition(TickPartition):
    """Reads ticks off a file in blocks; its position is a byte offset and a record number.

    With `linger`, seconds, a tick of a followed file is given up on being full once its first
    record has waited so long.
    """

    def __init__(
        self,
        path: str,
        partition: str,
        format: FileFormat,
        form: RecordFormat,
        features: tuple[str, ...],
        width: int,
        rows_per_tick: int,
        split: tuple[int, ...] | None,
        state: PartState | None,
        follow: bool,
        linger: float | None = None,
    ) -> None:
        super().__init__(partition, rows_per_tick, state)
        self._path, self._format, self._form = path, format, form
        self._features, self._width, self._follow = features, width, follow
        self._linger, self._since = linger, 0.0
        self._held = held_records(split)
        self._origin = Origin(path, partition)
        self._reader = BlockReader(path, form.max_record, follow=follow)
        self._parser: RecordParser | None = None
        self._parts: list[Rows] = []
        self._waiting = False
        self._offset = 0
        self._resume_at = state
        if state is not None:
            self._reader.check_print(*state["print"])
            self._reader.check_size(state["offset"])
            self._offset = state["offset"]

    @override
    def next_awake(self) -> datetime | None:
        if not self._waiting:
            return None
        rest = _POLL
        if self._linger is not None and self._parts:
            rest = min(rest, max(self._since + self._linger - monotonic(), 0.0))
        return datetime.now(UTC) + timedelta(seconds=rest)

    @override
    def read_tick(self) -> Block | None:
        self._waiting = False
        if self._parser is None and not self._open():
            return self._without_header()
        for _ in range(_BLOCKS_A_CALL):
            self._take()
            if self._pending() == self.rows_per_tick:
                return self._complete()
            if self._reader.ended:
                return self._finish()
            if not self._reader.fill() and not self._reader.ended:
                return self._wait()
        return None

    def _wait(self) -> Block | None:
        """Give what is there of a tick that has waited long enough."""
        waited = monotonic() - self._since
        if self._parts and self._linger is not None and waited >= self._linger:
            return self._complete()
        self._waiting = True
        return None

    def _open(self) -> bool:
        """Read the header, go to the position; False when there is no header (yet)."""
        reader, form = self._reader, self._form
        codec = open_codec(reader, self._format, form, self._features, self._path)
        if codec is None:
            return False
        if self._resume_at is not None and self._resume_at["offset"] > 0:
            reader.seek(self._resume_at["offset"])
        elif not reader.data:
            reader.fill()
        empty = reader.ended and not reader.data and reader.failure is None
        if empty and reader.offset == 0:
            return False
        self._parser = RecordParser(form, self._width, codec, self._origin)
        self._offset = reader.offset
        return True

    def _without_header(self) -> Block | None:
        if not self._reader.ended:
            self._waiting = True
            return None
        if self._reader.failure is not None:
            return self._finish()
        self.phase = "end"
        header = self._format == "arff" and self._reader.offset > 0  # one that does not end
        return lone_letter(self._origin, self._form, self._width, self._path, header=header)

    def _pending(self) -> int:
        return sum(rows.records for rows in self._parts)

    def _take(self) -> None:
        """Parse what the buffer holds, as far as the tick goes."""
        assert self._parser is not None
        reader, pending = self._reader, self._pending()
        last = reader.ended and reader.failure is None
        while pending < self.rows_per_tick:
            rows, reader.at = self._parser.parse(
                reader.data, reader.at, last, self.rows_per_tick - pending, self.record + pending
            )
            if rows.records == 0:
                break
            if not self._parts:
                self._since = monotonic()
            self._parts.append(rows)
            pending += rows.records

    def _complete(self) -> Block:
        rows = join_rows(self._parts, self._form, self._width)
        block = rows.block(self.partition, self.tick, self._held)
        self._parts = []
        if self._parser is not None:
            self._parser.begin_tick()
        self.record += rows.records
        self._offset = self._reader.offset
        return block

    def _finish(self) -> Block | None:
        """Make the last block: what is left, and a letter when the file broke off."""
        reader = self._reader
        self.phase = "end"
        if reader.failure is not None:
            raw = reader.data[reader.at :]
            at = self.record + self._pending()
            letter = self._origin.dead("unreadable", reader.failure, at, raw)
            none = join_rows([], self._form, self._width)
            self._parts.append(replace(none, dead=(letter,), records=1))
        if self.record == 0 and not self._parts:
            header = self._format == "arff" or (self._format == "csv" and self._form.header)
            return lone_letter(self._origin, self._form, self._width, self._path, header=header)
        return self._complete() if self._parts else None

    @override
    def snapshot(self) -> PartState:
        return self.state(
            self._offset, self._reader.print_of(self._offset if self._follow else None)
        )

    @override
    def close(self) -> None:
        self._reader.close()
