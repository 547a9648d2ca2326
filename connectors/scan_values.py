"""One value of a record, in compiled code."""

import numpy as np

from anabranch.protocol import Array
from connectors.kernel import inlined, kernel
from connectors.lists import json_texts_end, packed_texts_end, read_json_list, read_packed_list
from connectors.numbers import read_number
from connectors.packed import packed_number, packed_scalar, packed_text, packed_whole
from connectors.template import (
    FEATURE,
    ID,
    ID_NUMBER,
    INDICES,
    JSON,
    LABEL,
    NAMES,
    NODE,
    PACKED,
    TEXT,
    VALUES,
    WORDS,
)  # fmt: skip
from connectors.tokens import plain_text, quoted_text, skip_padding, trim, whole_number

__all__ = ["match", "read_value"]

_TRUE, _FALSE = np.frombuffer(b"true", np.uint8), np.frombuffer(b"false", np.uint8)
_C3, _C2 = np.array([0xC3], np.uint8), np.array([0xC2], np.uint8)
"""The truth values of JSON and of MessagePack."""


@inlined
def match(data: Array, at: int, end: int, text: Array, begin: int, stop: int) -> int:
    """Give the position after a fixed text, -1 when it is not there."""
    if at + stop - begin > end:
        return -1
    for i in range(begin, stop):
        if data[at] != text[i]:
            return -1
        at += 1
    return at


@kernel
def _truth(data: Array, at: int, end: int, grammar: int) -> tuple[int, float]:
    """Read a truth value of JSON or MessagePack as 1 or 0; its end is -1 when it is none."""
    true, false = (_C3, _C2) if grammar == PACKED else (_TRUE, _FALSE)
    stop = match(data, at, end, true, 0, len(true))
    if stop >= 0:
        return stop, 1.0
    return match(data, at, end, false, 0, len(false)), 0.0


@inlined
def _read_text(
    data: Array, at: int, end: int, kind: int, grammar: int, separator: int
) -> tuple[int, int, int, float]:
    """Read a value of CSV or JSON: where it begins and ends, where it is over, and a number.

    It is over at -1 when it is odd. Of a quoted text the quotes are left out.
    """
    quotes = grammar != JSON and separator != 9
    if quotes and kind in (TEXT, WORDS) and at < end and data[at] == 34:
        stop = quoted_text(data, at + 1, end)
        return at + 1, stop, stop + 1 if stop >= 0 else -1, 0.0
    if grammar != JSON:
        at = skip_padding(data, at, end, separator)
    begin, value = at, 0.0
    if kind in (NODE, TEXT, ID, NAMES, WORDS):
        escapes = kind in (TEXT, WORDS)
        at = plain_text(data, at, end, grammar == JSON, escapes, separator)
    elif kind == ID_NUMBER:
        at = whole_number(data, at, end)
    else:
        at, value = read_number(data, at, end, grammar == JSON)
    if grammar != JSON and at >= 0:
        return begin, trim(data, begin, at), skip_padding(data, at, end, separator), value
    return begin, at, at, value


@inlined
def _read_packed(data: Array, at: int, end: int, kind: int) -> tuple[int, int, int, float]:
    """Read a value of MessagePack, as `_read_text` does; an id's number is its begin, ended -1."""
    begin, stop, value = at, at, 0.0
    if kind in (FEATURE, LABEL):
        at, value = packed_number(data, at, end)
    elif kind == ID_NUMBER:
        stop = -1
        at, begin = packed_whole(data, at, end)
    elif kind in (NODE, ID, WORDS):
        begin, at = packed_text(data, at, end)
        stop = at
    else:
        at = packed_scalar(data, at, end)
    return begin, stop, at, value


@kernel
def _read_list(data: Array, at: int, end: int, kind: int, grammar: int, pairs: Array) -> int:
    """Read the indices or the values of sparse features into a row of `pairs`, count last."""
    out, whole = pairs[kind - INDICES], kind == INDICES
    if grammar == PACKED:
        at, count = read_packed_list(data, at, end, whole, out[:-1])
    else:
        at, count = read_json_list(data, at, end, whole, out[:-1])
    out[-1] = count
    return at


@kernel
def _read_further(
    data: Array, at: int, end: int, kind: int, grammar: int, pairs: Array
) -> tuple[int, int, int, float]:
    """Read a list, or a label of a set, of JSON or MessagePack, as `_read_text` does."""
    value = 0.0
    if kind in (INDICES, VALUES):
        stop = _read_list(data, at, end, kind, grammar, pairs)
    elif kind == NAMES and grammar == PACKED:
        stop = packed_texts_end(data, at, end)
    elif kind == NAMES:
        stop = json_texts_end(data, at, end)
    else:
        stop, value = _truth(data, at, end, grammar)
        if stop < 0 and grammar == PACKED:
            stop, value = packed_number(data, at, end)
        elif stop < 0:
            stop, value = read_number(data, at, end, True)
    return at, stop, stop, value


@inlined
def read_value(
    data: Array, at: int, end: int, kind: int, grammar: int, separator: int, pairs: Array
) -> tuple[int, int, int, float]:
    """Read any value, as `_read_text` does.

    Indices and values of sparse features go to `pairs` (2, most + 1), with their number last.
    """
    if kind >= INDICES and kind != WORDS and grammar in (JSON, PACKED):
        return _read_further(data, at, end, kind, grammar, pairs)
    if grammar == PACKED:
        return _read_packed(data, at, end, kind)
    return _read_text(data, at, end, kind, grammar, separator)
