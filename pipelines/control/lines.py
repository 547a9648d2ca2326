"""Where changes are asked for: new lines of a file, whoever appends them."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from anabranch.errors import ConfigurationError
from pipelines.config import Job, Target

__all__ = ["FileLines", "Line", "Lines", "open_lines"]


class Line(NamedTuple):
    """A line, where it stands, and the position after it."""

    text: bytes
    place: str
    after: int


class Lines(Protocol):
    """A place for lines, to which anybody may add some."""

    def end(self) -> int:
        """Give the position after all that is there."""
        ...

    def read(self, at: int) -> list[Line]:
        """Give the lines from a position on; a line still being written is left for later."""
        ...

    def append(self, text: bytes) -> None:
        """Add a line."""
        ...

    def close(self) -> None:
        """Clean up."""
        ...


class FileLines:
    """Lines of a file; a position is a number of bytes. Blank ones are passed over.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     lines = FileLines(Path(folder, "control.jsonl"))
    ...     lines.append(b"{}")
    ...     lines.end(), [line.text for line in lines.read(0)], lines.read(3)
    (3, [b'{}'], [])
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def end(self) -> int:
        """Give the position after the last whole line."""
        return self._whole().rfind(b"\n") + 1

    def read(self, at: int) -> list[Line]:
        """Give the whole lines from a position on; from the beginning of a file cut short."""
        try:
            if self._path.stat().st_size == at:
                return []
        except OSError:
            return []
        data = self._whole()
        at = at if at <= len(data) else 0
        number, found = data[:at].count(b"\n"), []
        for line in data[at : data.rfind(b"\n") + 1].splitlines(keepends=True):
            at, number = at + len(line), number + 1
            if line.strip():
                found.append(Line(line.strip(), f"line {number} of {self._path}", at))
        return found

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


def open_lines(job: Job, say: Callable[[str], None]) -> Lines | None:
    """Open what `network.control` names; None where it names nothing.

    Parameters
    ----------
    say : told of records that retention deleted before they were read

    Raises
    ------
    ConfigurationError
        The brokers do not answer or refuse, or the topic has several partitions.
    """
    if job.network.control is None:
        return None
    target = Target.of(job.network.control)
    if target.path is not None:
        return FileLines(target.path)
    from pipelines.control.topic import TopicLines
    from pipelines.positions import settings_of

    return TopicLines(settings_of(job.kafka, "kafka"), target.name, say)
