"""From a file's beginning to the features of a source and the codec of the file."""

from typing import Literal

from anabranch.errors import ConfigurationError
from connectors.arff_header import read_attributes
from connectors.arff_records import ArffCodec, choose_attributes
from connectors.csv_records import CsvCodec, choose_features, read_header
from connectors.json_records import JsonCodec, infer_features
from connectors.reader import BlockReader
from connectors.records import Codec, RecordFormat

__all__ = ["FILE_FORMATS", "FileFormat", "find_features", "open_codec"]

FileFormat = Literal["csv", "jsonl", "arff"]
FILE_FORMATS: tuple[FileFormat, ...] = ("csv", "jsonl", "arff")
_RECORDS_TRIED = 100


def read_columns(reader: BlockReader, form: RecordFormat, path: str) -> tuple[str, ...] | None:
    """Read or make up a CSV file's columns; None when its header is not there (yet)."""
    if not form.header:
        return (*(form.features or ()), *form.special)
    line = reader.read_line()
    return None if line is None else read_header(line, path)


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
            return None if columns is None else choose_features(columns, form, path)
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
    columns = read_columns(reader, form, path)
    if columns is None:
        return None
    _check_features(choose_features(columns, form, path), features, path)
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
