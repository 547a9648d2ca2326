"""ARFF: one record a line, dense as in CSV, or sparse as `{index value, ...}`."""

import re
from collections.abc import Sequence

from anabranch.errors import ConfigurationError
from connectors.arff_header import Attribute, unquote
from connectors.csv_records import choose_features
from connectors.records import RecordFormat, Row
from connectors.shapes import uses
from connectors.template import ARFF, BIT, CSV, FEATURE, NODE, NUMBER, TEXT, Template
from connectors.values import BadRecord, flag, label, node, number, shown

__all__ = ["ArffCodec", "choose_attributes", "split_record"]

_PLAIN_OR_QUOTED = r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^,'\"%{}]*)"
_VALUE = re.compile(rf"[ \t]*{_PLAIN_OR_QUOTED}[ \t]*")
_PAIR = re.compile(rf"[ \t]*([^ \t,'\"%{{}}]*)[ \t]*{_PLAIN_OR_QUOTED}[ \t]*")
_INDEX = re.compile(r"[0-9]{1,15}")
_MISSING = "?"


def choose_attributes(
    attributes: Sequence[Attribute], form: RecordFormat, path: str
) -> tuple[str, ...]:
    """Give the features' names: those asked for, or every attribute that is not special.

    Raises
    ------
    ConfigurationError
        The header lacks what the format names, or a feature or label has no numbers.

    >>> form = RecordFormat(task="multilabel", labels=("calm",))
    >>> choose_attributes([Attribute("x", "number"), Attribute("calm", "flag")], form, "a.arff")
    ('x',)
    """
    if form.label_list:
        raise ConfigurationError(
            f"source.label_list is set, but {path} is ARFF, whose labels have an attribute each:"
            " name them as source.labels"
        )
    columns = [attribute.name for attribute in attributes]
    chosen = choose_features(columns, form, f"the header of {path}")
    wanted = {*chosen, *form.label_columns}
    for name, kind, _ in attributes:
        if name in wanted and kind not in ("number", "flag"):
            raise ConfigurationError(
                f"the attribute {name!r} of {path} is of type {shown(kind)}: allowed are numeric,"
                " real, integer and {0,1}, or source.features without it"
            )
    return chosen


def split_record(text: str, attributes: Sequence[Attribute]) -> list[str]:
    """Give the values of a line in the order of the attributes, without quotes.

    Raises
    ------
    BadRecord
        malformed, missing_field, extra_field or bad_index.

    >>> three = [Attribute(name, "number") for name in "abc"]
    >>> split_record("{2 0.5}", three), split_record("1, 2 ,'3'", three)
    (['0', '0', '0.5'], ['1', '2', '3'])
    """
    if any(letter in text for letter in "\r\0"):
        raise BadRecord("malformed", f"a control character in the record {shown(text)}")
    text = text.strip(" \t")
    if text.startswith("{"):
        return _sparse(text, attributes)
    values, stop = _values(text, 0)
    if stop < len(text) and text[stop] != "%":
        raise BadRecord("malformed", f"not an ARFF record: {shown(text)}")
    wanted = len(attributes)
    if len(values) < wanted:
        raise BadRecord(
            "missing_field",
            f"{len(values)} values where {wanted} are wanted: attribute"
            f" {shown(attributes[len(values)].name)} is missing",
        )
    if len(values) > wanted:
        raise BadRecord("extra_field", f"{len(values)} values where {wanted} are wanted")
    return [unquote(value) for value in values]


def _values(text: str, at: int) -> tuple[list[str], int]:
    """Split at commas outside quotes, up to what is no value; give the position there."""
    values = []
    while match := _VALUE.match(text, at):
        values.append(match[1].rstrip(" \t"))
        at = match.end()
        if text[at : at + 1] != ",":
            break
        at += 1
    return values, at


