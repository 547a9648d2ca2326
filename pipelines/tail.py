"""New lines of a growing file."""

from pathlib import Path

__all__ = ["Tail"]


class Tail:
    """Gives a file's whole lines since the last look.

    Parameters
    ----------
    newest : bytes of the file's end that the first look reads at most; None for all of it

    Examples
    --------
    >>> Tail(Path("no such file")).lines()
    []
    """

    def __init__(self, path: Path, newest: int | None = None) -> None:
        self._path = path
        self._offset: int | None = None if newest else 0
        self._newest = newest or 0

    def lines(self) -> list[bytes]:
        """Read what is new; a line still being written is left for later."""
        try:
            size = self._path.stat().st_size
            first = self._offset is None and size > self._newest
            if self._offset is None:
                self._offset = max(size - self._newest, 0)
            # A file is cut back when a job restarts from an older snapshot.
            self._offset = min(self._offset, size)
            with self._path.open("rb") as file:
                file.seek(self._offset)
                text = file.read()
        except OSError:
            return []
        whole = text[: text.rfind(b"\n") + 1]
        self._offset += len(whole)
        lines = whole.splitlines()
        return lines[1:] if first else lines  # the first is cut short
