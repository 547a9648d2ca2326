"""A file read in blocks, whose position is a byte offset (of the unpacked text for .gz)."""

import os
import zlib
from io import BufferedReader
from pathlib import Path

from anabranch.stream import RAW_LIMIT
from connectors.packed_file import PackedFile
from connectors.records import SourceError

__all__ = ["BLOCK_BYTES", "BlockReader", "keep_bytes", "open_text", "shorten"]

BLOCK_BYTES = 1 << 18
_HEAD_BYTES = 1024
_BOM = b"\xef\xbb\xbf"


def open_text(path: str) -> BufferedReader:
    """Open a plain or, by its suffix, a gzip file for reading bytes.

    Of a damaged one `read1` gives all that can be unpacked before it raises; `read` does not.
    """
    return BufferedReader(PackedFile(path)) if path.endswith(".gz") else open(path, "rb")


def keep_bytes(longest: int) -> int:
    """Give the length from which a line may be cut: too long beyond doubt, all of `raw` kept."""
    return max(longest, RAW_LIMIT) + 2


def shorten(line: bytes, longest: int) -> bytes:
    """Cut a line that is too long, so that it still is, and is not blank.

    >>> len(shorten(b" " * 9000, 10)), len(shorten(b"1,2", 10))
    (1002, 3)
    """
    keep = keep_bytes(longest)
    return line if len(line) < keep else line[: keep - 1] + b"?"


class BlockReader:
    """Holds the unread part of a file in `data[at:]`; the caller moves `at`, `fill` adds to it.

    A line much longer than `longest` is cut while it is read (see `shorten`), so no line takes
    more memory than that and a block.

    Attributes
    ----------
    data, at : the buffer, and where its unread part begins
    ended : nothing is left to read (never so when the file is followed)
    failure : why the file could not be read further, or None
    """

    def __init__(self, path: str, longest: int, *, follow: bool = False) -> None:
        self._path = path
        self._longest = longest
        self._follow = follow
        self._file = open_text(path)
        self._raw = open(path, "rb")  # noqa: SIM115 - closed by close
        self.data = b""
        self.at = 0
        self.ended = False
        self.failure: str | None = None
        self._base = 0
        self._cut_at, self._cut = 0, 0
        self._seen = (0, 0)

    @property
    def offset(self) -> int:
        """Byte offset of the unread part."""
        return self._base + self.at + (self._cut if self.at >= self._cut_at else 0)

    def seek(self, offset: int) -> None:
        """Go to an offset; a .gz file is unpacked again up to there."""
        self.data, self.at, self._base, self._cut, self._cut_at = b"", 0, offset, 0, 0
        try:
            self._file.seek(offset)
        except (OSError, EOFError, zlib.error) as error:
            self._fail(error)

    def fill(self) -> bool:
        """Read another block; False when there was none.

        Raises
        ------
        SourceError
            The file is followed and was replaced, removed or cut short.
        """
        block = self._read()
        if not block:
            self.ended = not self._follow or self.failure is not None
            if self._follow:
                self._check_followed()
            return False
        pending = self._cut if self.at < self._cut_at else 0
        rest, self._base, self._cut = self.data[self.at :], self.offset, pending
        if self._base == 0 and len(rest) < 3 and (rest + block).startswith(_BOM):
            self._base, rest, block = 3, b"", (rest + block)[3:]
        self.at = 0
        self._join(rest, block)
        return True

    def _join(self, rest: bytes, block: bytes) -> None:
        if len(rest) < keep_bytes(self._longest) or b"\n" in rest:
            self.data, self._cut_at = rest + block, 0
            return
        newline = block.find(b"\n")
        tail = block[newline:] if newline >= 0 else b""
        short = shorten(rest, self._longest)
        self._cut_at, self._cut = len(short), self._cut + len(rest) + len(block) - len(tail)
        self._cut -= len(short)
        self.data = short + tail

    def _read(self) -> bytes:
        if self.ended:
            return b""
        try:
            return self._file.read1(BLOCK_BYTES)
        except (OSError, EOFError, zlib.error) as error:
            self._fail(error)
            return b""

    def _fail(self, error: Exception) -> None:
        self.failure = f"{self._path} cannot be read further: {error}"
        self.ended = True

    def read_line(self) -> bytes | None:
        """Take the next line that is not blank, without its end; None when there is none (yet)."""
        while True:
            newline = self.data.find(b"\n", self.at)
            if newline < 0 and self.fill():
                continue
            if newline < 0 and (not self.ended or self.failure is not None):
                return None
            stop = newline + 1 if newline >= 0 else len(self.data)
            line = self.data[self.at : stop].rstrip(b"\r\n")
            self.at = stop
            if line.strip(b" \t"):
                return line
            if newline < 0:
                return None

    def print_of(self, offset: int | None = None) -> tuple[int, int]:
        """Give length and checksum of the file's first bytes (packed ones for .gz).

        Of a followed file the bytes before `offset`, since only these will stay as they are.
        """
        self._raw.seek(0)
        wanted = _HEAD_BYTES if offset is None else min(offset, _HEAD_BYTES)
        head = self._raw.read(wanted)
        return len(head), zlib.crc32(head)

    def check_print(self, length: int, checksum: int) -> None:
        """Refuse a file that does not begin as it did.

        Raises
        ------
        SourceError
            It is another file, or was rewritten or cut short.
        """
        if self.print_of(length) != (length, checksum):
            raise SourceError(
                f"{self._path} is not the file this job was reading: its first {length} bytes"
                " have changed; put the old file back, or start anew in another run directory"
            )

    def check_size(self, offset: int) -> None:
        """Refuse a plain file that ends before an offset that was read already."""
        size = os.fstat(self._raw.fileno()).st_size
        if not self._path.endswith(".gz") and size < offset:
            raise SourceError(
                f"{self._path} was cut short: it has {size} bytes, and {offset} were read already"
            )

    def _check_followed(self) -> None:
        try:
            now = Path(self._path).stat()
        except FileNotFoundError:
            raise SourceError(f"{self._path} is followed, and was removed") from None
        mine = os.fstat(self._raw.fileno())
        if (now.st_dev, now.st_ino) != (mine.st_dev, mine.st_ino):
            raise SourceError(
                f"{self._path} is followed, and another file has taken its name (rotated?):"
                " follow files that only grow"
            )
        done = self._base + len(self.data) + self._cut
        self.check_size(done)
        self.check_print(*self._seen)
        self._seen = self.print_of(done)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._raw.close()
