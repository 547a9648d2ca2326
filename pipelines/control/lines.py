"""Where changes are asked for: new lines of a file, whoever appends them."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, Protocol
from zlib import crc32

from anabranch.errors import ConfigurationError
from pipelines.config import Job, Target

__all__ = ["FileLines", "Line", "Lines", "Position", "end_of_lines", "open_lines"]


class Position(NamedTuple):
    """How far lines were read.

    Attributes
    ----------
    at : the next byte of a file, or record of a topic
    checksum : of a file's bytes before it, by which another file is told from one that grew; None
        where it is not known
    """

    at: int = 0
    checksum: int | None = None


class Line(NamedTuple):
    """A line, where it stands, and the position after it."""

    text: bytes
    place: str
    after: Position


class Lines(Protocol):
    """A place for lines, to which anybody may add some."""

    def end(self) -> Position:
        """Give the position after all that is there."""
        ...

    def read(self, position: Position) -> list[Line]:
        """Give the lines from a position on; a line still being written is left for later."""
        ...

    def append(self, text: bytes) -> None:
        """Add a line."""
        ...

    def close(self) -> None:
        """Clean up."""
        ...


class FileLines:
    """Lines of a file; blank ones are passed over.

    Parameters
    ----------
    say : told that the file is another than was read, and is read from its beginning

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     lines = FileLines(Path(folder, "control.jsonl"), print)
    ...     lines.append(b"{}")
    ...     end = lines.end()
    ...     end.at, [line.text for line in lines.read(Position())], lines.read(end)
    (3, [b'{}'], [])
    """

    def __init__(self, path: Path, say: Callable[[str], None]) -> None:
        self._path, self._say = path, say
        self._seen: object = None

    def end(self) -> Position:
        """Give the position after the last whole line."""
        whole = self._whole()
        at = whole.rfind(b"\n") + 1
        return Position(at, crc32(whole[:at]))

    def read(self, position: Position) -> list[Line]:
        """Give the whole lines from a position on; of another file, or one cut short, all."""
        try:
            now = self._path.stat()
        except OSError:
            return []
        seen = (now.st_ino, now.st_size, now.st_mtime_ns, position)
        if seen == self._seen:
            return []
        data = self._whole()
        if not data:  # emptied, and perhaps being filled again: it tells nothing yet
            return []
        self._seen = seen
        at = position.at
        if not _continues(data, position):
            at = 0
            self._say(
                f"network.control: {self._path} no longer begins with the {position.at:,} bytes "
                "that were read; it is read from its beginning"
            )
        return list(self._lines(data, at))

    def _lines(self, data: bytes, at: int) -> Iterator[Line]:
        number, checksum = data[:at].count(b"\n"), crc32(data[:at])
        for line in data[at : data.rfind(b"\n") + 1].splitlines(keepends=True):
            at, number, checksum = at + len(line), number + 1, crc32(line, checksum)
            if line.strip():
                place = f"line {number} of {self._path}"
                yield Line(line.strip(), place, Position(at, checksum))

    def append(self, text: bytes) -> None:
        """Add a line, in one write.

        Raises
        ------
        ConfigurationError
            The file cannot be written.
        """
        try:
            cut = b"" if self._whole()[-1:] in (b"", b"\n") else b"\n"
            with self._path.open("ab") as file:
                file.write(cut + text + b"\n")
        except OSError as error:
            raise ConfigurationError(
                f'network.control is "{self._path}", which cannot be written: {error.strerror}'
            ) from None

    def close(self) -> None:
        """Do nothing."""

    def _whole(self) -> bytes:
        try:
            return self._path.read_bytes()
        except OSError:
            return b""


def _continues(data: bytes, position: Position) -> bool:
    if position.at > len(data):
        return False
    return position.checksum in (None, crc32(data[: position.at]))


def open_lines(job: Job, say: Callable[[str], None]) -> Lines | None:
    """Open what `network.control` names; None where it names nothing.

    Parameters
    ----------
    say : told of records that retention deleted before they were read, and of another file

    Raises
    ------
    ConfigurationError
        The brokers do not answer or refuse, or the topic has several partitions.
    """
    if job.network.control is None:
        return None
    target = Target.of(job.network.control)
    if target.path is not None:
        return FileLines(target.path, say)
    from pipelines.control.topic import TopicLines
    from pipelines.positions import settings_of

    return TopicLines(settings_of(job.kafka, "kafka"), target.name, say)


def end_of_lines(job: Job) -> Position | None:
    """Give the position after all that `network.control` holds now; raises as `open_lines`."""
    lines = open_lines(job, lambda sentence: None)
    if lines is None:
        return None
    with closing(lines):
        return lines.end()
