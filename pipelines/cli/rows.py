"""Rows of features from a file, for predictions: no label is needed, and none is used."""

import csv
import gzip
import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from anabranch.errors import ConfigurationError

__all__ = ["BadRow", "Rows", "open_lines", "read_rows"]


class BadRow(str):
    """Why a row cannot be used."""

    __slots__ = ()


Rows = Iterator[list[float] | BadRow]


def read_rows(path: Path, names: Sequence[str] | None, width: int | None) -> Rows:
    """Give the features of every record of a CSV or JSON Lines file, plain or .gz.

    Parameters
    ----------
    names : fields to take, in order; if None, all fields, without "y" where the width
        says that there is one too many
    width : number of features, if known

    Raises
    ------
    ConfigurationError
        The file cannot be read, or lacks a field that is named.
    """
    kind = path.name.removesuffix(".gz").rpartition(".")[2]
    reader = {"csv": _csv, "jsonl": _json, "ndjson": _json}.get(kind)
    if reader is None:
        raise ConfigurationError(
            f"the file {path} ends in none of .csv, .jsonl, .ndjson, plain or .gz"
        )
    with open_lines(path) as file:
        yield from reader(file, names, width)


@contextmanager
def open_lines(path: Path) -> Iterator[IO[str]]:
    """Open a file of text, plain or .gz, whose bad bytes are replaced.

    Raises
    ------
    ConfigurationError
        It cannot be read.
    """
    opener: Any = gzip.open if path.name.endswith(".gz") else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as file:
            yield file
    except (OSError, EOFError) as error:
        raise ConfigurationError(f"the file {path} cannot be read: {error}") from None


def _csv(file: IO[str], names: Sequence[str] | None, width: int | None) -> Rows:
    # One record a line: a stray quote must not swallow the lines after it.
    lines = (next(csv.reader([line.rstrip("\r\n")]), []) for line in file)
    header = [name.strip() for name in next(lines, [])]
    columns = [header.index(name) for name in _chosen(header, names, width)]
    for fields in lines:
        if not fields:
            continue
        if len(fields) != len(header):
            yield BadRow(f"it has {len(fields)} fields, and the header {len(header)}")
        else:
            yield _numbers({header[i]: fields[i] for i in columns})


def _json(file: IO[str], names: Sequence[str] | None, width: int | None) -> Rows:
    for line in file:
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            yield BadRow("it is not JSON")
            continue
        if isinstance(record, list):
            record = {str(i): value for i, value in enumerate(record)}
            yield _numbers(record) if width in (None, len(record)) else _wrong(len(record), width)
        elif not isinstance(record, dict):
            yield BadRow("it is neither an object nor an array")
        else:
            if names is None:
                names = _chosen(list(record), None, width)
            missing = [name for name in names if name not in record]
            yield (
                BadRow(f"field {missing[0]!r} is missing")
                if missing
                else _numbers({name: record[name] for name in names})
            )


def _chosen(header: list[str], names: Sequence[str] | None, width: int | None) -> Sequence[str]:
    if names is None:
        spare = width is not None and len(header) == width + 1
        names = [name for name in header if not (spare and name == "y")]
    missing = [name for name in names if name not in header]
    if missing:
        raise ConfigurationError(f"the file has no field {missing[0]!r}, which the model needs")
    if width is not None and len(names) != width:
        raise ConfigurationError(
            f"the file has {len(names)} features and the model needs {width}; fields: "
            f"{', '.join(header)}"
        )
    return names


def _wrong(found: int, width: int | None) -> BadRow:
    return BadRow(f"it has {found} values, and the model needs {width}")


def _numbers(fields: dict[str, Any]) -> list[float] | BadRow:
    values = []
    for name, value in fields.items():
        try:
            number = float("nan" if isinstance(value, bool | None) else value)
        except (TypeError, ValueError, OverflowError):
            return BadRow(f"field {name!r} is {str(value)[:40]!r}, not a number")
        if not math.isfinite(number):
            return BadRow(f"field {name!r} is {str(value)[:40]!r}, not a finite number")
        values.append(number)
    return values
