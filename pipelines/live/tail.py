"""New lines of growing files, a bounded part at a time."""

from pathlib import Path

__all__ = ["BoundedTail"]


class BoundedTail:
    """Gives a file's whole lines since the last look, of a long file its end.

    Parameters
    ----------
    path : the file; it need not be there yet, and may be cut back
    most : bytes read at a look; what is more than four times as far back is passed over
    """

    def __init__(self, path: Path, most: int = 8_000_000) -> None:
        self._path, self._most = path, most
        self._offset = 0

    def lines(self) -> list[bytes]:
        """Read what is new; a line still being written is left for later."""
        try:
            size = self._path.stat().st_size
            passed = size - self._offset > 4 * self._most
            self._offset = size - 4 * self._most if passed else min(self._offset, size)
            with self._path.open("rb") as file:
                file.seek(self._offset)
                text = file.read(self._most)
        except OSError:
            return []
        whole = text[: text.rfind(b"\n") + 1]
        self._offset += len(whole)
        return whole.splitlines()[1:] if passed else whole.splitlines()
