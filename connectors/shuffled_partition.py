"""One file, its records read in a random order that a seed determines."""

import mmap
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import IO

import numpy as np
from typing_extensions import override

from anabranch.protocol import Array
from anabranch.stream import Block
from connectors.file_partition import held_records, lone_letter
from connectors.inputs import no_pairs
from connectors.layout import FileFormat, open_codec
from connectors.parser import RecordParser
from connectors.partition import PartState, TickPartition
from connectors.reader import BLOCK_BYTES, BlockReader, keep_bytes, open_text, shorten
from connectors.records import RecordFormat
from connectors.rows import Origin, Rows, join_rows
from connectors.scan import scan
from connectors.template import CSV, Template

__all__ = ["ShuffledPartition", "index_records"]

_AT_ONCE = 1 << 16


def index_records(
    data: bytes | mmap.mmap, at: int, last: bool, longest: int, comment: int = -1
) -> Array:
    r"""Find the records of a text: (n, 2) int64, where each begins and ends.

    `comment` is the byte that begins what is none, -1 when there is none.

    >>> index_records(b"1,2\n\n3,4", 0, True, 100).tolist()
    [[0, 3], [5, 8]]
    """
    text = np.frombuffer(data, np.uint8)
    found: list[Array] = []
    form = Template.of([b""], [], [], CSV).form
    X, y, odd = np.empty((_AT_ONCE, 0)), np.empty((_AT_ONCE, 0)), np.empty(_AT_ONCE, np.bool_)
    names, lines = np.empty((_AT_ONCE, 2), np.int64), np.empty((_AT_ONCE, 2), np.int64)
    while True:
        limits = (0, longest, _AT_ONCE, comment, 0)
        count, at = scan(text, at, last, form, limits, X, y, names, lines, odd, no_pairs())
        if count == 0:
            return np.concatenate([np.empty((0, 2), np.int64), *found])
        found.append(lines[:count].copy())


class ShuffledPartition(TickPartition):
    """Reads ticks off a permutation of a file's records.

    The file is mapped into memory, a packed one unpacked to a temporary file first; only where
    the records begin and end is kept. When it cannot be read to its end, the letter about that
    comes last.
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
        seed: int,
    ) -> None:
        super().__init__(partition, rows_per_tick, state, seed)
        self._path, self._form, self._width = path, form, width
        self._held = held_records(split)
        self._origin = Origin(path, partition)
        self._data: bytes | mmap.mmap = b""
        self._lines, self._order = np.empty((0, 2), np.int64), np.empty(0, np.int64)
        self._parser: RecordParser | None = None
        self._headed = False
        self._failure: str | None = None
        reader = BlockReader(path, form.max_record)
        self._print = reader.print_of()
        if state is not None:
            reader.check_print(*state["print"])
        self._open(reader, format, features)
        self._failure = reader.failure or self._failure
        reader.close()

    def _open(self, reader: BlockReader, format: FileFormat, features: tuple[str, ...]) -> None:
        codec = open_codec(reader, format, self._form, features, self._path)
        if not reader.data:
            reader.fill()
        self._headed = codec is not None or (format == "arff" and reader.offset > 0)
        if codec is None or (reader.offset == 0 and not reader.data):
            return
        self._parser = RecordParser(self._form, self._width, codec, self._origin)
        self._data = self._map()
        whole = self._failure is None
        self._lines = index_records(
            self._data, reader.offset, whole, self._form.max_record, codec.comment
        )
        draw = np.random.default_rng([self.seed or 0, zlib.crc32(self.partition.encode())])
        self._order = draw.permutation(len(self._lines))

    def _map(self) -> bytes | mmap.mmap:
        if not self._path.endswith(".gz"):
            with open(self._path, "rb") as file:
                return _map_file(file)
        with tempfile.TemporaryFile() as unpacked, open_text(self._path) as packed:
            try:
                while block := packed.read1(BLOCK_BYTES):
                    unpacked.write(block)
            except (OSError, EOFError, zlib.error) as error:
                self._failure = f"{self._path} cannot be read further: {error}"
            return _map_file(unpacked)

    @override
    def read_tick(self) -> Block | None:
        total = len(self._order) + (self._failure is not None)
        if self.record >= total:
            self.phase = "end"
            if total > 0:
                return None
            return lone_letter(
                self._origin, self._form, self._width, self._path, header=self._headed
            )
        if self._parser is not None:
            self._parser.begin_tick()
        rows = join_rows(list(self._read()), self._form, self._width)
        block = rows.block(self.partition, self.record // self.rows_per_tick, self._held)
        self.record += rows.records
        return block

    def _read(self) -> Iterator[Rows]:
        """Read one tick: its records, and the letter if it comes here."""
        order = self._order[self.record : self.record + self.rows_per_tick]
        longest = self._form.max_record
        lines = [
            shorten(self._data[begin : min(end, begin + keep_bytes(longest))], longest)
            for begin, end in self._lines[order].tolist()
        ]
        # One line end is taken off: a CR that belongs to a record must not become part of it.
        data, at, done = b"\r\n".join([*lines, b""]), 0, 0
        while done < len(order) and self._parser is not None:
            rows, at = self._parser.parse(data, at, True, len(order) - done, order[done:])
            done += rows.records
            yield rows
        if self._failure is not None and len(order) < self.rows_per_tick:
            letter = self._origin.dead("unreadable", self._failure, len(self._order), b"")
            yield replace(join_rows([], self._form, self._width), dead=(letter,), records=1)

    @override
    def snapshot(self) -> PartState:
        return self.state(print=self._print)


def _map_file(file: IO[bytes]) -> bytes | mmap.mmap:
    file.seek(0, 2)
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if file.tell() else b""