def _sparse(text: str, attributes: Sequence[Attribute]) -> list[str]:
    values = [attribute.first for attribute in attributes]
    pairs, stop = _pairs(text)
    rest = text[stop + 1 :].lstrip(" \t")
    if text[stop : stop + 1] != "}" or (rest and not rest.startswith("%")):
        raise BadRecord("malformed", f"not a sparse ARFF record: {shown(text)}")
    seen: set[int] = set()
    for place, value in pairs:
        if not _INDEX.fullmatch(place) or not value:
            raise BadRecord("bad_index", f"{shown(f'{place} {value}')} is no index and a value")
        index = int(place)
        if index >= len(values) or index in seen:
            why = "is there twice" if index in seen else f"is not among 0..{len(values) - 1}"
            raise BadRecord("bad_index", f"the index {index} {why}")
        seen.add(index)
        values[index] = unquote(value)
    return values


def _pairs(text: str) -> tuple[list[tuple[str, str]], int]:
    """Split the indices and values of a sparse record; give the position after them."""
    pairs, at = [], 1
    while match := _PAIR.match(text, at):
        pairs.append((match[1], match[2].rstrip(" \t")))
        at = match.end()
        if text[at : at + 1] != ",":
            break
        at += 1
    return ([] if pairs == [("", "")] else pairs), at


class ArffCodec:
    """Reads the records of one ARFF file.

    Lines that begin with % are comments; `?` is a missing value, which no record may have.

    >>> attributes = [Attribute("x", "number"), Attribute("calm", "flag")]
    >>> codec = ArffCodec(attributes, ("x",), RecordFormat(task="multilabel", labels=("calm",)))
    >>> codec.parse(b"1.5,1").label, codec.parse(b"{0 1.5}").label
    ([1.0], [0.0])
    """

    comment = ord("%")

    def __init__(
        self, attributes: Sequence[Attribute], features: Sequence[str], form: RecordFormat
    ) -> None:
        self._attributes, self._form = tuple(attributes), form
        at = {attribute.name: column for column, attribute in enumerate(attributes)}
        self._features = [(at[name], name) for name in features]
        self._labels = [(at[name], name) for name in form.label_columns]
        self._node = None if form.node_column is None else at[form.node_column]
        self._templates = self._template(uses(features, form))

    @property
    def templates(self) -> Sequence[Template]:
        """The template of plain lines, dense or sparse."""
        return self._templates

    def _template(self, known: dict[str, tuple[int, int]]) -> list[Template]:
        """Build the template; none where texts, which may be in quotes, are among the values."""
        kinds, slots = [], []
        for name, type, _ in self._attributes:
            kind, slot = known.get(name, (NUMBER if type in ("number", "flag") else TEXT, 0))
            kinds.append(BIT if kind == FEATURE and type == "flag" else kind)
            slots.append(slot)
        if NODE in kinds or TEXT in kinds:
            return []
        zeros = all(attribute.first == "0" for attribute in self._attributes)
        texts = [b"", *[b","] * (len(kinds) - 1), b""]
        return [Template.of(texts, kinds, slots, ARFF if zeros else CSV)]

    def parse(self, line: bytes) -> Row:
        """Read one line, without its line end; see `Codec.parse`."""
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadRecord("bad_encoding", f"the record is not UTF-8: {error}") from None
        values = split_record(text, self._attributes)
        features = [self._number(values[at], at, name) for at, name in self._features]
        labels = [self._label(values[at], name) for at, name in self._labels]
        place = None if self._node is None else node(values[self._node], self._form)
        return Row(features, labels if self._form.flags else labels[0], place)

    def _number(self, text: str, at: int, name: str) -> float:
        if text == "0":  # most values of a sparse record
            return 0.0
        value = _number(text, name)
        if self._attributes[at].kind != "flag":
            return value
        if value not in (0.0, 1.0):
            raise BadRecord(
                "not_numeric", f"attribute {shown(name)} is {shown(text)}, neither 0 nor 1"
            )
        return float(value == 1.0)

    def _label(self, text: str, name: str) -> float:
        try:
            value = _number(text, name)
            return flag(value, name) if self._form.flags else label(value, self._form, text)
        except BadRecord as bad:
            if bad.reason == "missing_field":
                raise
            raise BadRecord("bad_label", bad.detail) from None


def _number(text: str, name: str) -> float:
    if text == _MISSING:
        raise BadRecord("missing_field", f"attribute {shown(name)} is ?, which is missing")
    return number(text, name)
