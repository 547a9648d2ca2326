"""Arrays in compiled code: indices and values of sparse features, names of labels."""

import numpy as np

from anabranch.protocol import Array
from connectors.kernel import kernel
from connectors.numbers import read_number
from connectors.packed import packed_number, packed_text, packed_whole
from connectors.tokens import blank, plain_text, skip_spaces, whole_number

__all__ = [
    "json_texts_end", "packed_texts_end", "read_index", "read_json_list", "read_packed_list",
]  # fmt: skip


@kernel
def _skip_blanks(data: Array, at: int, end: int) -> int:
    while at < end and blank(data[at]):
        at += 1
    return at


@kernel
def read_index(data: Array, at: int, end: int) -> tuple[int, float]:
    """Read a whole number without sign: the position after it, -1 when it is odd, and the value."""
    begin, value = at, 0
    at = whole_number(data, begin, end)
    for i in range(begin, at):
        value = value * 10 + int(np.int64(data[i])) - 48
    return at, float(value)


@kernel
def read_json_list(data: Array, at: int, end: int, whole: bool, out: Array) -> tuple[int, int]:
    """Read an array of JSON numbers; whole ones have no sign, point or exponent.

    Returns
    -------
    The position after it, -1 when it is odd or longer than `out`; and how many there are.

    >>> out = np.zeros(3)
    >>> read_json_list(np.frombuffer(b"[1, 20]", np.uint8), 0, 7, True, out), out.tolist()
    ((7, 2), [1.0, 20.0, 0.0])
    """
    if at >= end or data[at] != 91:
        return -1, 0
    at, count = _skip_blanks(data, at + 1, end), 0
    if at < end and data[at] == 93:
        return at + 1, 0
    while at < end and count < len(out):
        at, value = read_index(data, at, end) if whole else read_number(data, at, end, True)
        if at < 0:
            break
        out[count] = value
        count += 1
        at = _skip_blanks(data, at, end)
        if at < end and data[at] == 93:
            return at + 1, count
        if at == end or data[at] != 44:
            break
        at = _skip_blanks(data, at + 1, end)
    return -1, 0


@kernel
def _list_head(data: Array, at: int, end: int) -> tuple[int, int]:
    """Read the head of a MessagePack array: the position after it (-1: none), and the length."""
    if at >= end:
        return -1, 0
    code = int(np.int64(data[at]))
    if 0x90 <= code < 0xA0:
        return at + 1, code & 15
    size, count = 2 * (code - 0xDB), 0
    if (code != 0xDC and code != 0xDD) or at + 1 + size > end:
        return -1, 0
    for i in range(at + 1, at + 1 + size):
        count = count * 256 + int(np.int64(data[i]))
    return at + 1 + size, count


@kernel
def read_packed_list(data: Array, at: int, end: int, whole: bool, out: Array) -> tuple[int, int]:
    """Read an array of MessagePack numbers, as `read_json_list` does."""
    at, count = _list_head(data, at, end)
    if at < 0 or count > len(out):
        return -1, 0
    for i in range(count):
        if whole:
            at, index = packed_whole(data, at, end)
            out[i] = index
        else:
            at, out[i] = packed_number(data, at, end)
        if at < 0:
            return -1, 0
    return at, count


@kernel
def json_texts_end(data: Array, at: int, end: int) -> int:
    """Give the end of an array of JSON texts in one line; -1 when it needs a careful reading.

    >>> json_texts_end(np.frombuffer(b'["calm", "a,b"]', np.uint8), 0, 15)
    15
    """
    if at >= end or data[at] != 91:
        return -1
    at = skip_spaces(data, at + 1, end)
    if at < end and data[at] == 93:
        return at + 1
    while at < end and data[at] == 34:
        at = plain_text(data, at + 1, end, True, True)
        if at < 0:
            return -1
        at = skip_spaces(data, at + 1, end)
        if at < end and data[at] == 93:
            return at + 1
        if at == end or data[at] != 44:
            return -1
        at = skip_spaces(data, at + 1, end)
    return -1


@kernel
def packed_texts_end(data: Array, at: int, end: int) -> int:
    """Give the end of an array of MessagePack texts; -1 when it is none."""
    at, count = _list_head(data, at, end)
    for _ in range(count):
        if at < 0:
            return -1
        at = packed_text(data, at, end)[1]
    return at
