"""Rows from a file for models of texts, and of sparse features: no label is needed or used."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch.errors import ConfigurationError
from pipelines.cli.rows import BadRow, bounded, open_records, parsed, pick

__all__ = ["PairRows", "TextRows", "rows_of"]

_TABLES = ("csv", "tsv")
_OBJECTS = ("jsonl", "ndjson")


def rows_of(records: Mapping[str, Any]) -> "TextRows | PairRows":
    """Give the reader for a model whose file says how its records were read.

    Parameters
    ----------
    records : what `record_settings` gave
    """
    if records["text"]:
        names = ("text", "text_bits", "ngrams", "separator", "header", "columns", "objects")
        return TextRows(**{name: records[name] for name in names if name in records})
    return PairRows(records["sparse_width"], records["index_base"])


def _kind(path: Path) -> str:
    return path.name.removesuffix(".gz").rpartition(".")[2]


@dataclass(frozen=True)
class TextRows:
    """Texts of a CSV or JSON Lines file, as the job that made the model read them.

    A file whose name tells neither is what the job read: `objects`, or a table.
    """

    text: Sequence[str]
    text_bits: int
    ngrams: int
    separator: str = ","
    header: bool = True
    columns: Sequence[str] | None = None
    objects: bool = False

    def read(self, path: Path) -> Iterator[str | BadRow]:
        """Give the text of every record.

        Raises
        ------
        ConfigurationError
            The file cannot be read, or lacks a field.
        """
        kind = _kind(path)
        with open_records(path) as lines:
            if kind in _OBJECTS or (self.objects and kind not in _TABLES):
                yield from parsed(lines, self._of_object)
            else:
                # What has read objects knows of no separator.
                tabs = self.objects and kind == "tsv"
                yield from self._of_table(lines, path, "\t" if tabs else self.separator)

    def _of_table(
        self, lines: Iterator[bytes], path: Path, separator: str
    ) -> Iterator[str | BadRow]:
        from connectors.csv_records import read_fields, read_header

        names = tuple(self.columns or ())
        if self.header or not names:
            names = read_header(next(lines, b""), str(path), separator)
        for name in self.text:
            if name not in names:
                raise ConfigurationError(f"the file has no field {name!r}, which the model needs")
        at = [names.index(name) for name in self.text]

        def parse(line: bytes) -> str:
            fields = read_fields(line, names, separator)
            return " ".join(fields[i] for i in at)

        return parsed(lines, parse)

    def _of_object(self, line: bytes) -> str:
        from connectors.json_records import decode
        from connectors.objects import join_texts
        from connectors.values import BadRecord

        record = decode(line)
        if not isinstance(record, dict):
            raise BadRecord("malformed", "it is no object")
        return join_texts(pick(record, self.text), self.text)

    def rows(self, texts: Sequence[str]) -> Any:
        """Make `SparseRows` of texts."""
        from anabranch.features.hashing import TextHasher

        return TextHasher(self.text_bits, self.ngrams).rows(texts)


@dataclass(frozen=True)
class PairRows:
    """Indices and values of an svmlight file, or of a JSON Lines file with these two fields."""

    width: int
    base: int = 1

    def read(self, path: Path) -> Iterator[Any]:
        """Give the indices and values of every record, or a `BadRow`.

        Raises
        ------
        ConfigurationError
            The file cannot be read.
        """
        with open_records(path) as lines:
            if _kind(path) in _OBJECTS:
                yield from parsed(lines, self._of_object)
            else:
                records = (line for line in lines if not line.startswith(b"#"))
                yield from parsed(records, self._of_line)

    def _of_line(self, line: bytes) -> Any:
        from connectors.svmlight_records import read_line

        return self._pairs(read_line(line)[1], self.base)

    def _of_object(self, line: bytes) -> Any:
        from connectors.values import BadRecord

        try:
            record = json.loads(line)
            pairs = zip(record["indices"], record["values"], strict=True)
            tokens = [f"{index}:{value}" for index, value in pairs]
        except (ValueError, TypeError, KeyError, RecursionError):
            why = "it is no object with indices and as many values"
            raise BadRecord("malformed", why) from None
        return self._pairs(tokens, 0)

    def _pairs(self, tokens: Sequence[str], base: int) -> Any:
        from connectors.svmlight_records import read_pairs

        indices, values = read_pairs(tokens, base, self.width)
        bounded(values.tolist(), (indices + base).tolist())
        return indices, values

    def rows(self, pairs: Sequence[Any]) -> Any:
        """Make `SparseRows` of indices and values."""
        import numpy as np

        from anabranch.sparse import SparseRows

        indptr = np.cumsum([0, *(len(indices) for indices, _ in pairs)], dtype=np.int64)
        indices, values = (np.concatenate(part) for part in zip(*pairs, strict=True))
        return SparseRows(indptr, indices, values, self.width)
