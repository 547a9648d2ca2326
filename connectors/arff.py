"""Whole ARFF files as arrays."""

import zlib
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import IO, NamedTuple

from anabranch.errors import ConfigurationError
from anabranch.protocol import Array
from connectors.arff_header import read_attributes
from connectors.arff_records import ArffCodec, choose_attributes
from connectors.label_xml import read_label_xml
from connectors.parser import RecordParser
from connectors.reader import open_text
from connectors.records import RecordFormat
from connectors.rows import Origin, Rows, join_rows

__all__ = ["ArffTable", "read_arff"]

_ALL = 1 << 62


class ArffTable(NamedTuple):
    """The samples of a file: X (n, d), y (n, q) of 0 and 1, and the names of their columns."""

    X: Array
    y: Array
    features: tuple[str, ...]
    labels: tuple[str, ...]


def read_arff(source: str | Path | IO[bytes], labels: Sequence[str] | str | Path) -> ArffTable:
    r"""Read a whole ARFF file of samples with sets of labels.

    Parameters
    ----------
    source : a file, plain or (by the suffix .gz) packed, or an open one, read as bytes
    labels : the names of the labels' attributes, or the path of Mulan's XML with these

    Raises
    ------
    ConfigurationError
        The file cannot be read, has no header, lacks a label, or a record of it cannot be used.

    >>> text = b"@relation r\n@attribute x real\n@attribute calm {0,1}\n@data\n0.5,1\n{0 2}\n"
    >>> X, y, features, names = read_arff(BytesIO(text), ["calm"])
    >>> X.tolist(), y.tolist(), features, names
    ([[0.5], [2.0]], [[1.0], [0.0]], ('x',), ('calm',))
    """
    names = read_label_xml(labels) if isinstance(labels, str | Path) else tuple(labels)
    path, data = _load(source)
    form = RecordFormat(task="multilabel", labels=names, max_record=_ALL)
    text = BytesIO(data)
    lines = (line.rstrip(b"\r\n") for line in text)
    attributes = read_attributes(lambda: next((line for line in lines if line.strip()), None), path)
    if attributes is None:
        raise ConfigurationError(f"{path} has no line @data: its header does not end")
    features = choose_attributes(attributes, form, path)
    codec = ArffCodec(attributes, features, form)
    parser = RecordParser(form, len(features), codec, Origin(path, path))
    parts = list(_parse(parser, data, text.tell()))
    rows = join_rows(parts, form, len(features))
    return ArffTable(rows.X, rows.y, features, names)


def _load(source: str | Path | IO[bytes]) -> tuple[str, bytes]:
    if not isinstance(source, str | Path):
        return getattr(source, "name", "the stream"), source.read().removeprefix(b"\xef\xbb\xbf")
    try:
        with open_text(str(source)) as file:
            return str(source), file.read().removeprefix(b"\xef\xbb\xbf")
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigurationError(f"{str(source)!r} cannot be read: {error}") from None


def _parse(parser: RecordParser, data: bytes, at: int) -> Iterator[Rows]:
    done = 0
    while True:
        rows, at = parser.parse(data, at, True, len(data) + 1, done)
        if rows.dead:
            letter = rows.dead[0]
            raise ConfigurationError(
                f"record {letter.position} of {letter.source} cannot be used: {letter.detail}"
            )
        if rows.records == 0:
            return
        done += rows.records
        yield rows
