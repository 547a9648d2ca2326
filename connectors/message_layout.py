"""From a topic's format to the codec of its messages and the names of its features."""

from typing import Literal

from anabranch.errors import ConfigurationError, nearest
from connectors.csv_records import CsvCodec
from connectors.json_records import JsonCodec, infer_features
from connectors.msgpack_records import MsgpackCodec, infer_packed_features
from connectors.objects import width_names
from connectors.records import Codec, RecordFormat

__all__ = ["MESSAGE_FORMATS", "MessageFormat", "infer_message_features", "named_features",
           "open_message_codec"]  # fmt: skip

MessageFormat = Literal["json", "msgpack", "csv"]
MESSAGE_FORMATS: tuple[MessageFormat, ...] = ("json", "msgpack", "csv")


def named_features(form: RecordFormat, format: MessageFormat) -> tuple[str, ...] | None:
    """Give the features as far as the format names them; None when messages must tell.

    Raises
    ------
    ConfigurationError
        The format is unknown, or lacks what messages of it need.

    >>> named_features(RecordFormat(columns=("a", "y", "b")), "csv")
    ('a', 'b')
    >>> named_features(RecordFormat(), "json") is None
    True
    """
    if format not in MESSAGE_FORMATS:
        hint = nearest(format, list(MESSAGE_FORMATS))
        raise ConfigurationError(f"source.format is {format!r}{hint}")
    if format == "csv":
        return _csv_features(form)
    if form.columns is not None:
        raise ConfigurationError(
            f"source.columns is set and source.format is {format!r}: only csv messages have columns"
        )
    return form.features if form.width is None else width_names(form)


def _csv_features(form: RecordFormat) -> tuple[str, ...]:
    if form.sparse_width is not None:
        raise ConfigurationError(
            "source.sparse_width is set and source.format is 'csv': sparse messages are allowed as"
            " 'json' and 'msgpack'"
        )
    if form.columns is None and not form.inputs:
        raise ConfigurationError(
            "source.columns and source.features are missing: csv messages have no header, so one"
            " of them must be named"
        )
    columns = form.columns or ()
    if columns:
        _check_columns(columns, (*form.inputs, *form.special))
    if form.text:
        return ()
    chosen = form.features or tuple(name for name in columns if name not in form.special)
    if not chosen:
        raise ConfigurationError(
            f"source.columns has no feature: its columns are {', '.join(columns)}"
        )
    return chosen


def _check_columns(columns: tuple[str, ...], wanted: tuple[str, ...]) -> None:
    twice = [name for name in columns if columns.count(name) > 1]
    if twice:
        raise ConfigurationError(
            f"source.columns names {twice[0]!r} more than once: every column has its own name"
        )
    for name in wanted:
        if name not in columns:
            raise ConfigurationError(
                f"source.columns has no {name!r}, which the features, the label, the node or the"
                f" id are to be read from{nearest(name, list(columns))}"
            )


def infer_message_features(
    value: bytes | None, form: RecordFormat, format: MessageFormat
) -> tuple[str, ...] | None:
    """Name the features after a message; None when it cannot tell.

    Features that the format names are given whatever the message holds. Raises as
    `named_features` does.

    >>> infer_message_features(b'{"a": 1, "y": 2}', RecordFormat(), "json")
    ('a',)
    """
    named = named_features(form, format)
    if named is not None or value is None or len(value) > form.max_record:
        return named
    infer = infer_features if format == "json" else infer_packed_features
    return infer(value, form)


def open_message_codec(
    features: tuple[str, ...], form: RecordFormat, format: MessageFormat
) -> Codec:
    """Make the codec of a topic's messages. Raises as `named_features` does."""
    named_features(form, format)
    if format == "csv":
        return CsvCodec(form.columns_in_order, features, form)
    return JsonCodec(features, form) if format == "json" else MsgpackCodec(features, form)
