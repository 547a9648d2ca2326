"""CSV: the header, and one record a line."""

import csv
from collections.abc import Sequence

from anabranch import stream
from anabranch.errors import ConfigurationError, nearest
from connectors.label_names import LabelNames, split_names
from connectors.records import RecordFormat, Row
from connectors.shapes import uses
from connectors.template import CSV, FEATURE, LABELS, TEXT, WORDS, Template
from connectors.values import BadRecord, flag, identity, label, node, number, shown

__all__ = ["CsvCodec", "choose_features", "read_fields", "read_header", "split_fields"]

csv.field_size_limit(1 << 30)  # the length of a record is what is bounded


def read_header(line: bytes, path: str, separator: str = ",") -> tuple[str, ...]:
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
        names = [name.strip() for name in split_fields(text, separator, spaces=True)]
    except (UnicodeDecodeError, csv.Error, StopIteration) as error:
        raise ConfigurationError(f"the header of {path} cannot be read: {error}") from None
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigurationError(f"the header of {path} names the column {twice[0]!r} twice")
    return tuple(names)


def choose_features(columns: Sequence[str], form: RecordFormat, place: str) -> tuple[str, ...]:
    """Give the features' names: those asked for, or every column that is not special.

    None where features are made of texts. `place` is what names the columns, in words.

    Raises
    ------
    ConfigurationError
        A column is not there that the format names, or there is no feature at all.
    """
    label = "labels" if form.flags else "label"
    for key, names in ((label, form.label_columns), ("node", form.place_columns)):
        _check_columns(key, names, columns, place)
    _check_columns("text", form.text, columns, place)
    _check_columns("features", form.features or (), columns, place)
    if form.text:
        return ()
    chosen = form.features or tuple(name for name in columns if name not in form.special)
    if not chosen:
        raise ConfigurationError(f"{place} has no feature: its columns are {', '.join(columns)}")
    return chosen


def _check_columns(key: str, names: Sequence[str], columns: Sequence[str], place: str) -> None:
    for name in names:
        if name not in columns:
            raise ConfigurationError(
                f"source.{key} names {name!r}, which {place} does not have"
                + nearest(name, list(columns))
            )


