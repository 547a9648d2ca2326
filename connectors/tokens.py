"""Texts and spaces of CSV and JSON in compiled code."""

from anabranch.protocol import Array
from connectors.kernel import kernel

__all__ = [
    "blank", "letter_end", "plain_text", "quoted_text", "skip_padding", "skip_spaces", "trim",
    "whole_number",
]  # fmt: skip

_TAB = 9


@kernel
def skip_spaces(data: Array, at: int, end: int) -> int:
    """Give the position after spaces and tabs."""
    while at < end and (data[at] == 32 or data[at] == 9):
        at += 1
    return at


@kernel
def skip_padding(data: Array, at: int, end: int, separator: int) -> int:
    """Give the position after spaces, and tabs where these do not separate."""
    other = 32 if separator == _TAB else _TAB
    while at < end and (data[at] == 32 or data[at] == other):
        at += 1
    return at


@kernel
def letter_end(data: Array, at: int, end: int) -> int:
    """Give the end of the UTF-8 letter that begins at a byte; -1 when it is none.

    >>> import numpy as np
    >>> letter_end(np.frombuffer("é!".encode(), np.uint8), 0, 3)
    2
    """
    lead = data[at]
    if lead < 0x80:
        return at + 1
    if lead < 0xC2 or lead > 0xF4:
        return -1
    more = 1 + int(lead >= 0xE0) + int(lead >= 0xF0)
    if at + more >= end:
        return -1
    # the second byte: no overlong form, no surrogate, nothing above U+10FFFF
    low = 0xA0 if lead == 0xE0 else 0x90 if lead == 0xF0 else 0x80
    high = 0x9F if lead == 0xED else 0x8F if lead == 0xF4 else 0xBF
    if data[at + 1] < low or data[at + 1] > high:
        return -1
    for i in range(at + 2, at + more + 1):
        if data[i] & 0xC0 != 0x80:
            return -1
    return at + more + 1


@kernel
def _escape_end(data: Array, at: int, end: int) -> int:
    """Give the end of JSON's escape after a backslash; -1 when it is none."""
    if at >= end:
        return -1
    letter = data[at]
    if letter != 117:  # "u", else one of "\\/bfnrt
        found = letter in (34, 92, 47, 98, 102, 110, 114, 116)
        return at + 1 if found else -1
    if at + 5 > end:
        return -1
    for i in range(at + 1, at + 5):
        digit = data[i]
        if not (48 <= digit <= 57 or 65 <= digit <= 70 or 97 <= digit <= 102):
            return -1
    return at + 5


@kernel
def plain_text(
    data: Array, at: int, end: int, json: bool, escapes: bool, separator: int = 44
) -> int:
    """Give the end of a text value; -1 when it needs a careful reading."""
    while 0 <= at < end:
        byte = data[at]
        if byte == 34 and (json or separator != _TAB):
            return at if json else -1
        if not json and (byte == separator or byte == 10 or byte == 13):
            return at
        if (byte < 32 and (json or byte != _TAB)) or (json and byte == 92 and not escapes):
            return -1
        escape = json and byte == 92
        at = _escape_end(data, at + 1, end) if escape else letter_end(data, at, end)
    return -1 if json else at


@kernel
def quoted_text(data: Array, at: int, end: int) -> int:
    """Give where the quote is that ends a text of CSV; -1 when it needs a careful reading.

    Two quotes that stand for one stay in it.
    """
    while 0 <= at < end:
        byte = data[at]
        if byte == 34:
            if at + 1 == end or data[at + 1] != 34:
                return at
            at += 1
        if byte < 32 and byte != _TAB:
            return -1
        at = letter_end(data, at, end)
    return -1


@kernel
def whole_number(data: Array, at: int, end: int) -> int:
    """Give the end of a number that is its own canonical text; -1 when it is another."""
    begin = at
    while at < end and 48 <= data[at] <= 57:
        at += 1
    if at == begin or at - begin > 15 or (data[begin] == 48 and at - begin > 1):
        return -1
    return -1 if at < end and data[at] in (46, 69, 101) else at


@kernel
def trim(data: Array, begin: int, end: int) -> int:
    """Give the end of a text without the spaces after it."""
    while end > begin and (data[end - 1] == 32 or data[end - 1] == 9):
        end -= 1
    return end


@kernel
def blank(byte: int) -> bool:
    """Tell whether a byte is white space to JSON."""
    return byte == 32 or byte == 9 or byte == 10 or byte == 13
