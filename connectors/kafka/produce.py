"""Files as messages: every record of a file is the value of one."""

import csv
import json
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any, Literal

import msgspec

from anabranch.errors import ConfigurationError, nearest
from connectors.arff_header import Attribute, read_attributes
from connectors.arff_records import split_record
from connectors.csv_records import read_header, split_fields
from connectors.format_checks import SEPARATORS
from connectors.kafka.producer import Record
from connectors.reader import open_text
from connectors.records import SourceError
from connectors.svmlight_records import read_pairs, split_pairs
from connectors.values import BadRecord
from connectors.values import number as read_number

__all__ = ["FORMATS", "BadLine", "FileMessages", "Format"]

Format = Literal["json", "msgpack", "csv"]
FORMATS: tuple[Format, ...] = ("json", "msgpack", "csv")
"""How values may be written."""

_KINDS = {"csv": "csv", "tsv": "csv", "arff": "arff", "jsonl": "jsonl", "ndjson": "jsonl"}
_KINDS |= dict.fromkeys(("svmlight", "libsvm", "svm"), "svmlight")
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_WIDEST = 1 << 31
_WHOLE = re.compile(r"-?[0-9]{1,18}")


_Line = tuple[int, bytes, list[str] | str]
"""Number and bytes of a line, and its fields, or why it has none."""


class BadLine(str):
    """Why a line is no message."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class FileMessages:
    r"""The records of a file as messages, in order, to be gone through any number of times.

    Numbers of a CSV file stay numbers, digit for digit where JSON can write them so; an empty
    field is null, anything else a text. So do those of ARFF, whose sparse records get all their
    values; those of svmlight become objects of indices (from 0), values and y. Lines of JSON that
    need no change are not looked into.

    Attributes
    ----------
    path : .csv or .tsv, .arff, .svmlight (.libsvm, .svm), .jsonl or .ndjson, plain or .gz
    format : how values are written; CSV values have no header
    key : the field whose text becomes the message's key
    texts : fields that stay texts though they look like numbers
    columns : names of a CSV file's fields, where it has no header
    separator : between a CSV file's fields; a tab in .tsv. With a tab there are no quotes.
    index_base : the first index in svmlight files

    Raises
    ------
    ConfigurationError
        The file's kind is unknown, it cannot be read, or it lacks a field that is named.

    >>> from tempfile import TemporaryDirectory
    >>> from pathlib import Path
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text("node,x,y\n7,1.50,2\n8,,2\n9\n")
    ...     for message in FileMessages(f"{folder}/a.csv", key="node"):
    ...         print(message if isinstance(message, BadLine) else message[:2])
    (b'7', b'{"node":7,"x":1.50,"y":2}')
    (b'8', b'{"node":8,"x":null,"y":2}')
    line 4: it has 1 fields, and the header 3
    """

    path: str
    format: Format = "json"
    key: str | None = None
    texts: frozenset[str] = frozenset()
    columns: tuple[str, ...] | None = None
    separator: str = ","
    index_base: int = 1

    def __post_init__(self) -> None:
        if self.separator not in SEPARATORS:
            raise ConfigurationError(
                f"--separator is {self.separator!r}; it must be a comma, a semicolon, a bar or a"
                " tab"
            )
        for _ in self:  # the first message shows whether the file and its header will do
            break

    def __iter__(self) -> Iterator[Record | BadLine]:
        """Give the messages; a line that cannot be one as `BadLine`.

        Raises
        ------
        SourceError
            The file cannot be read to its end.
        """
        kind = self.path.removesuffix(".gz").rpartition(".")[2]
        if kind not in _KINDS:
            raise ConfigurationError(
                f"the file {self.path!r} ends in none of .{', .'.join(_KINDS)}, plain or .gz"
            )
        lines = _lines(self.path)
        if _KINDS[kind] == "jsonl":
            return self._of_json(lines)
        if _KINDS[kind] == "arff":
            return self._of_table(*_arff_table(lines, self.path))
        if _KINDS[kind] == "svmlight":
            return self._of_pairs(lines)
        separator = "\t" if kind == "tsv" else self.separator
        names = self.columns or read_header(next(lines, (0, b""))[1], self.path, separator)
        table = ((number, line, _split(line, separator)) for number, line in lines)
        return self._of_table(names, table)

    def _of_table(self, names: Sequence[str], lines: Iterator[_Line]) -> Iterator[Record | BadLine]:
        for option, name in (("--key", self.key), *(("--text", name) for name in self.texts)):
            if name is not None and name not in names:
                raise ConfigurationError(
                    f"{option} is {name!r}, which the header of {self.path} does not have"
                    + nearest(name, list(names))
                )
        at = None if self.key is None else names.index(self.key)
        encode = _csv_encoder(names, self.format, self.texts)
        for number, line, fields in lines:
            if isinstance(fields, str):
                yield BadLine(f"line {number}: {fields}")
            elif len(fields) != len(names):
                yield BadLine(
                    f"line {number}: it has {len(fields)} fields, and the header {len(names)}"
                )
            else:
                key = None if at is None else fields[at].strip().encode()
                value = line if self.format == "csv" else encode(fields)
                yield Record(key, value, [], None)

    def _of_pairs(self, lines: Iterator[tuple[int, bytes]]) -> Iterator[Record | BadLine]:
        for option, given in (("--key", self.key), ("--text", min(self.texts, default=None))):
            if given is not None:
                raise ConfigurationError(f"{option} is {given!r}, but svmlight has no fields")
        encode = _ENCODERS[self.format]
        for number, line in lines:
            text = line.partition(b"#")[0].decode("utf-8", "replace").strip()
            if not text:
                continue
            try:
                label, tokens = split_pairs(text)
                indices, values = read_pairs(tokens, self.index_base, _WIDEST)
                pairs = {"indices": indices.tolist(), "values": values.tolist()}
                yield Record(None, encode({**pairs, "y": read_number(label, "y")}), [], None)
            except BadRecord as bad:
                yield BadLine(f"line {number}: {bad.detail}")

    def _of_json(self, lines: Iterator[tuple[int, bytes]]) -> Iterator[Record | BadLine]:
        plain = self.format == "json" and self.key is None
        encode = _ENCODERS[self.format]
        for number, line in lines:
            if plain:
                yield Record(None, line, [], None)
                continue
            try:
                record = json.loads(line)
                key = None if self.key is None else _key_of(record, self.key)
                yield Record(key, line if self.format == "json" else encode(record), [], None)
            except (ValueError, RecursionError, OverflowError) as error:
                yield BadLine(f"line {number}: {error}")


def _lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Give number and bytes of every line that is not blank."""
    try:
        file = open_text(path)
    except OSError as error:
        raise ConfigurationError(f"the file {path!r} cannot be read: {error.strerror}") from None
    with file:
        try:
            for number, line in enumerate(file, 1):
                text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if text.strip():
                    yield number, text.rstrip(b"\r\n")
        except (OSError, EOFError, zlib.error) as error:
            raise SourceError(f"the file {path!r} cannot be read further: {error}") from None


