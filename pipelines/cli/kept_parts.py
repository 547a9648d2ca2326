"""Pieces of a reproduction kept as JSON files, so that an interrupted run goes on."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anabranch.errors import ConfigurationError

__all__ = ["PartsFolder"]


class PartsFolder:
    """A folder of JSON files, one a piece; one that cannot be read is made again.

    Raises
    ------
    ConfigurationError
        The folder cannot be made.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     parts = PartsFolder(Path(folder) / "parts")
    ...     parts.put("a", {"settings": {}, "value": [1]})
    ...     parts.get("a"), parts.get("b")
    ({'settings': {}, 'value': [1]}, None)
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(
                f"{str(folder)!r}, for finished pieces, cannot be made: {error}; allowed: --out in "
                "a folder that can be written to"
            ) from None

    def get(self, name: str) -> Mapping[str, Any] | None:
        """Give a piece, or None where there is none."""
        try:
            kept = json.loads(self._file(name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return kept if isinstance(kept, dict) and "value" in kept else None

    def put(self, name: str, kept: Mapping[str, Any]) -> None:
        """Keep a piece, whole or not at all."""
        beside = self._file(f"{name}.unfinished")
        beside.write_text(json.dumps(kept, allow_nan=False) + "\n", encoding="utf-8")
        beside.replace(self._file(name))

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.json"
