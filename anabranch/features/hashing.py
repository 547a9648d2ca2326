"""Texts to sparse rows by hashing: no vocabulary to learn, to store, or to agree on."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from anabranch.errors import ConfigurationError, SampleError
from anabranch.kernels.hashing import LETTERS, find_plain, hash_texts
from anabranch.protocol import Array
from anabranch.sparse import SparseRows

__all__ = ["MOST_BITS", "MOST_NGRAMS", "TextHasher", "words_of"]

MOST_BITS, MOST_NGRAMS = 31, 8
_WORDS = re.compile(r"\w\w+")
_NONE: Mapping[int, str] = MappingProxyType({})
_LOGS = np.array([0.0, *(1.0 + math.log(times) for times in range(1, 256))])


def words_of(text: str) -> list[str]:
    """Give the words of a text: runs of two or more letters, digits and _, in lower case.

    >>> words_of("A fine DAY, isn't it? \u00c9t\u00e9_1")
    ['fine', 'day', 'isn', 'it', '\u00e9t\u00e9_1']
    """
    return _WORDS.findall(text.lower())


@dataclass(frozen=True, slots=True)
class TextHasher:
    """Hashes the words of texts, and the n-grams of neighbouring words, into columns.

    A row holds (1 + log tf) for each column that tf > 0 of the text's n-grams fall into, and is
    scaled to length 1; a text without words is a row of zeros. A row depends on its text alone.

    The column of an n-gram is the same on every machine, and will stay so. All is done modulo
    2**64, on the words of `words_of` as UTF-8:

    - a word's hash is FNV-1a: h = 0xcbf29ce484222325, then for each byte
      h = (h xor byte) 0x100000001b3;
    - h(w1 .. wn) = mix(h(w1 .. w(n-1))) xor h(wn), where mix(v) is splitmix64's first output of
      the seed v: v += 0x9e3779b97f4a7c15; v = (v xor v >> 30) 0xbf58476d1ce4e5b9;
      v = (v xor v >> 27) 0x94d049bb133111eb; v xor v >> 31;
    - the column is the upper `bits` bits of mix(h).

    What is a letter beyond ASCII, and which is its lower case, is told by the Unicode tables of
    Python, to which new letters are added now and then.

    Parameters
    ----------
    bits : there are 2**bits columns; 1 to 31
    ngrams : of 1 up to so many neighbouring words; 1 to 8

    Raises
    ------
    ConfigurationError
        A number is out of its range.

    >>> rows = TextHasher(bits=10, ngrams=2).rows(["good, good film", ""])
    >>> rows.shape, rows.indptr.tolist(), rows.indices.tolist()
    ((2, 1024), [0, 4, 4], [403, 528, 628, 939])
    """

    bits: int = 18
    ngrams: int = 2

    def __post_init__(self) -> None:
        for name, most in (("bits", MOST_BITS), ("ngrams", MOST_NGRAMS)):
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= most:
                raise ConfigurationError(f"{name} is {value!r}; allowed: whole numbers 1..{most}")

    @property
    def features(self) -> int:
        """Number of columns."""
        return 1 << self.bits

    def rows(self, texts: Sequence[str]) -> SparseRows:
        """Make a row of each text.

        Raises
        ------
        SampleError
            One is no text.
        """
        parts = [_bytes_of(text, row) for row, text in enumerate(texts)]
        ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        data = np.frombuffer(b"".join(parts), np.uint8)
        return self._hash(data, np.stack([ends[:-1], ends[1:]], axis=1)[:, None])

    def spans(
        self, data: bytes, spans: Array, texts: Mapping[int, str] = _NONE, *, escapes: bool = False
    ) -> SparseRows:
        """Make a row of each text of a buffer; the same as of the texts themselves.

        Parameters
        ----------
        data : the buffer, valid UTF-8 wherever there is a text
        spans : (n, k, 2) int64; where the k parts of each text begin and end: what is between
            them is a blank
        texts : by their rows, where they are not in the buffer
        escapes : the parts are insides of JSON's texts, with its escapes

        >>> hasher = TextHasher(8)
        >>> hasher.spans(b"so:good", np.array([[[0, 2], [3, 7]]])).indices.tolist()
        [53, 77, 100]
        >>> hasher.rows(["So good"]).indices.tolist()
        [53, 77, 100]
        """
        plain = np.empty(len(spans), np.bool_)
        find_plain(np.frombuffer(data, np.uint8), spans, escapes, plain)
        plain[list(texts)] = False
        if not plain.all():
            data, spans = _replace(data, spans, np.flatnonzero(~plain).tolist(), texts, escapes)
        return self._hash(np.frombuffer(data, np.uint8), spans)

    def _hash(self, data: Array, spans: Array) -> SparseRows:
        # a word of two letters and what ends it are three bytes
        words = ((spans[..., 1] - spans[..., 0]) // 3 + 1).sum(axis=1)
        most, longest = (self.ngrams * int(n) for n in (words.sum(), words.max(initial=0)))
        indptr = np.empty(len(spans) + 1, np.int64)
        indices, values = np.empty(most, np.uint32), np.empty(most)
        options = (LETTERS, self.bits, self.ngrams, _LOGS, longest)
        hash_texts(data, spans, *options, indptr, indices, values)
        used = int(indptr[-1])
        return SparseRows(indptr, indices[:used].copy(), values[:used].copy(), self.features)


def _bytes_of(text: str, row: int) -> bytes:
    """Give a text as bytes; where it is not ASCII, its words in lower case."""
    if not isinstance(text, str):
        raise SampleError(f"texts[{row}] is {text!r}, of type {type(text).__name__}; allowed: str")
    return text.encode() if text.isascii() else " ".join(words_of(text)).encode()


def _replace(
    data: bytes, spans: Array, rows: list[int], texts: Mapping[int, str], escapes: bool
) -> tuple[bytes, Array]:
    """Put the words of some texts behind the buffer; give what there is of both, and all spans."""
    full = spans[..., 0] < spans[..., 1]
    first = int(spans[..., 0].min(initial=len(data), where=full))
    pieces = [data[first : int(spans[..., 1].max(initial=first, where=full))]]
    spans, at = np.where(full[..., None], spans - first, 0), len(pieces[0])
    for row in rows:
        text = texts.get(row)
        if text is None:
            parts = [pieces[0][begin:end] for begin, end in spans[row].tolist()]
            text = " ".join(json.loads(b'"%b"' % p) if escapes else p.decode() for p in parts)
        piece = _bytes_of(text, row)
        spans[row], spans[row, 0] = 0, (at, at + len(piece))
        pieces.append(piece)
        at += len(piece)
    return b"".join(pieces), spans
