"""MessagePack: one map of named fields, or one array of values, a message."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from connectors.objects import ObjectReader, name_features
from connectors.packed import packed_end, packed_scalar
from connectors.records import RecordFormat, Row
from connectors.shapes import Shapes, uses
from connectors.template import (
    ID,
    ID_NUMBER,
    INDICES,
    NAMES,
    PACKED,
    TEXT,
    VALUES,
    Template,
)
from connectors.values import BadRecord

__all__ = ["MsgpackCodec", "infer_packed_features"]

_MAPS = frozenset((*range(0x80, 0x90), 0xDE, 0xDF))
_SIZES = {0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}
"""Bytes of the length after the first byte of large arrays and maps."""
_NIL = 0xC0


class _Extension(NamedTuple):
    """A value of a type that MessagePack leaves to its users."""

    code: int
    data: bytes


_decoder = msgspec.msgpack.Decoder(ext_hook=lambda code, data: _Extension(code, bytes(data)))


def infer_packed_features(value: bytes, form: RecordFormat) -> tuple[str, ...] | None:
    """Name the features after the first record, as `infer_features` does for JSON.

    >>> infer_packed_features(msgspec.msgpack.encode({"a": 1, "y": 2}), RecordFormat())
    ('a',)
    """
    try:
        return name_features(_decode(value), form)
    except BadRecord:
        return None


def _decode(value: bytes) -> Any:
    end = packed_end(np.frombuffer(value, np.uint8), 0, len(value))
    if end != len(value):
        where = "is cut short" if end < 0 else f"goes on after its end at byte {end}"
        raise BadRecord("malformed", f"not MessagePack: the message {where}")
    try:
        record = _decoder.decode(value)
    except RecursionError:
        raise BadRecord("malformed", "nested too deeply to be a record") from None
    except msgspec.DecodeError as error:
        raise BadRecord("malformed", f"not MessagePack: {error}") from None
    if isinstance(record, dict) and len(record) != _pairs(value):
        raise BadRecord("malformed", "a key is there twice")
    return record


def _pairs(value: bytes) -> int:
    """Count the pairs that a map's header tells."""
    size = _SIZES.get(value[0], 0)
    return int.from_bytes(value[1 : 1 + size], "big") if size else value[0] & 15


class MsgpackCodec:
    """Reads MessagePack records: maps by name, arrays as features, labels, node and id.

    >>> codec = MsgpackCodec(("a", "b"), RecordFormat())
    >>> codec.parse(msgspec.msgpack.encode([0.5, 2, 1]))
    Row(features=[0.5, 2.0], label=1.0, node=None, id=None, kind=0)
    """

    comment = -1

    def __init__(self, features: Sequence[str], form: RecordFormat) -> None:
        self._reader = ObjectReader(features, form)
        self._uses = uses(features, form)
        self._shapes = Shapes()
        self._example: bytes | None = None

    @property
    def templates(self) -> Sequence[Template]:
        """The templates of records that were read carefully and were good, the last one first."""
        if self._example is not None:
            self._shapes.add(self._learn_template(self._example))
            self._example = None
        return self._shapes.templates

    def parse(self, line: bytes) -> Row:
        """Read one message; see `Codec.parse`."""
        row = self._reader.read(_decode(line))
        self._example = line
        return row

    def _learn_template(self, value: bytes) -> Template | None:
        """Cut a good record into its fixed texts; None when it is not flat."""
        data, named = np.frombuffer(value, np.uint8), value[0] in _MAPS
        at = 1 + _SIZES.get(value[0], 0)
        texts: list[bytes] = []
        roles: list[tuple[int, int]] = []
        begin = index = 0
        while at < len(value):
            name: str = self._reader.order[index] if not named else ""
            if named:
                first, at = at, packed_end(data, at, len(value))
                name = _decoder.decode(value[first:at])
            role = self._role(name, value[at])
            if role[0] not in (INDICES, VALUES, NAMES) and packed_scalar(data, at, len(value)) < 0:
                return None
            first, at, index = at, packed_end(data, at, len(value)), index + 1
            if value[first] != _NIL:
                texts.append(value[begin:first])
                roles.append(role)
                begin = at
        kinds, slots = [kind for kind, _ in roles], [slot for _, slot in roles]
        return Template.of([*texts, value[begin:]], kinds, slots, PACKED)

    def _role(self, name: str, code: int) -> tuple[int, int]:
        kind, slot = self._uses.get(name, (TEXT, 0))
        return (ID_NUMBER if kind == ID and not 0xA0 <= code < 0xDC else kind), slot
