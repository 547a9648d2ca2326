"""Records of named fields, decoded: an object by name, or an array of values by their order."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from anabranch.protocol import Array
from anabranch.stream import LABEL, SAMPLE, WHOLE
from connectors.label_names import LabelNames
from connectors.records import RecordFormat, Row
from connectors.values import (
    BadRecord,
    finite,
    flag,
    identity,
    label,
    node,
    number,
    shown,
    whole_text,
)

__all__ = [
    "ObjectReader", "join_texts", "name_features", "pick_numbers", "sparse_names", "width_names",
]  # fmt: skip

_EXACT = float(1 << 53)
_FLOATS = {float}
Features = Sequence[float] | Array | str | tuple[Array, Array]
"""See `Row`."""


def sparse_names(width: int) -> tuple[str, ...]:
    """Name the columns of sparse features by their indices.

    >>> sparse_names(3)
    ('x0', 'x1', 'x2')
    """
    return tuple(f"x{i}" for i in range(width))


def width_names(form: RecordFormat) -> tuple[str, ...]:
    """Name the columns of a format that has a width: none, but of sparse features as arrays."""
    sparse = form.sparse_width is not None and not form.sparse
    return sparse_names(form.sparse_width or 0) if sparse else ()


def name_features(record: Any, form: RecordFormat) -> tuple[str, ...] | None:
    """Name the features after a decoded record: an object's keys, or x1.. for an array.

    None when this record cannot tell.

    >>> name_features({"a": 1, "y": 2.0, "b": 3}, RecordFormat())
    ('a', 'b')
    """
    if form.width is not None:
        return width_names(form)
    if isinstance(record, dict):
        names = tuple(key for key in record if isinstance(key, str) and key not in form.special)
    elif isinstance(record, list):
        names = tuple(f"x{i + 1}" for i in range(len(record) - len(form.special)))
    else:
        return None
    try:
        row = ObjectReader(names, form).read(record)
    except BadRecord:
        return None
    return names if names and row.kind != LABEL else None


class ObjectReader:
    """Makes rows of decoded records, whatever they were decoded from.

    Arrays hold the features (or the two sparse fields), the label or labels, and where the record
    names them the node and the id, in this order. Where labels come apart, a record without a label
    is a sample and one without features a label; null counts as absent.

    >>> ObjectReader(("a", "b"), RecordFormat()).read({"b": 2.0, "y": 1.0, "a": 0.5})
    Row(features=[0.5, 2.0], label=1.0, node=None, id=None, kind=0)
    """

    def __init__(self, features: Sequence[str], form: RecordFormat) -> None:
        self._form = form
        self._width = form.sparse_width or len(features)
        self.inputs = tuple(features) if form.width is None else form.inputs
        self.order = (*self.inputs, *form.special)
        self._open = form.features is not None or form.width is not None
        self._known = frozenset(self.order)
        self._names = LabelNames(form)

    def read(self, record: Any) -> Row:
        """Make a row; numbers may be `int` or `float`.

        Raises
        ------
        BadRecord
            With the reason.
        """
        if isinstance(record, list):
            record = self._name_values(record)
        elif not isinstance(record, dict):
            raise BadRecord("malformed", f"{shown(record)} is neither an object nor an array")
        kind = self._kind(record)
        self._check_keys(record, kind)
        features = self._features(record) if kind != LABEL else self._nothing()
        truth = self._truth(record) if kind != SAMPLE else float("nan")
        return Row(features, truth, self._node(record), self._id(record), kind)

    def _name_values(self, values: list[Any]) -> dict[str, Any]:
        if len(values) != len(self.order):
            raise BadRecord(
                "wrong_length", f"{len(values)} values where {len(self.order)} are wanted"
            )
        return dict(zip(self.order, values, strict=True))

    def _kind(self, record: dict[str, Any]) -> int:
        if self._form.id_from is None:
            return WHOLE
        if all(record.get(name) is None for name in self._form.label_columns):
            return SAMPLE
        return WHOLE if any(record.get(name) is not None for name in self.inputs) else LABEL

    def _check_keys(self, record: dict[str, Any], kind: int) -> None:
        wanted = self.order
        if kind == LABEL:
            wanted = self._form.special
        elif kind == SAMPLE:
            wanted = (*self.inputs, *self._form.place_columns)
        missing = [name for name in wanted if record.get(name) is None]
        if missing:
            state = "null" if missing[0] in record else "missing"
            raise BadRecord("missing_field", f"field {shown(missing[0])} is {state}")
        if not self._open and (kind != WHOLE or len(record) > len(self.order)):
            extra = [key for key in record if key not in self._known]
            if extra:
                raise BadRecord(
                    "extra_field", f"field {shown(extra[0])} is not a field of these records"
                )

    def _features(self, record: dict[str, Any]) -> Features:
        values = [record[name] for name in self.inputs]
        if self._form.text:
            return join_texts(values, self.inputs)
        if self._form.sparse_width is not None:
            return self._sorted(*self._pairs(*values))
        return pick_numbers(values, self.inputs)

    def _nothing(self) -> Features:
        """Give the features of a label alone."""
        if self._form.text:
            return ""
        sparse = self._form.sparse_width is not None
        return self._sorted([], []) if sparse else [0.0] * self._width

    def _sorted(self, places: list[int], values: list[float]) -> tuple[Array, Array]:
        order = sorted(range(len(places)), key=places.__getitem__)
        indices = np.array([places[i] for i in order], np.uint32)
        return indices, np.array([values[i] for i in order], np.float64)

    def _pairs(self, indices: Any, values: Any) -> tuple[list[int], list[float]]:
        for name, part in zip(self.inputs, (indices, values), strict=True):
            if not isinstance(part, list):
                raise BadRecord("malformed", f"field {shown(name)} is {shown(part)}, not an array")
        if len(indices) != len(values):
            raise BadRecord("wrong_length", f"{len(indices)} indices and {len(values)} values")
        name = self.inputs[0]
        places = [_index(value, self._width, name) for value in indices]
        if len(set(places)) < len(places):
            twice = next(place for place in places if places.count(place) > 1)
            raise BadRecord("bad_index", f"field {shown(name)} holds {twice} twice")
        return places, pick_numbers(values, [self.inputs[1]] * len(values))

    def _truth(self, record: dict[str, Any]) -> float | Sequence[float] | tuple[str, ...]:
        if self._form.flags:
            return [flag(record[name], name) for name in self._form.labels]
        value = record[self._form.label]
        return self._names.read(value) if self._form.label_list else self._label(value)

    def _label(self, value: Any) -> float:
        name = self._form.label
        if type(value) not in (float, int) or value - value != 0:
            raise BadRecord(
                "bad_label", f"label {shown(name)} is {shown(value)}, not a finite number"
            )
        return label(float(value), self._form, value)

    def _node(self, record: dict[str, Any]) -> str | None:
        column = self._form.node_column
        if column is None:
            return None
        if not isinstance(record[column], str):
            raise BadRecord(
                "unknown_node", f"field {shown(column)} is {shown(record[column])}, not a text"
            )
        return node(whole_text(record[column]), self._form)

    def _id(self, record: dict[str, Any]) -> str | None:
        column = self._form.id_column
        if column is None:
            return None
        value = record[column]
        if isinstance(value, str):
            return identity(whole_text(value), f"field {shown(column)}")
        whole = type(value) is int or (isinstance(value, float) and value.is_integer())
        if not whole or not -_EXACT < value < _EXACT:
            raise BadRecord(
                "bad_id",
                f"field {shown(column)} is {shown(value)}, neither a text nor a whole number"
                " below 2**53",
            )
        return str(int(value))


def pick_numbers(values: list[Any], names: Sequence[str]) -> list[float]:
    """Pass finite numbers on as floats.

    Raises
    ------
    BadRecord
        not_numeric, not_finite or infinite.
    """
    total = sum(values) if set(map(type, values)) == _FLOATS else float("nan")
    if total - total == 0.0:  # neither NaN nor infinity is among them
        return values
    return [_number(value, name) for value, name in zip(values, names, strict=True)]


def _number(value: Any, name: str) -> float:
    if isinstance(value, float):
        return finite(value, name, value)
    if type(value) is int:
        return float(value)
    if isinstance(value, str):
        _refuse_text(value, name)
    raise BadRecord("not_numeric", f"field {shown(name)} is {shown(value)}, not a number")


def join_texts(values: Sequence[Any], names: Sequence[str]) -> str:
    """Join texts by blanks.

    Raises
    ------
    BadRecord
        not_text.

    >>> join_texts(["a", "b c"], ["title", "body"])
    'a b c'
    """
    return " ".join(map(_text, values, names))


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise BadRecord("not_text", f"field {shown(name)} is {shown(value)}, not a text")
    return value


def _index(value: Any, width: int, name: str) -> int:
    whole = type(value) is int or (isinstance(value, float) and value.is_integer())
    if not whole or not 0 <= value < width:
        raise BadRecord(
            "bad_index",
            f"field {shown(name)} holds {shown(value)}: allowed are whole numbers 0..{width - 1}",
        )
    return int(value)


def _refuse_text(value: str, name: str) -> None:
    """Give "NaN" and "inf" in quotes their own reasons; any other text is not numeric."""
    try:
        number(value, name)
    except BadRecord as bad:
        if bad.reason in ("not_finite", "infinite"):
            raise
