"""Rows from a file for models of texts, and of sparse features: no label is needed or used."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch.errors import ConfigurationError
from pipelines.cli.rows import BadRow, open_lines

__all__ = ["PairRows", "TextRows", "rows_of"]

_TABLES = ("csv", "tsv", "txt")
_OBJECTS = ("jsonl", "ndjson")


def rows_of(records: Mapping[str, Any]) -> "TextRows | PairRows":
    """Give the reader for a model whose file says how its records were read.

    Parameters
    ----------
    records : what `record_settings` gave
    """
    if records["text"]:
        names = ("text", "text_bits", "ngrams", "separator", "header", "columns")
        return TextRows(**{name: records[name] for name in names})
    return PairRows(records["sparse_width"], records["index_base"])


def _kind(path: Path) -> str:
    return path.name.removesuffix(".gz").rpartition(".")[2]


@dataclass(frozen=True)
class TextRows:
    """Texts of a CSV or JSON Lines file, as the job that made the model read them."""

    text: Sequence[str]
    text_bits: int
    ngrams: int
    separator: str = ","
    header: bool = True
    columns: Sequence[str] | None = None

    def read(self, path: Path) -> Iterator[str | BadRow]:
        """Give the text of every record.

        Raises
        ------
        ConfigurationError
            The file cannot be read, or lacks a field.
        """
        kind = _kind(path)
        known = (*_TABLES, *_OBJECTS)
        if kind not in known:
            raise ConfigurationError(
                f"the file {path} ends in none of .{', .'.join(known)}, plain or .gz"
            )
        with open_lines(path) as file:
            lines = (line.rstrip("\r\n") for line in file)
            filled = (line for line in lines if line.strip(" \t"))
            if kind in _OBJECTS:
                yield from (self._of_object(line) for line in filled)
            else:
                separator = "\t" if kind == "tsv" else self.separator
                yield from self._of_table(filled, separator)

    def _of_table(self, lines: Iterator[str], separator: str) -> Iterator[str | BadRow]:
        names = tuple(self.columns or ())
        if self.header or not names:
            names = tuple(name.strip() for name in _split(next(lines, ""), separator))
        for name in self.text:
            if name not in names:
                raise ConfigurationError(f"the file has no field {name!r}, which the model needs")
        at = [names.index(name) for name in self.text]
        for line in lines:
            fields = _split(line, separator)
            if len(fields) != len(names):
                yield BadRow(f"it has {len(fields)} fields, and there are {len(names)} columns")
            else:
                yield " ".join(fields[i] for i in at)

    def _of_object(self, line: str) -> str | BadRow:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            return BadRow("it is not JSON")
        if not isinstance(record, dict):
            return BadRow("it is no object")
        for name in self.text:
            if not isinstance(record.get(name), str):
                state = "no text" if name in record else "missing"
                return BadRow(f"field {name!r} is {state}")
        return " ".join(record[name] for name in self.text)

    def rows(self, texts: Sequence[str]) -> Any:
        """Make `SparseRows` of texts."""
        from anabranch.features.hashing import TextHasher

        return TextHasher(self.text_bits, self.ngrams).rows(texts)


def _split(line: str, separator: str) -> list[str]:
    if separator == "\t" or '"' not in line:
        return line.split(separator)
    return next(csv.reader([line], delimiter=separator), [])


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
        objects = _kind(path) in _OBJECTS
        with open_lines(path) as file:
            for line in file:
                text = line.strip() if objects else line.partition("#")[0].strip()
                if text:
                    yield self._of_object(text) if objects else self._of_line(text)

    def _of_line(self, text: str) -> Any:
        from connectors.svmlight_records import split_pairs

        tokens = split_pairs(text)[1]
        return self._pairs(tokens, self.base)

    def _of_object(self, text: str) -> Any:
        try:
            record = json.loads(text)
            pairs = zip(record["indices"], record["values"], strict=True)
            tokens = [f"{index}:{value}" for index, value in pairs]
        except (ValueError, TypeError, KeyError, RecursionError):
            return BadRow("it is no object with indices and as many values")
        return self._pairs(tokens, 0)

    def _pairs(self, tokens: Sequence[str], base: int) -> Any:
        from connectors.svmlight_records import read_pairs
        from connectors.values import BadRecord

        try:
            return read_pairs(tokens, base, self.width)
        except BadRecord as bad:
            return BadRow(bad.detail)

    def rows(self, pairs: Sequence[Any]) -> Any:
        """Make `SparseRows` of indices and values."""
        import numpy as np

        from anabranch.sparse import SparseRows

        indptr = np.cumsum([0, *(len(indices) for indices, _ in pairs)], dtype=np.int64)
        indices, values = (np.concatenate(part) for part in zip(*pairs, strict=True))
        return SparseRows(indptr, indices, values, self.width)
