"""Small files of JSON: read while others write them, written whole; and logs, appended to."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

__all__ = ["open_to_append", "read_lines", "read_object", "write_whole"]


def read_lines(path: Path, newest: int | None = None) -> Iterator[dict[str, Any]]:
    """Read the objects of a JSON Lines file; a line cut short by a crash is passed over.

    Parameters
    ----------
    newest : bytes before the file's end that are read; None for all
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        if newest is not None and path.stat().st_size > newest:
            file.seek(-newest, os.SEEK_END)
            file.readline()  # its beginning is cut off
        for line in file:
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict):
                yield row


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old text or the new, never a part."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


def read_object(path: Path) -> dict[str, Any] | None:
    """Read the object in a JSON file; None where there is nothing whole."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def open_to_append(path: Path) -> IO[bytes]:
    """Open a file to be appended to; a line that a killed process left unfinished is ended.

    It is not where the disk is full, which may have killed the process.
    """
    file = path.open("a+b", buffering=0)
    if file.tell():
        file.seek(-1, os.SEEK_END)
        if file.read(1) != b"\n":
            with suppress(OSError):
                file.write(b"\n")
    return file