class CsvCodec:
    """Reads the CSV records of one file.

    Numbers may have spaces and tabs around them; fields may be quoted, but a quoted field
    cannot hold a line break, since a record is one line. An empty list of labels' names is a set
    without labels; where labels come apart, only in a record without features.

    >>> codec = CsvCodec(("x", "y", "note"), ("x",), RecordFormat())
    >>> codec.parse(b'1.5,2,"a, b"')
    Row(features=[1.5], label=2.0, node=None, id=None, kind=0)
    """

    comment = -1

    def __init__(self, columns: Sequence[str], features: Sequence[str], form: RecordFormat) -> None:
        self._columns = tuple(columns)
        self._form = form
        self._at = [self._columns.index(name) for name in (*features, *form.text)]
        self._names = tuple(features)
        self._labels = [self._columns.index(name) for name in form.label_columns]
        self._node = None if form.node_column is None else self._columns.index(form.node_column)
        self._id = None if form.id_column is None else self._columns.index(form.id_column)
        self._uses = uses(features, form)
        self._read_names = LabelNames(form)
        absent: list[frozenset[int]] = [frozenset()]
        if form.id_from is not None:
            absent += [LABELS, frozenset((FEATURE, WORDS))]
        self._templates = [self._template(kinds) for kinds in absent]

    @property
    def templates(self) -> Sequence[Template]:
        """The templates of plain lines without quotes: whole, without label, without features."""
        return self._templates

    def _template(self, absent: frozenset[int]) -> Template:
        """Build the template of lines where the columns of some kinds are empty."""
        texts, kinds, slots = [b""], [], []
        for column, name in enumerate(self._columns):
            kind, slot = self._uses.get(name, (TEXT, 0))
            if column > 0:
                texts[-1] += self._form.separator.encode()
            if kind not in absent:
                kinds.append(kind)
                slots.append(slot)
                texts.append(b"")
        return Template.of(texts, kinds, slots, CSV, self._form.separator)

    def parse(self, line: bytes) -> Row:
        """Read one line, without its line end; see `Codec.parse`."""
        fields = read_fields(line, self._columns, self._form.separator)
        kind = self._kind(fields)
        features = self._features(fields, kind)
        truth = self._truth(fields) if kind != stream.SAMPLE else float("nan")
        name, id = self._text(fields, self._node), self._text(fields, self._id)
        if id is not None:
            id = identity(id, f"field {shown(self._form.id_column)}")
        return Row(features, truth, None if name is None else node(name, self._form), id, kind)

    def _features(self, fields: list[str], kind: int) -> Sequence[float] | str:
        if self._form.text:
            return " ".join(fields[at] for at in self._at)
        if kind == stream.LABEL:
            return [0.0] * len(self._at)
        pairs = zip(self._at, self._names, strict=True)
        return [number(fields[at], name) for at, name in pairs]

    def _kind(self, fields: list[str]) -> int:
        if self._form.id_from is None:
            return stream.WHOLE
        labels, features = (
            any(fields[at].strip(" \t") for at in some) for some in (self._labels, self._at)
        )
        if not labels and (features or not self._form.label_list):
            return stream.SAMPLE
        return stream.WHOLE if features else stream.LABEL

    def _text(self, fields: list[str], column: int | None) -> str | None:
        return None if column is None else fields[column].strip(" \t")

    def _truth(self, fields: list[str]) -> float | Sequence[float] | tuple[str, ...]:
        texts = [fields[at] for at in self._labels]
        if self._form.label_list:
            return self._read_names.read(split_names(texts[0], self._form))
        names = self._form.label_columns
        found = [self._parse_label(*pair) for pair in zip(texts, names, strict=True)]
        return found if self._form.flags else found[0]

    def _parse_label(self, text: str, name: str) -> float:
        try:
            value = number(text, name)
            return flag(value, name) if self._form.flags else label(value, self._form, text)
        except BadRecord as bad:
            if bad.reason == "missing_field":
                raise
            raise BadRecord("bad_label", bad.detail) from None


def read_fields(line: bytes, columns: Sequence[str], separator: str) -> list[str]:
    r"""Read the fields of a line, one of each column.

    Raises
    ------
    BadRecord
        bad_encoding, malformed, missing_field or extra_field.

    >>> read_fields(b'a;"b;c"', ("x", "y"), ";")
    ['a', 'b;c']
    """
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRecord("bad_encoding", f"the record is not UTF-8: {error}") from None
    fields = _fields(text, separator)
    wanted = len(columns)
    if len(fields) < wanted:
        raise BadRecord(
            "missing_field",
            f"{len(fields)} fields where {wanted} are wanted: field"
            f" {shown(columns[len(fields)])} is missing",
        )
    if len(fields) > wanted:
        raise BadRecord(
            "extra_field",
            f"{len(fields)} fields where {wanted} are wanted: the first too many is"
            f" {shown(fields[wanted])}",
        )
    return fields


def _fields(text: str, separator: str) -> list[str]:
    if "\r" in text or "\0" in text:
        raise BadRecord("malformed", f"a control character in the record {shown(text)}")
    try:
        return split_fields(text, separator)
    except (csv.Error, StopIteration) as error:
        raise BadRecord("malformed", f"not a CSV record ({error}): {shown(text)}") from None


def split_fields(text: str, separator: str, *, spaces: bool = False) -> list[str]:
    r"""Split a line at tabs, or at other separators outside quotes.

    With `spaces` these may be before quotes, and bad quotes are let pass.

    Raises
    ------
    csv.Error
        The quotes are not CSV's.

    >>> split_fields('a;"b;c"', ";"), split_fields('a\t"b', "\t")
    (['a', 'b;c'], ['a', '"b'])
    """
    if separator == "\t" or '"' not in text:
        return text.split(separator)
    return next(csv.reader([text], delimiter=separator, skipinitialspace=spaces, strict=not spaces))
