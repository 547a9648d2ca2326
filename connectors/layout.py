"""From a file's beginning to the features of a source and the codec of the file."""

from typing import Literal, get_args

from anabranch.errors import ConfigurationError
from connectors.arff_header import read_attributes
from connectors.arff_records import ArffCodec, choose_attributes
from connectors.csv_records import CsvCodec, choose_features, read_header
from connectors.json_records import JsonCodec, infer_features
from connectors.reader import BlockReader
from connectors.records import Codec, RecordFormat
from connectors.svmlight_records import SvmlightCodec

__all__ = ["FILE_FORMATS", "FileFormat", "check_format", "find_features", "open_codec"]

FileFormat = Literal["csv", "jsonl", "arff", "svmlight"]
FILE_FORMATS: tuple[FileFormat, ...] = get_args(FileFormat)
_RECORDS_TRIED = 100


def read_columns(reader: BlockReader, form: RecordFormat, path: str) -> tuple[str, ...] | None:
    """Read or make up a CSV file's columns; None when its header is not there (yet)."""
    if not form.header:
        return form.columns_in_order
    line = reader.read_line()
    return None if line is None else read_header(line, path, form.separator)


def _place(form: RecordFormat, path: str) -> str:
    """Say what names the columns of CSV."""
    return f"the header of {path}" if form.header else "source.columns"


def check_format(format: FileFormat, form: RecordFormat) -> None:
    """Refuse what files of a format do not have.

    Raises
    ------
    ConfigurationError
        There are texts where none can be, or indices where none can be, or none where they must.
    """
    if form.text and format in ("arff", "svmlight"):
        raise ConfigurationError(
            f"source.text is set and source.kind is {format!r}: texts are allowed in 'csv' and"
            " 'jsonl'"
        )
    wanted, given = format == "svmlight", form.sparse_width is not None
    if wanted != given and not (given and format == "jsonl"):
        raise ConfigurationError(
            f"source.sparse_width is {form.sparse_width or 'missing'} and source.kind is"
            f" {format!r}: records of 'svmlight' need the number of their features, those of"
            " 'jsonl' may have it, those of other files have none"
        )
    if format == "svmlight" and (form.task == "multilabel" or form.node_field is not None):
        key = "labels" if form.task == "multilabel" else "node"
        raise ConfigurationError(
            f"source.{key} names fields and source.kind is 'svmlight', whose records have one label"
            " and no other field"
        )


def find_features(path: str, format: FileFormat, form: RecordFormat) -> tuple[str, ...] | None:
    """Give the features that a file's beginning names; None when it does not say.

    Raises
    ------
    ConfigurationError
        The file cannot be opened, or its header does not fit the record format.
    """
    try:
        reader = BlockReader(path, form.max_record)
    except OSError as error:
        raise ConfigurationError(
            f"source.paths names {path!r}, which cannot be read: {error.strerror or error}"
        ) from None
    try:
        if format == "arff":
            attributes = read_attributes(reader.read_line, path)
            return None if attributes is None else choose_attributes(attributes, form, path)
        if format == "csv":
            columns = read_columns(reader, form, path)
            return None if columns is None else choose_features(columns, form, _place(form, path))
        if form.width is not None:
            return ()
        return form.features or _try_records(reader, form)
    finally:
        reader.close()


def _try_records(reader: BlockReader, form: RecordFormat) -> tuple[str, ...] | None:
    for _ in range(_RECORDS_TRIED):
        line = reader.read_line()
        if line is None:
            break
        names = infer_features(line, form)
        if names:
            return names
    return None


def open_codec(
    reader: BlockReader,
    format: FileFormat,
    form: RecordFormat,
    features: tuple[str, ...],
    path: str,
) -> Codec | None:
    """Read a file's header, if it has one, and make its codec; None without a header yet.

    Raises
    ------
    ConfigurationError
        The header does not have the source's features.
    """
    if format == "jsonl":
        return JsonCodec(features, form)
    if format == "arff":
        return _open_arff(reader, form, features, path)
    if format == "svmlight":
        return SvmlightCodec(form)
    columns = read_columns(reader, form, path)
    if columns is None:
        return None
    _check_features(choose_features(columns, form, _place(form, path)), features, path)
    return CsvCodec(columns, features, form)


def _open_arff(
    reader: BlockReader, form: RecordFormat, features: tuple[str, ...], path: str
) -> ArffCodec | None:
    begin = reader.offset
    attributes = read_attributes(reader.read_line, path)
    if attributes is None:
        if not reader.ended:  # the rest of the header may come: read it from its beginning then
            reader.seek(begin)
        return None
    _check_features(choose_attributes(attributes, form, path), features, path)
    return ArffCodec(attributes, features, form)


def _check_features(found: tuple[str, ...], features: tuple[str, ...], path: str) -> None:
    if set(found) != set(features):
        raise ConfigurationError(
            f"the header of {path} does not name the features of the source's other files:"
            f" {', '.join(found)} against {', '.join(features)}"
        )
