"""CSV: the header, and one record a line."""

import csv
from collections.abc import Sequence

from anabranch.errors import ConfigurationError, nearest
from connectors.records import BadRecord, RecordFormat, Row, label, node, number, shown
from connectors.scan import FEATURE, LABEL, NODE, TEXT, Template

__all__ = ["CsvCodec", "choose_features", "read_header"]


def read_header(line: bytes, path: str) -> tuple[str, ...]:
    """Read the column names of a header line.

    Raises
    ------
    ConfigurationError
        It is not UTF-8, not CSV, or names a column twice.

    >>> read_header(b'x1, "x 2",y', "a.csv")
    ('x1', 'x 2', 'y')
    """
    try:
        text = line.decode("utf-8")
        names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ConfigurationError(f"the header of {path} cannot be read: {error}") from None
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigurationError(f"the header of {path} names the column {twice[0]!r} twice")
    return tuple(names)


def choose_features(columns: Sequence[str], form: RecordFormat, path: str) -> tuple[str, ...]:
    """Give the features' names: those asked for, or every column that is not special.

    Raises
    ------
    ConfigurationError
        The header lacks a column that the format names, or has no feature at all.
    """
    for key, names in (("label", (form.label,)), ("node", form.special[1:])):
        _check_columns(key, names, columns, path)
    _check_columns("features", form.features or (), columns, path)
    chosen = form.features or tuple(name for name in columns if name not in form.special)
    if not chosen:
        raise ConfigurationError(
            f"the header of {path} has no feature: its columns are {', '.join(columns)}"
        )
    return chosen


def _check_columns(key: str, names: Sequence[str], columns: Sequence[str], path: str) -> None:
    for name in names:
        if name not in columns:
            raise ConfigurationError(
                f"source.{key} names {name!r}, which the header of {path} does not have"
                + nearest(name, list(columns))
            )


class CsvCodec:
    """Reads the CSV records of one file.

    Numbers may have spaces and tabs around them; fields may be quoted, but a quoted field
    cannot hold a line break, since a record is one line.

    >>> codec = CsvCodec(("x", "y", "note"), ("x",), RecordFormat())
    >>> codec.parse(b'1.5,2,"a, b"')
    Row(features=[1.5], label=2.0, node=None)
    """

    def __init__(self, columns: Sequence[str], features: Sequence[str], form: RecordFormat) -> None:
        self._columns = tuple(columns)
        self._form = form
        self._at = [self._columns.index(name) for name in features]
        self._names = tuple(features)
        self._label = self._columns.index(form.label)
        self._node = None if form.node_field is None else self._columns.index(form.node_field)
        self._template = self._build_template()

    @property
    def template(self) -> Template | None:
        """The template of plain lines without quotes."""
        return self._template

    def _build_template(self) -> Template:
        kinds, slots = [TEXT] * len(self._columns), [0] * len(self._columns)
        kinds[self._label] = LABEL
        if self._node is not None:
            kinds[self._node] = NODE
        for slot, at in enumerate(self._at):
            kinds[at], slots[at] = FEATURE, slot
        texts = [b"", *[b","] * (len(kinds) - 1), b""]
        return Template.of(texts, kinds, slots, json=False)

    def parse(self, line: bytes) -> Row:
        """Read one line, without its line end; see `Codec.parse`."""
        fields = self._split(line)
        features = [
            number(fields[at], name) for at, name in zip(self._at, self._names, strict=True)
        ]
        truth = self._parse_label(fields[self._label])
        if self._node is None:
            return Row(features, truth, None)
        return Row(features, truth, node(fields[self._node].strip(" \t"), self._form))

    def _parse_label(self, text: str) -> float:
        try:
            return label(number(text, self._form.label), self._form, text)
        except BadRecord as bad:
            if bad.reason == "missing_field":
                raise
            raise BadRecord("bad_label", bad.detail) from None

    def _split(self, line: bytes) -> list[str]:
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadRecord("bad_encoding", f"the record is not UTF-8: {error}") from None
        fields = _fields(text)
        wanted = len(self._columns)
        if len(fields) < wanted:
            raise BadRecord(
                "missing_field",
                f"{len(fields)} fields where {wanted} are wanted: field"
                f" {shown(self._columns[len(fields)])} is missing",
            )
        if len(fields) > wanted:
            raise BadRecord(
                "extra_field",
                f"{len(fields)} fields where {wanted} are wanted: the first too many is"
                f" {shown(fields[wanted])}",
            )
        return fields


def _fields(text: str) -> list[str]:
    if "\r" in text or "\0" in text:
        raise BadRecord("malformed", f"a control character in the record {shown(text)}")
    if '"' not in text:
        return text.split(",")
    try:
        return next(csv.reader([text], strict=True))
    except (csv.Error, StopIteration) as error:
        raise BadRecord("malformed", f"not a CSV record ({error}): {shown(text)}") from None
