"""Rows of features from a file, for predictions: no label is needed, and none is used."""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, TypeVar

from anabranch.errors import ConfigurationError

__all__ = ["BadRow", "CsvForm", "Rows", "bounded", "open_records", "parsed", "pick", "read_rows"]

T = TypeVar("T")
_BOM = b"\xef\xbb\xbf"


class BadRow(str):
    """Why a row cannot be used."""

    __slots__ = ()


Rows = Iterator[list[float] | BadRow]


@dataclass(frozen=True)
class CsvForm:
    """How CSV is written: its separator, and its columns where there is no header."""

    separator: str = ","
    columns: Sequence[str] = ()


def read_rows(
    path: Path, names: Sequence[str] | None, width: int | None, form: CsvForm | None = None
) -> Rows:
    """Give the features of every record of a CSV or JSON Lines file, plain or .gz.

    Parameters
    ----------
    names : fields to take, in order; if None, all fields, without "y" where the width
        says that there is one too many
    width : number of features, if known
    form : of CSV; commas and a header unless given

    Raises
    ------
    ConfigurationError
        The file cannot be read, or lacks a field that is named.
    """
    kind = path.name.removesuffix(".gz").rpartition(".")[2]
    if kind not in ("csv", "jsonl", "ndjson"):
        raise ConfigurationError(
            f"the file {path} ends in none of .csv, .jsonl, .ndjson, plain or .gz"
        )
    with open_records(path) as lines:
        if kind == "csv":
            yield from _csv(lines, path, names, width, form or CsvForm())
        else:
            yield from parsed(lines, _Objects(names, width).parse)


@contextmanager
def open_records(path: Path) -> Iterator[Iterator[bytes]]:
    """Open a file, plain or .gz, for its lines that are not blank, without their ends, as jobs do.

    Raises
    ------
    ConfigurationError
        It cannot be read.
    """
    from connectors.reader import open_text

    try:
        with open_text(str(path)) as file:
            yield _lines(file)
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigurationError(f"the file {path} cannot be read: {error}") from None


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    for number, line in enumerate(file):
        text = line.removeprefix(_BOM) if number == 0 else line
        text = text.removesuffix(b"\n").removesuffix(b"\r")
        if text.strip(b" \t"):
            yield text


def parsed(lines: Iterator[bytes], parse: Callable[[bytes], T]) -> Iterator[T | BadRow]:
    """Read lines; those that are bad, or longer than jobs take them, become a `BadRow`."""
    from connectors.records import LONGEST_RECORD
    from connectors.values import BadRecord, too_long

    for line in lines:
        try:
            if len(line) > LONGEST_RECORD:
                raise too_long(LONGEST_RECORD)
            yield parse(line)
        except BadRecord as bad:
            yield BadRow(bad.detail)


def bounded(values: Sequence[float], names: Sequence[Any]) -> Sequence[float]:
    """Pass values on that learners take.

    Raises
    ------
    BadRecord
        One is too large.
    """
    from anabranch.kernels.checks import LIMIT
    from connectors.values import BadRecord, shown

    for value, name in zip(values, names, strict=True):
        if abs(value) > LIMIT:
            raise BadRecord("infinite", f"field {shown(name)} is {value!r}, beyond {LIMIT:g}")
    return values


def _csv(
    lines: Iterator[bytes],
    path: Path,
    names: Sequence[str] | None,
    width: int | None,
    form: CsvForm,
) -> Rows:
    from connectors.csv_records import read_fields
    from connectors.values import number

    first = next(lines, b"")
    header = _columns(first, path, names, form)
    if form.columns:
        lines = chain([first], lines) if first else lines
    chosen = _chosen(header, names, width)
    at = [header.index(name) for name in chosen]

    def parse(line: bytes) -> list[float]:
        fields = read_fields(line, header, form.separator)
        values = [number(fields[i], name) for i, name in zip(at, chosen, strict=True)]
        return list(bounded(values, chosen))

    return parsed(lines, parse)


def _columns(
    first: bytes, path: Path, names: Sequence[str] | None, form: CsvForm
) -> tuple[str, ...]:
    """Give the columns of a file by its first line, which may lack what no feature is made of."""
    from connectors.csv_records import read_header, split_fields

    if not form.columns:
        return read_header(first, str(path), form.separator)
    columns = tuple(form.columns)
    given = len(split_fields(first.decode("utf-8", "replace"), form.separator, spaces=True))
    wanted = tuple(name for name in columns if names is None or name in names)
    return wanted if given == len(wanted) else columns


class _Objects:
    """Reads JSON's objects and arrays; the first object tells the names, where none are known."""

    def __init__(self, names: Sequence[str] | None, width: int | None) -> None:
        self._names, self._width = names, width

    def parse(self, line: bytes) -> list[float]:
        from connectors.json_records import decode
        from connectors.objects import pick_numbers
        from connectors.values import BadRecord

        record = decode(line)
        if isinstance(record, list):
            if self._width not in (None, len(record)):
                raise BadRecord(
                    "wrong_length",
                    f"it has {len(record)} values, and the model needs {self._width}",
                )
            names: Sequence[str] = [f"{i}" for i in range(len(record))]
            values = record
        elif isinstance(record, dict):
            names = self._names = self._names or _chosen(list(record), None, self._width)
            values = pick(record, names)
        else:
            raise BadRecord("malformed", "it is neither an object nor an array")
        return list(bounded(pick_numbers(values, names), names))


def pick(record: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    """Give fields of an object.

    Raises
    ------
    BadRecord
        One is null or missing.
    """
    from connectors.values import BadRecord, shown

    for name in names:
        if record.get(name) is None:
            state = "null" if name in record else "missing"
            raise BadRecord("missing_field", f"field {shown(name)} is {state}")
    return [record[name] for name in names]


def _chosen(header: Sequence[str], names: Sequence[str] | None, width: int | None) -> Sequence[str]:
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
