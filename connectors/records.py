"""What a record is: the format of a source's records, and the reasons to refuse one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from anabranch.errors import AnabranchError
from anabranch.features.hashing import TextHasher
from anabranch.protocol import Array, Task
from anabranch.stream import WHOLE
from connectors.format_checks import check_format
from connectors.template import Template

__all__ = ["LONGEST_RECORD", "REASONS", "Codec", "RecordFormat", "Row", "SourceError"]

LONGEST_RECORD = 1 << 20
"""Bytes of a record at most, without its line end."""

REASONS = {
    "malformed": "not a record of this format at all",
    "missing_field": "a field is absent, empty or null",
    "extra_field": "there are more fields than the header or the features name",
    "not_text": "a field that holds a text has something else",
    "not_numeric": "a feature is text, a truth value, a list or an object",
    "not_finite": "a feature is NaN",
    "infinite": "a feature is infinite, or too large for a 64-bit float",
    "wrong_length": "an array of values has another length than the record should have",
    "bad_label": "the label is no number, not finite, or not an integer among the ranks; of a set"
    " of labels: neither 0 nor 1, no list of names, or an empty or overlong name",
    "unknown_label": "the record names a label that is not among the known ones, or one new label"
    " too many",
    "unknown_node": "the record names no node of the network",
    "too_long": "the record has more bytes than a record may have",
    "bad_encoding": "the record is not UTF-8 text",
    "empty_record": "the message has no value, or a blank one",
    "bad_index": "an index of a sparse record is no whole number, out of range, or there twice",
    "bad_id": "the id is no text of at most 1000 letters, and no whole number below 2**53",
    "empty_file": "the file has nothing in it, not even a header",
    "header_only": "the file has a header, and no record after it",
    "unreadable": "the file could not be read further from here",
}
"""Every reason a dead letter of these connectors gives, and its meaning."""


class SourceError(AnabranchError):
    """A source or sink is no longer what it was when the job began: replaced or cut short."""


class Row(NamedTuple):
    """One good record; a sample without its label has NaN, a label alone no features.

    `features` holds a number a column, a text, or as a tuple sorted indices and their values.
    Of a set of labels `label` holds 0 and 1 a column, or as a tuple the names.
    """

    features: Sequence[float] | Array | str | tuple[Array, Array]
    label: float | Sequence[float] | tuple[str, ...]
    node: str | None = None
    id: str | None = None
    kind: int = WHOLE


class Codec(Protocol):
    """How records of one file or topic are read, one by one and in bulk."""

    @property
    def templates(self) -> Sequence[Template]:
        """What may be read in bulk, the likeliest first; none when nothing is known yet."""
        ...

    @property
    def comment(self) -> int:
        """The byte that begins a line that is no record, -1 when there is none."""
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
        the special ones, in the order of the header (JSON, MessagePack: of the first good
        record). Named features leave all other columns alone; unnamed, a further key is an
        extra field.
    node_field : the column or header that names the record's node; None when placement is by
        other means
    ranks : labels must be whole numbers 1..ranks; None takes any finite label
    task : "ordinal", "regression" or "multilabel"
    nodes : the names that nodes may have; None takes any
    header : CSV files begin with a header
    max_record : longest record in bytes, without its line end; longer ones become dead letters
    node_from : what names the node: "field", or of a message "key" or "header"
    columns : the columns of CSV messages and of CSV files without a header; None: the features,
        or texts, and the special ones, in this order
    sparse_width : records hold indices (from 0) and values of the features that are not zero,
        and rows are this wide; None: every feature is a field
    sparse_fields : the names of the indices' and the values' field
    id_from : what tells a label's sample where both come apart: "key", "header:NAME" or
        "field:NAME"; None: every record has its label
    labels : names of the labels a sample may have, of task "multilabel": each a column of 0 and
        1, or, with `label_list`, what is known from the beginning
    label_list : the label's column holds the names of a record's labels: an array of texts, in
        CSV one text
    label_separator : what stands between the names in that text
    new_labels : what to do with a name that is not among `labels`: "grow" (blocks name the
        labels that occur in them), "ignore" it, or "refuse" the record
    max_labels : labels of a block, beyond `labels`, at most; a record with one more is a dead
        letter. A block's y has a column for each, 8 bytes a row.

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
    max_record: int = LONGEST_RECORD
    node_from: Literal["field", "key", "header"] = "field"
    columns: tuple[str, ...] | None = None
    sparse_width: int | None = None
    sparse_fields: tuple[str, str] = ("indices", "values")
    id_from: str | None = None
    labels: tuple[str, ...] = ()
    label_list: bool = False
    label_separator: str = ";"
    new_labels: Literal["grow", "ignore", "refuse"] = "refuse"
    max_labels: int = 10_000
    separator: str = ","
    text: tuple[str, ...] = ()
    hasher: TextHasher = field(default_factory=TextHasher)
    index_base: int = 1
    sparse: bool = False

    def __post_init__(self) -> None:
        check_format(self)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The fields that X is made of, as far as they are named."""
        if self.sparse_width is not None:
            return self.sparse_fields
        return self.text or self.features or ()

    @property
    def width(self) -> int | None:
        """The number of X's columns where they have no names of their own, else None."""
        return self.hasher.features if self.text else self.sparse_width

    @property
    def columns_in_order(self) -> tuple[str, ...]:
        """The columns of CSV without a header.

        >>> RecordFormat(text=("title", "body")).columns_in_order
        ('title', 'body', 'y')
        """
        return self.columns or (*self.inputs, *self.special)

    @property
    def named(self) -> bool:
        """Whether records name their nodes."""
        return self.node_from == "key" or self.node_field is not None

    @property
    def apart(self) -> bool:
        """Whether samples and labels may come apart."""
        return self.id_from is not None

    @property
    def node_column(self) -> str | None:
        """The field of the record that names the node."""
        return self.node_field if self.node_from == "field" else None

    @property
    def node_place(self) -> str:
        """Where the node's name is looked for, in words."""
        if self.node_from == "key":
            return "the message's key"
        return f"{self.node_from} {self.node_field!r}"

    @property
    def id_column(self) -> str | None:
        """The field of the record that holds the id."""
        place, _, name = (self.id_from or "").partition(":")
        return name if place == "field" else None

    @property
    def flags(self) -> bool:
        """Whether each label is a column of 0 and 1."""
        return self.task == "multilabel" and not self.label_list

    @property
    def grows(self) -> bool:
        """Whether blocks name the labels that occur in them."""
        return self.label_list and self.new_labels == "grow"

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The fields that hold the label, or the labels."""
        return self.labels if self.flags else (self.label,)

    @property
    def place_columns(self) -> tuple[str, ...]:
        """The node's column and the id's, when there are any."""
        columns = (self.node_column, self.id_column)
        return tuple(name for name in columns if name is not None)

    @property
    def special(self) -> tuple[str, ...]:
        """The columns of labels and, when there are any, the node's and the id's."""
        return (*self.label_columns, *self.place_columns)
