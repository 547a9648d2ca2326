"""The values of a record: what may be a feature, a label, a node's name or an id."""

import re
from reprlib import Repr

from connectors.records import RecordFormat

__all__ = [
    "LONGEST_ID", "BadRecord", "finite", "flag", "identity", "label", "node", "number", "shown",
    "too_long", "whole_text",
]  # fmt: skip

_NUMBER = re.compile(r"[ \t]*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t]*")
_SPECIAL = re.compile(r"[ \t]*[+-]?(?:(nan)|inf|infinity)[ \t]*", re.IGNORECASE)
_SHOWN = 60
LONGEST_ID = 1000
"""Letters of an id at most: ids are kept while they wait."""
_short = Repr()


class BadRecord(Exception):  # noqa: N818 - control flow between a codec and its caller
    """One record cannot be used; carries the reason and a sentence."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


def too_long(most: int) -> BadRecord:
    """Say that a record has more bytes than it may have.

    >>> too_long(1048576).detail
    'longer than 1,048,576 bytes, the most a record may have'
    """
    return BadRecord("too_long", f"longer than {most:,} bytes, the most a record may have")


def shown(value: object) -> str:
    """Show a value in a sentence, cut to a readable length and depth.

    >>> shown("x" * 1000) == "'" + "x" * 56 + "..."
    True
    >>> shown([[[[[[[[[]]]]]]]]])
    '[[[[[[[...]]]]]]]'
    """
    if isinstance(value, str | bytes):
        value = value[:_SHOWN]
        text = repr(value)
    else:
        text = _short.repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def number(text: str, name: str) -> float:
    """Read a feature's text, to the same grammar as `read_number`.

    Raises
    ------
    BadRecord
        not_numeric, not_finite, infinite or missing_field.

    >>> number(" 2.5e1 ", "x1")
    25.0
    >>> number("1_000", "x1")
    Traceback (most recent call last):
    connectors.values.BadRecord: ('not_numeric', "field 'x1' is '1_000', not a number")
    """
    if _NUMBER.fullmatch(text):
        return finite(float(text), name, text)
    if not text.strip(" \t"):
        raise BadRecord("missing_field", f"field {shown(name)} is empty")
    special = _SPECIAL.fullmatch(text)
    if special is None:
        raise BadRecord("not_numeric", f"field {shown(name)} is {shown(text)}, not a number")
    return finite(float("nan" if special[1] else "inf"), name, text)


def finite(value: float, name: str, seen: object) -> float:
    """Pass a finite number on; refuse NaN and infinity."""
    if value != value:
        raise BadRecord("not_finite", f"field {shown(name)} is {shown(seen)}, not a finite number")
    if value in (float("inf"), float("-inf")):
        raise BadRecord("infinite", f"field {shown(name)} is {shown(seen)}, which is infinite")
    return value


def label(value: float, form: RecordFormat, seen: object) -> float:
    """Pass a label on that the format allows.

    Raises
    ------
    BadRecord
        bad_label.
    """
    if form.ranks is None:
        return value
    if not (1 <= value <= form.ranks and value == int(value)):
        raise BadRecord(
            "bad_label",
            f"label {shown(form.label)} is {shown(seen)}, not a whole number 1..{form.ranks}",
        )
    return value


def flag(value: object, name: str) -> float:
    """Pass a label of a set on, which is 0 or 1, or a truth value.

    Raises
    ------
    BadRecord
        bad_label.

    >>> flag(True, "calm"), flag(0.0, "calm")
    (1.0, 0.0)
    """
    if not isinstance(value, float | int) or value not in (0, 1):
        raise BadRecord("bad_label", f"label {shown(name)} is {shown(value)}, neither 0 nor 1")
    return float(value == 1)


def whole_text(value: str) -> str:
    """Pass a text on that UTF-8 can hold.

    Raises
    ------
    BadRecord
        bad_encoding.
    """
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise BadRecord("bad_encoding", f"{shown(value)} is half a surrogate pair")
    return value


def node(name: str, form: RecordFormat) -> str:
    """Pass a node's name on that the network has.

    Raises
    ------
    BadRecord
        missing_field or unknown_node.
    """
    if not name:
        raise BadRecord("missing_field", f"{form.node_place} is empty")
    if form.nodes is not None and name not in form.nodes:
        raise BadRecord("unknown_node", f"{form.node_place} is {shown(name)}, not a node")
    return name


def identity(text: str, place: str) -> str:
    """Pass an id on.

    Raises
    ------
    BadRecord
        missing_field or bad_id.

    >>> identity("sample-1", "field 'id'")
    'sample-1'
    """
    if not text:
        raise BadRecord("missing_field", f"{place} is empty")
    if len(text) > LONGEST_ID:
        raise BadRecord("bad_id", f"{place} is longer than {LONGEST_ID} letters: {shown(text)}")
    return text
