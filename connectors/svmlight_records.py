"""svmlight's format, LIBSVM's too: `label index:value index:value ... # comment`, one a line."""

import re
from collections.abc import Sequence

import numpy as np

from anabranch.protocol import Array
from connectors.records import RecordFormat, Row
from connectors.template import INDICES, LABEL, SVMLIGHT, VALUES, Template
from connectors.values import BadRecord, label, number, shown

__all__ = ["SvmlightCodec", "read_line", "read_pairs", "split_pairs"]

_BLANKS = re.compile(r"[ \t]+")
_QUERY = re.compile(r"qid:[0-9]+")
_INDEX = re.compile(r"[0-9]{1,15}")


def read_line(line: bytes) -> tuple[str, list[str]]:
    """Read a record to its label and its pairs, without its comment.

    Raises
    ------
    BadRecord
        bad_encoding.

    >>> read_line(b"2 1:0.5 # said so")
    ('2', ['1:0.5'])
    """
    try:
        return split_pairs(line.partition(b"#")[0].decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BadRecord("bad_encoding", f"the record is not UTF-8: {error}") from None


def split_pairs(text: str) -> tuple[str, list[str]]:
    """Split a record without comment into its label and its pairs; a query's number is dropped.

    >>> split_pairs("2 qid:7 1:0.5")
    ('2', ['1:0.5'])
    """
    label, *pairs = _BLANKS.split(text.strip(" \t"))
    return label, pairs[1:] if pairs and _QUERY.fullmatch(pairs[0]) else pairs


def read_pairs(tokens: Sequence[str], first: int, width: int) -> tuple[Array, Array]:
    """Read texts `index:value`, in any order, to sorted indices from 0 and their values.

    Parameters
    ----------
    first : the index of the first column
    width : number of columns

    Raises
    ------
    BadRecord
        malformed, bad_index, not_numeric, not_finite, infinite or missing_field.

    >>> read_pairs(["7:0.5", "2:1"], 1, 9)
    (array([1, 6], dtype=uint32), array([1. , 0.5]))
    """
    found: dict[int, float] = {}
    for token in tokens:
        place, colon, value = token.partition(":")
        if not colon:
            raise BadRecord("malformed", f"{shown(token)} is no index and a value with : between")
        index = int(place) if _INDEX.fullmatch(place) else -1
        if not first <= index < first + width:
            raise BadRecord(
                "bad_index",
                f"the index {shown(place)} is not among {first}..{first + width - 1}",
            )
        if index - first in found:
            raise BadRecord("bad_index", f"the index {index} is there twice")
        found[index - first] = number(value, f"{index}")
    order = sorted(found)
    return np.array(order, np.uint32), np.array([found[index] for index in order], np.float64)


class SvmlightCodec:
    """Reads the records of one svmlight file; lines that begin with # are none.

    Indices may come in any order, each once; a query's number, `qid:7`, is passed over.

    >>> SvmlightCodec(RecordFormat(sparse_width=5)).parse(b"2 qid:1 5:0.5 1:2 # said so")
    Row(features=(array([0, 4], dtype=uint32), array([2. , 0.5])), label=2.0, node=None, \
id=None, kind=0)
    """

    comment = ord("#")

    def __init__(self, form: RecordFormat) -> None:
        self._form, self._width = form, form.sparse_width or 0
        kinds, slots = [LABEL, INDICES, VALUES], [0, form.index_base, self._width]
        self._templates = [Template.of([b""] * 4, kinds, slots, SVMLIGHT)]

    @property
    def templates(self) -> Sequence[Template]:
        """The template of plain lines, whose indices increase."""
        return self._templates

    def parse(self, line: bytes) -> Row:
        """Read one line, without its line end; see `Codec.parse`."""
        first, tokens = read_line(line)
        truth = self._truth(first)
        return Row(read_pairs(tokens, self._form.index_base, self._width), truth)

    def _truth(self, text: str) -> float:
        try:
            return label(number(text, self._form.label), self._form, text)
        except BadRecord as bad:
            raise BadRecord("bad_label", bad.detail) from None
