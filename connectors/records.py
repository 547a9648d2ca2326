"""What a record is: the format of a source's records, and the reasons to refuse one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from anabranch.errors import AnabranchError, ConfigurationError
from anabranch.labels import named
from anabranch.protocol import Array, Task
from anabranch.stream import WHOLE
from connectors.template import Template

__all__ = ["REASONS", "Codec", "RecordFormat", "Row", "SourceError"]

REASONS = {
    "malformed": "not a record of this format at all",
    "missing_field": "a field is absent, empty or null",
    "extra_field": "there are more fields than the header or the features name",
    "not_numeric": "a feature is text, a truth value, a list or an object",
    "not_finite": "a feature is NaN",
    "infinite": "a feature is infinite, or too large for a 64-bit float",
    "wrong_length": "an array of values has another length than the record should have",
    "bad_label": "the label is no number, not finite, or not an integer among the ranks; of a set"
    " of labels: neither 0 nor 1, no list of names, or an empty or overlong name",
    "unknown_label": "the record names a label that is not among the known ones, or one new label"
    " too many",
    "unknown_node": "the record names no node of the network",
    "too_long": "the record is longer than `max_record` bytes",
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

    Of a set of labels `label` holds 0 and 1 a column, or as a tuple the names.
    """

    features: Sequence[float] | Array
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
    header : CSV files begin with a header; without one the columns are the features and the
        special ones, in this order
    max_record : longest record in bytes, without its line end; longer ones become dead letters
    node_from : what names the node: "field", or of a message "key" or "header"
    columns : the columns of CSV messages; None: the features and the special ones, in this order
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
    max_record: int = 1 << 20
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

    def __post_init__(self) -> None:
        if self.ranks is not None and self.ranks < 2:
            raise ConfigurationError(
                f"source.ranks is {self.ranks}: allowed are 2 and more, or none"
            )
        if self.task not in ("ordinal", "regression", "multilabel"):
            raise ConfigurationError(
                f"source.task is {self.task!r}: allowed are 'ordinal', 'regression' and"
                " 'multilabel'"
            )
        if self.max_record < 1:
            raise ConfigurationError(f"source.max_record is {self.max_record}: allowed is 1 and up")
        if self.task == "multilabel":
            self._check_labels()
            self._check_lists()
        elif self.labels or self.label_list:
            key = "labels" if self.labels else "label_list"
            raise ConfigurationError(
                f"source.{key} is set, but a learner of task {self.task!r} learns one label a"
                " sample: allowed with task 'multilabel'"
            )
        self._check_places()
        self._check_sparse()
        self._check_columns()

    def _check_labels(self) -> None:
        if self.ranks is not None:
            raise ConfigurationError(
                f"source.ranks is {self.ranks} and source.task 'multilabel': labels of a set are"
                " 0 or 1; allowed is none"
            )
        if self.new_labels not in ("grow", "ignore", "refuse"):
            raise ConfigurationError(
                f"source.new_labels is {self.new_labels!r}: allowed are 'grow', 'ignore', 'refuse'"
            )
        if self.new_labels != "refuse" and not self.label_list:
            raise ConfigurationError(
                f"source.new_labels is {self.new_labels!r}, but columns hold no new labels: allowed"
                " with source.label_list"
            )
        if not self.labels and self.new_labels != "grow":
            raise ConfigurationError(
                "source.labels is empty: name the labels, or set source.label_list and"
                " source.new_labels 'grow'"
            )
        named(self.labels)

    def _check_lists(self) -> None:
        if not self.label_separator:
            raise ConfigurationError("source.label_separator is '': allowed is any other text")
        if self.max_labels < 1:
            raise ConfigurationError(f"source.max_labels is {self.max_labels}: allowed is 1 and up")

    def _check_places(self) -> None:
        if self.node_from not in ("field", "key", "header"):
            raise ConfigurationError(
                f"source.node is from {self.node_from!r}: allowed are 'field', 'key' and 'header'"
            )
        if self.node_from == "header" and not self.node_field:
            raise ConfigurationError("source.node is 'header:': name the header after the colon")
        if self.node_from == "key" and self.node_field:
            raise ConfigurationError(
                f"source.node is 'key' and names {self.node_field!r}: a message has one key"
            )
        place, _, name = (self.id_from or "key").partition(":")
        if self.id_from not in (None, "key") and (place not in ("header", "field") or not name):
            raise ConfigurationError(
                f"source.id is {self.id_from!r}: allowed are 'key', 'header:NAME', 'field:NAME'"
            )

    def _check_sparse(self) -> None:
        if self.sparse_width is None:
            return
        if self.sparse_width < 1:
            raise ConfigurationError(
                f"source.sparse_width is {self.sparse_width}: allowed is 1 and up"
            )
        if self.features is not None:
            raise ConfigurationError(
                "source.features and source.sparse_width exclude each other: sparse features"
                " have numbers, not names"
            )

    def _check_columns(self) -> None:
        if self.features == ():
            raise ConfigurationError("source.features is empty: name at least one, or leave it out")
        if not self.header and self.features is None:
            raise ConfigurationError(
                "source.header is false but source.features is not given: without a header the"
                " features must be named"
            )
        names = [*self.inputs, *self.special]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ConfigurationError(
                f"source.features, source.{'labels' if self.flags else 'label'}, source.node and"
                f" source.id name {twice[0]!r} more than once: a column is either a feature, a"
                " label, the node or the id"
            )

    @property
    def inputs(self) -> tuple[str, ...]:
        """The fields that X is made of, as far as they are named."""
        return self.features or (() if self.sparse_width is None else self.sparse_fields)

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
