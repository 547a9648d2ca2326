"""What does not go together in a record format."""

from typing import TYPE_CHECKING

from anabranch.errors import ConfigurationError
from anabranch.labels import named

if TYPE_CHECKING:
    from connectors.records import RecordFormat

__all__ = ["SEPARATORS", "check_format"]

SEPARATORS = (",", ";", "|", "\t")
"""What may stand between the fields of CSV."""
_PARTS = {"text": "text", "features": "feature"}


def check_format(form: "RecordFormat") -> None:
    """Refuse a format whose parts do not go together.

    Raises
    ------
    ConfigurationError
        With the keys and values, and what is allowed.
    """
    if form.ranks is not None and form.ranks < 2:
        raise ConfigurationError(f"source.ranks is {form.ranks}: allowed are 2 and more, or none")
    if form.task not in ("ordinal", "regression", "multilabel"):
        raise ConfigurationError(
            f"source.task is {form.task!r}: allowed are 'ordinal', 'regression' and 'multilabel'"
        )
    if form.max_record < 1:
        raise ConfigurationError(f"source.max_record is {form.max_record}: allowed is 1 and up")
    if form.task == "multilabel":
        _check_labels(form)
        _check_lists(form)
    elif form.labels or form.label_list:
        key = "labels" if form.labels else "label_list"
        raise ConfigurationError(
            f"source.{key} is set, but a learner of task {form.task!r} learns one label a"
            " sample: allowed with task 'multilabel'"
        )
    _check_places(form)
    _check_sparse(form)
    _check_text(form)
    _check_columns(form)


def _check_labels(form: "RecordFormat") -> None:
    if form.ranks is not None:
        raise ConfigurationError(
            f"source.ranks is {form.ranks} and source.task 'multilabel': labels of a set are"
            " 0 or 1; allowed is none"
        )
    if form.new_labels not in ("grow", "ignore", "refuse"):
        raise ConfigurationError(
            f"source.new_labels is {form.new_labels!r}: allowed are 'grow', 'ignore', 'refuse'"
        )
    if form.new_labels != "refuse" and not form.label_list:
        raise ConfigurationError(
            f"source.new_labels is {form.new_labels!r}, but columns hold no new labels: allowed"
            " with source.label_list"
        )
    if not form.labels and form.new_labels != "grow":
        raise ConfigurationError(
            "source.labels is empty: name the labels, or set source.label_list and"
            " source.new_labels 'grow'"
        )
    named(form.labels)


def _check_lists(form: "RecordFormat") -> None:
    if not form.label_separator:
        raise ConfigurationError("source.label_separator is '': allowed is any other text")
    if form.max_labels < 1:
        raise ConfigurationError(f"source.max_labels is {form.max_labels}: allowed is 1 and up")


def _check_places(form: "RecordFormat") -> None:
    if form.node_from not in ("field", "key", "header"):
        raise ConfigurationError(
            f"source.node is from {form.node_from!r}: allowed are 'field', 'key' and 'header'"
        )
    if form.node_from == "header" and not form.node_field:
        raise ConfigurationError("source.node is 'header:': name the header after the colon")
    if form.node_from == "key" and form.node_field:
        raise ConfigurationError(
            f"source.node is 'key' and names {form.node_field!r}: a message has one key"
        )
    place, _, name = (form.id_from or "key").partition(":")
    if form.id_from not in (None, "key") and (place not in ("header", "field") or not name):
        raise ConfigurationError(
            f"source.id is {form.id_from!r}: allowed are 'key', 'header:NAME', 'field:NAME'"
        )


def _check_sparse(form: "RecordFormat") -> None:
    if form.index_base not in (0, 1):
        raise ConfigurationError(f"source.index_base is {form.index_base}: allowed are 0 and 1")
    if form.sparse_width is None:
        return
    if not 1 <= form.sparse_width <= 1 << 31:
        raise ConfigurationError(
            f"source.sparse_width is {form.sparse_width}: allowed is 1 to 2**31"
        )
    if form.features is not None:
        raise ConfigurationError(
            "source.features and source.sparse_width exclude each other: sparse features"
            " have numbers, not names"
        )


def _check_text(form: "RecordFormat") -> None:
    if form.separator not in SEPARATORS:
        raise ConfigurationError(
            f"source.separator is {form.separator!r}: allowed are a comma, a semicolon, a bar and"
            " a tab"
        )
    if form.text and (form.features is not None or form.sparse_width is not None):
        key = "features" if form.features is not None else "sparse_width"
        raise ConfigurationError(
            f"source.text and source.{key} exclude each other: X is made of texts alone"
        )


def _check_columns(form: "RecordFormat") -> None:
    if form.features == ():
        raise ConfigurationError("source.features is empty: name at least one, or leave it out")
    if not (form.header or form.features or form.text or form.columns):
        raise ConfigurationError(
            "source.header is false but none of source.columns, source.features and source.text"
            " is given: without a header the fields must be named"
        )
    names = [*form.inputs, *form.special]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        key = "text" if form.text else "features"
        raise ConfigurationError(
            f"source.{key}, source.{'labels' if form.flags else 'label'}, source.node and"
            f" source.id name {twice[0]!r} more than once: a column is either a {_PARTS[key]}, a"
            " label, the node or the id"
        )
