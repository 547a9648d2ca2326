"""New lines of a growing file."""

from pathlib import Path

__all__ = ["Tail"]


class Tail:
    """Gives a file's whole lines since the last look.

    Parameters
    ----------
    path : the file; it need not be there yet, and may be cut back, as when a job restarts from
        an older snapshot
    newest : bytes before the file's end that are read at most where more is new at the first
        look; None for all
    most : bytes read at a look; None for all

    Examples
    --------
    >>> Tail(Path("no such file")).lines()
    []
    """

    def __init__(self, path: Path, newest: int | None = None, most: int | None = None) -> None:
        self._path, self._newest, self._most = path, newest, most
        self._offset = 0

    def lines(self) -> list[bytes]:
        """Read what is new; a line still being written is left for later."""
        try:
            size = self._path.stat().st_size
            passed = self._newest is not None and size > self._newest
            self._offset = size - (self._newest or 0) if passed else min(self._offset, size)
            with self._path.open("rb") as file:
                file.seek(self._offset)
                text = file.read(self._most)
        except OSError:
            return []
        self._newest = None
        whole = text[: text.rfind(b"\n") + 1]
        self._offset += len(whole)
        return whole.splitlines()[1:] if passed else whole.splitlines()  # the first is cut short