def _split(line: bytes, separator: str) -> list[str] | str:
    """Split a line of CSV; a text says why it cannot be done."""
    try:
        return split_fields(line.decode("utf-8"), separator)
    except (UnicodeDecodeError, csv.Error) as error:
        return f"it is no CSV: {error}"


def _arff_table(
    lines: Iterator[tuple[int, bytes]], path: str
) -> tuple[tuple[str, ...], Iterator[_Line]]:
    """Give the names of the attributes, and the records as lines of CSV."""
    attributes = read_attributes(lambda: next(lines, (0, None))[1], path)
    if attributes is None:
        raise ConfigurationError(f"{path} has no line @data: its header does not end")
    names = tuple(attribute.name for attribute in attributes)
    records = ((number, line) for number, line in lines if line.lstrip(b" \t")[:1] != b"%")
    return names, (_arff_line(number, line, attributes) for number, line in records)


def _arff_line(number: int, line: bytes, attributes: Sequence[Attribute]) -> _Line:
    try:
        values = split_record(line.decode("utf-8"), attributes)
    except UnicodeDecodeError as error:
        return number, line, f"it is no ARFF: {error}"
    except BadRecord as bad:
        return number, line, bad.detail
    fields = ["" if value == "?" else value for value in values]
    return number, _to_csv(fields), fields


def _csv_encoder(
    names: Sequence[str], format: Format, texts: frozenset[str]
) -> Callable[[list[str]], bytes]:
    kept = [name in texts for name in names]
    if format == "msgpack":
        return lambda fields: msgspec.msgpack.encode(
            {
                name: _value(field, text)
                for name, field, text in zip(names, fields, kept, strict=True)
            }
        )
    starts = [f"{',' if i else '{'}{json.dumps(name)}:" for i, name in enumerate(names)]

    def to_json(fields: list[str]) -> bytes:
        parts = zip(starts, fields, kept, strict=True)
        return ("".join(start + _json(field, text) for start, field, text in parts) + "}").encode()

    return to_json


def _json(field: str, is_text: bool) -> str:
    text = field.strip()
    if not text:
        return "null"
    if not is_text:
        if _JSON_NUMBER.fullmatch(text):
            return text
        if _NUMBER.fullmatch(text):
            value = float(text)
            return repr(value) if abs(value) < float("inf") else json.dumps(text)
    return json.dumps(text, ensure_ascii=False)


def _value(field: str, is_text: bool) -> int | float | str | None:
    text = field.strip()
    if not text:
        return None
    if is_text or not _NUMBER.fullmatch(text):
        return text
    return int(text) if _WHOLE.fullmatch(text) else float(text)


def _key_of(record: Any, name: str) -> bytes:
    value = record.get(name) if isinstance(record, dict) else None
    if value is None or isinstance(value, dict | list):
        raise ValueError(f"field {name!r}, which is to be the key, is missing, or no plain value")
    return (value if isinstance(value, str) else json.dumps(value)).encode()


def _to_csv(record: Any) -> bytes:
    values = list(record.values()) if isinstance(record, dict) else record
    if not isinstance(values, list):
        raise ValueError("it is neither an object nor an array")
    out = StringIO()
    csv.writer(out, lineterminator="").writerow(values)
    return out.getvalue().encode()


_ENCODERS: dict[Format, Callable[[Any], bytes]] = {
    "json": msgspec.json.encode,
    "msgpack": msgspec.msgpack.encode,
    "csv": _to_csv,
}
