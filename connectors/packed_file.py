"""A gzip file, read to the last byte that can be unpacked."""

import zlib
from contextlib import suppress
from io import SEEK_SET, RawIOBase, UnsupportedOperation
from typing import TYPE_CHECKING, Any

from typing_extensions import override

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["PackedFile"]

_CHUNK = 1 << 16
_MOST = 1 << 18
"""Bytes unpacked at once."""
_GZIP = 31


class PackedFile(RawIOBase):
    r"""The unpacked bytes of a gzip file, of one member or several, with zeros after them or none.

    Where the file is cut short or damaged, all that can be unpacked is given before the error is
    raised (`gzip.open` loses up to a block), and the same bytes whatever was asked for at a time.

    Raises
    ------
    OSError, EOFError
        While reading: it is no gzip file, is damaged, or ends too soon.

    >>> from gzip import compress
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = f"{folder}/a.gz"
    ...     _ = open(path, "wb").write(compress(b"1,2\n3,4\n")[:-4])
    ...     file = PackedFile(path)
    ...     file.read(100), file.read(100)
    Traceback (most recent call last):
    EOFError: the packed file ends too soon, at byte 24
    """

    def __init__(self, path: str) -> None:
        super().__init__()
        self._file = open(path, "rb")  # noqa: SIM115 - closed by close
        self._begin()

    def _begin(self) -> None:
        self._file.seek(0)
        self._member: Any = None
        self._begun = False
        self._rest = self._ready = b""
        self._given = self._at = 0
        self._error: OSError | None = None

    @override
    def readable(self) -> bool:
        return True

    @override
    def seekable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer).cast("B")
        block = self._take(len(view))
        view[: len(block)] = block
        return len(block)

    def _take(self, most: int) -> bytes:
        if self._given == len(self._ready):
            self._ready, self._given = self._unpack(), 0
        block = self._ready[self._given : self._given + most]
        self._given += len(block)
        self._at += len(block)
        return block

    def _unpack(self) -> bytes:
        """Unpack some more; nothing at the end."""
        while self._error is None:
            data = self._rest or self._file.read(_CHUNK)
            if not data:
                return self._end()
            self._rest = b""
            if self._member is None and self._begun:
                data = data.lstrip(b"\0")
            block = self._inflate(data) if data else b""
            if block:
                return block
        raise self._error

    def _end(self) -> bytes:
        """Give what a member that was cut short still holds."""
        block: bytes = b"" if self._member is None else self._member.decompress(b"", _MOST)
        if self._member is not None and not block:
            raise EOFError(f"the packed file ends too soon, at byte {self._file.tell()}")
        return block

    def _inflate(self, data: bytes) -> bytes:
        fresh = self._member is None
        if fresh:
            self._member, self._begun = zlib.decompressobj(_GZIP), True
        before = self._member.copy()
        try:
            block: bytes = self._member.decompress(data, _MOST)
        except zlib.error as error:
            block, good = _bytewise(before, data)
            what = "is no gzip" if fresh and not block else "is damaged"
            at = self._file.tell() - len(data) + good
            self._error = OSError(f"the packed file {what} at byte {at} or before: {error}")
            return block
        self._rest = self._member.unconsumed_tail or self._member.unused_data
        if self._member.eof:
            self._member = None
        return block

    @override
    def tell(self) -> int:
        return self._at

    @override
    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        """Go to an offset, by unpacking all before it; not beyond the end."""
        if whence != SEEK_SET:
            raise UnsupportedOperation("a packed file is sought from its beginning only")
        if offset < self._at:
            self._begin()
        while self._at < offset and self._take(offset - self._at):
            pass
        return self._at

    @override
    def close(self) -> None:
        self._file.close()
        super().close()


def _bytewise(member: Any, data: bytes) -> tuple[bytes, int]:
    """Unpack what can be, which an error in the same call would lose; and tell from how much."""
    found, at = bytearray(), 0
    with suppress(zlib.error):
        for at in range(len(data)):
            found += member.decompress(data[at : at + 1])
    return bytes(found), at
