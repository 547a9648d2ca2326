"""What a record is: the format of a source's records, and the reasons to refuse one."""

import re
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from anabranch.errors import AnabranchError, ConfigurationError
from anabranch.protocol import Task
from connectors.scan import Template

__all__ = ["REASONS", "BadRecord", "Codec", "RecordFormat", "Row", "SourceError"]

REASONS = {
    "malformed": "not a record of this format at all",
    "missing_field": "a field is absent, empty or null",
    "extra_field": "there are more fields than the header or the features name",
    "not_numeric": "a feature is text, a truth value, a list or an object",
    "not_finite": "a feature is NaN",
    "infinite": "a feature is infinite, or too large for a 64-bit float",
    "wrong_length": "an array of values has another length than the record should have",
    "bad_label": "the label is no number, not finite, or not an integer among the ranks",
    "unknown_node": "the node field names no node of the network",
    "too_long": "the record is longer than `max_record` bytes",
    "bad_encoding": "the record is not UTF-8 text",
    "empty_file": "the file has nothing in it, not even a header",
    "header_only": "the file has a header, and no record after it",
    "unreadable": "the file could not be read further from here",
}
"""Every reason a dead letter of these connectors gives, and its meaning."""

_NUMBER = re.compile(r"[ \t]*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t]*")
_SPECIAL = re.compile(r"[ \t]*[+-]?(?:(nan)|inf|infinity)[ \t]*", re.IGNORECASE)


class SourceError(AnabranchError):
    """A source or sink is no longer what it was when the job began: replaced or cut short."""


class BadRecord(Exception):  # noqa: N818 - control flow between a codec and its caller
    """One record cannot be used; carries the reason and a sentence."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


class Row(NamedTuple):
    """One good record."""

    features: list[float]
    label: float
    node: str | None


class Codec(Protocol):
    """How records of one file are read, one by one and in bulk."""

    @property
    def template(self) -> Template | None:
        """What `scan` may take on its own; None when nothing is known yet."""
        ...

    def parse(self, line: bytes) -> Row:
        """Read one record carefully.

        Raises
        ------
        BadRecord
            With the reason.
        """
        ...


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """What the records of a source look like.

    Attributes
    ----------
    label : name of the label's column
    features : names of the features in the order of X's columns; None takes every column but
        the label and the node field, in the order of the header (JSON: of the first good
        record). Named features leave all other columns alone; unnamed, a further JSON key is an
        extra field.
    node_field : the column that names the record's node; None when placement is by other means
    ranks : labels must be whole numbers 1..ranks; None takes any finite label
    task : "ordinal" or "regression"
    nodes : the names that `node_field` may hold; None takes any
    header : CSV files begin with a header; without one the columns are the features, the label
        and the node field, in this order
    max_record : longest record in bytes, without its line end; longer ones become dead letters

    >>> RecordFormat(ranks=1)
    Traceback (most recent call last):
    anabranch.errors.ConfigurationError: source.ranks is 1: allowed are 2 and more, or none
    """

    label: str = "y"
    features: tuple[str, ...] | None = None
    node_field: str | None = None
    ranks: int | None = None
    task: Task = "ordinal"
    nodes: frozenset[str] | None = None
    header: bool = True
    max_record: int = 1 << 20

    def __post_init__(self) -> None:
        names = [*(self.features or ()), self.label, *self.special[1:]]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ConfigurationError(
                f"source.features, source.label and source.node name {twice[0]!r} more than"
                " once: a column is either a feature, the label or the node"
            )
        if self.ranks is not None and self.ranks < 2:
            raise ConfigurationError(
                f"source.ranks is {self.ranks}: allowed are 2 and more, or none"
            )
        if self.task not in ("ordinal", "regression"):
            raise ConfigurationError(
                f"source.task is {self.task!r}: these records hold one label each; allowed are"
                " 'ordinal' and 'regression'"
            )
        self._check_columns()

    def _check_columns(self) -> None:
        if self.features == ():
            raise ConfigurationError("source.features is empty: name at least one, or leave it out")
        if not self.header and self.features is None:
            raise ConfigurationError(
                "source.header is false but source.features is not given: without a header the"
                " features must be named"
            )
        if self.max_record < 1:
            raise ConfigurationError(f"source.max_record is {self.max_record}: allowed is 1 and up")

    @property
    def special(self) -> tuple[str, ...]:
        """The label's column and, when there is one, the node's."""
        return (self.label,) if self.node_field is None else (self.label, self.node_field)


def shown(value: object) -> str:
    """Show a value in a sentence, cut to a readable length."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


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
    connectors.records.BadRecord: ('not_numeric', "field 'x1' is '1_000', not a number")
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


def node(name: str, form: RecordFormat) -> str:
    """Pass a node's name on that the network has.

    Raises
    ------
    BadRecord
        missing_field or unknown_node.
    """
    if not name:
        raise BadRecord("missing_field", f"field {shown(form.node_field)} is empty")
    if form.nodes is not None and name not in form.nodes:
        raise BadRecord(
            "unknown_node", f"field {shown(form.node_field)} is {shown(name)}, not a node"
        )
    return name
