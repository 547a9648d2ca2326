"""JSON: one object of named fields, or one array of values, a line or a message."""

import json
import re
from collections.abc import Sequence
from typing import Any

from connectors.objects import ObjectReader, name_features
from connectors.records import RecordFormat, Row
from connectors.shapes import Shapes, uses
from connectors.template import (
    FLAG,
    ID,
    ID_NUMBER,
    INDICES,
    JSON,
    NAMES,
    NUMBER,
    TEXT,
    VALUES,
    Template,
)
from connectors.values import BadRecord, shown

__all__ = ["JsonCodec", "decode", "infer_features"]

_VALUE = re.compile(
    rb'[ \t\r\n]*(?:"([^"\\]*)"[ \t\r\n]*:[ \t\r\n]*)?'
    rb'(?:("(?:[^"\\]|\\.)*")|([-+0-9.eE]+)|(true|false|null)|'
    rb'(\[(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+\]))[ \t\r\n]*'
)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise BadRecord("malformed", f"key {shown(twice)} is there twice")
    return found


def decode(line: bytes) -> Any:
    """Decode one line; every number becomes a float, as `read_number` makes it.

    Raises
    ------
    BadRecord
        bad_encoding or malformed.
    """
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
        return name_features(decode(line), form)
    except BadRecord:
        return None


class JsonCodec:
    """Reads JSON records: objects by name, arrays as features, labels and node, in this order.

    >>> codec = JsonCodec(("a", "b"), RecordFormat())
    >>> codec.parse(b'{"b": 2, "y": 1, "a": 0.5}') == codec.parse(b'[0.5, 2, 1]')
    True
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
        """Read one line, without its line end; see `Codec.parse`."""
        row = self._reader.read(decode(line))
        self._example = line
        return row

    def _learn_template(self, line: bytes) -> Template | None:
        """Cut a good record into its fixed texts; None when it is not flat and plain."""
        at = len(line) - len(line.lstrip(b" \t\r\n")) + 1
        named = line[at - 1 : at] == b"{"
        texts: list[bytes] = []
        roles: list[tuple[int, int]] = []
        begin = index = 0
        while (match := _VALUE.match(line, at)) and named == (match[1] is not None):
            role = self._role(match, index)
            if match[4] is None or (role[0] == FLAG and match[4] != b"null"):  # else fixed text
                if match[5] and role[0] not in (INDICES, VALUES, NAMES):
                    return None
                quoted = 1 if match[2] else 0
                first, stop = match.span(match.lastindex or 0)
                texts.append(line[begin : first + quoted])
                roles.append(role)
                begin = stop - quoted
            index, at = index + 1, match.end() + 1
            if line[at - 1 : at] != b",":
                break
        if line[at - 1 :].rstrip(b" \t\r\n") not in (b"}", b"]"):
            return None
        kinds, slots = [kind for kind, _ in roles], [slot for _, slot in roles]
        return Template.of([*texts, line[begin:]], kinds, slots, JSON)

    def _role(self, match: re.Match[bytes], index: int) -> tuple[int, int]:
        key, text = match[1], match[2] is not None
        name = self._reader.order[index] if key is None else key.decode("utf-8")
        kind, slot = self._uses.get(name, (TEXT if text else NUMBER, 0))
        return (ID_NUMBER if kind == ID and not text else kind), slot
