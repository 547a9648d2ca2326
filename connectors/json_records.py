"""JSON Lines: one object of named fields, or one array of values, a line."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from connectors.records import (
    BadRecord,
    RecordFormat,
    Row,
    finite,
    label,
    node,
    number,
    shown,
)
from connectors.scan import FEATURE, LABEL, NODE, NUMBER, TEXT, Template

__all__ = ["JsonCodec", "infer_features"]

_VALUE = re.compile(
    rb'[ \t]*(?:"([^"\\]*)"[ \t]*:[ \t]*)?(?:("[^"\\\x00-\x1f\x7f-\xff]*")|([-+0-9.eE]+))[ \t]*'
)


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise BadRecord("malformed", f"key {shown(key)} is there twice")
        found[key] = value
    return found


def _decode(line: bytes) -> Any:
    """Decode one line; every number becomes a float, as `read_number` makes it."""
    try:
        return json.loads(line.decode("utf-8"), parse_int=float, object_pairs_hook=_unique)
    except UnicodeDecodeError as error:
        raise BadRecord("bad_encoding", f"the record is not UTF-8: {error}") from None
    except RecursionError:
        raise BadRecord("malformed", "nested too deeply to be a record") from None
    except ValueError as error:
        raise BadRecord("malformed", f"not JSON: {error}") from None


def infer_features(line: bytes, form: RecordFormat) -> tuple[str, ...] | None:
    """Name the features after the first record: an object's keys, or x1.. for an array.

    None when this record cannot tell.

    >>> infer_features(b'{"a": 1, "y": 2, "b": 3}', RecordFormat())
    ('a', 'b')
    >>> infer_features(b'[1, 3, 2]', RecordFormat())
    ('x1', 'x2')
    """
    try:
        record = _decode(line)
        if isinstance(record, dict):
            names = tuple(key for key in record if key not in form.special)
        elif isinstance(record, list):
            names = tuple(f"x{i + 1}" for i in range(len(record) - len(form.special)))
        else:
            return None
        JsonCodec(names, form).parse(line)
    except BadRecord:
        return None
    return names or None


class JsonCodec:
    """Reads JSON records: objects by name, arrays as features, label and node, in this order.

    >>> codec = JsonCodec(("a", "b"), RecordFormat())
    >>> codec.parse(b'{"b": 2, "y": 1, "a": 0.5}') == codec.parse(b'[0.5, 2, 1]')
    True
    """

    def __init__(self, features: Sequence[str], form: RecordFormat) -> None:
        self._names = tuple(features)
        self._form = form
        self._order = (*self._names, *form.special)
        self._slots = {name: slot for slot, name in enumerate(self._order)}
        self._template: Template | None = None
        self._example: bytes | None = None

    @property
    def template(self) -> Template | None:
        """The template of the last record that was read carefully and was good."""
        if self._example is not None:
            self._template = self._learn_template(self._example) or self._template
            self._example = None
        return self._template

    def parse(self, line: bytes) -> Row:
        """Read one line, without its line end; see `Codec.parse`."""
        record = _decode(line)
        if isinstance(record, list):
            record = self._name_values(record)
        elif not isinstance(record, dict):
            raise BadRecord("malformed", f"{shown(record)} is neither an object nor an array")
        self._check_keys(record)
        features = [self._feature(record[name], name) for name in self._names]
        row = Row(features, self._label(record[self._form.label]), self._node(record))
        self._example = line
        return row

    def _name_values(self, values: list[Any]) -> dict[str, Any]:
        if len(values) != len(self._order):
            raise BadRecord(
                "wrong_length", f"{len(values)} values where {len(self._order)} are wanted"
            )
        return dict(zip(self._order, values, strict=True))

    def _check_keys(self, record: dict[str, Any]) -> None:
        for name in self._order:
            if record.get(name) is None:
                state = "null" if name in record else "missing"
                raise BadRecord("missing_field", f"field {shown(name)} is {state}")
        if self._form.features is None and len(record) > len(self._order):
            extra = next(key for key in record if key not in self._slots)
            raise BadRecord("extra_field", f"field {shown(extra)} is not a field of these records")

    def _feature(self, value: Any, name: str) -> float:
        if isinstance(value, float):
            return finite(value, name, value)
        if isinstance(value, str):
            _refuse_text(value, name)
        raise BadRecord("not_numeric", f"field {shown(name)} is {shown(value)}, not a number")

    def _label(self, value: Any) -> float:
        name = self._form.label
        if not isinstance(value, float) or value - value != 0.0:
            raise BadRecord(
                "bad_label", f"label {shown(name)} is {shown(value)}, not a finite number"
            )
        return label(value, self._form, value)

    def _node(self, record: dict[str, Any]) -> str | None:
        if self._form.node_field is None:
            return None
        value = record[self._form.node_field]
        if not isinstance(value, str):
            raise BadRecord(
                "unknown_node",
                f"field {shown(self._form.node_field)} is {shown(value)}, not a text",
            )
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            raise BadRecord("bad_encoding", f"{shown(value)} is half a surrogate pair")
        return node(value, self._form)

    def _learn_template(self, line: bytes) -> Template | None:
        """Cut a good record into its fixed texts; None when it is not flat and plain."""
        at = len(line) - len(line.lstrip(b" \t")) + 1
        texts: list[bytes] = []
        kinds: list[int] = []
        slots: list[int] = []
        begin = 0
        while match := _VALUE.match(line, at):
            kind, slot = self._kind(match[1], len(kinds), match[2] is not None)
            quoted = 1 if match[2] is not None else 0
            first, stop = match.span(2 if quoted else 3)
            texts.append(line[begin : first + quoted])
            kinds.append(kind)
            slots.append(slot)
            begin, at = stop - quoted, match.end() + 1
            if line[at - 1 : at] != b",":
                break
        if line[at - 1 :].rstrip(b" \t") not in (b"}", b"]"):
            return None
        return Template.of([*texts, line[begin:]], kinds, slots, json=True)

    def _kind(self, key: bytes | None, index: int, text: bool) -> tuple[int, int]:
        name = self._order[index] if key is None else key.decode("utf-8")
        slot = self._slots.get(name)
        if slot is None:
            return (TEXT if text else NUMBER), 0
        if slot < len(self._names):
            return FEATURE, slot
        return (LABEL, 0) if name == self._form.label else (NODE, 0)


def _refuse_text(value: str, name: str) -> None:
    """Give "NaN" and "inf" in quotes their own reasons; any other text is not numeric."""
    try:
        number(value, name)
    except BadRecord as bad:
        if bad.reason in ("not_finite", "infinite"):
            raise
