"""MessagePack in compiled code: where values end, and plain ones read."""

import numpy as np

from anabranch.protocol import Array
from connectors.kernel import kernel
from connectors.tokens import letter_end

__all__ = ["packed_end", "packed_number", "packed_scalar", "packed_text", "packed_whole"]


def _extent(code: int) -> tuple[int, int, int, int]:
    """Describe a first byte: bytes of its length field, further bytes, items, items by length.

    Length counts bytes where the last is 0; further bytes are -1 for what is no first byte.
    """
    if code < 0x80 or code >= 0xE0:
        return 0, 0, 0, 0
    if code < 0xA0:
        return 0, 0, (code & 15) * (2 if code < 0x90 else 1), 0
    if code < 0xC0:
        return 0, code & 31, 0, 0
    fixed = {0xC0: 0, 0xC1: -1, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8}
    fixed |= {0xCC + i: 1 << i % 4 for i in range(8)}  # integers
    fixed |= {0xD4 + i: 1 + (1 << i) for i in range(5)}  # extensions: a type and some bytes
    if code in fixed:
        return 0, fixed[code], 0, 0
    sizes = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xC7: 1, 0xC8: 2, 0xC9: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
    sizes |= {0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}
    extra = 1 if 0xC7 <= code <= 0xC9 else 0
    return sizes[code], extra, 0, 0 if code < 0xDC else 1 + (code >= 0xDE)


_EXTENTS = np.array([_extent(code) for code in range(256)], dtype=np.int64)


@kernel
def packed_end(data: Array, at: int, end: int) -> int:
    """Give the end of the one MessagePack value that begins at a byte, -1 when it is cut short.

    Checks the structure only, in one pass and without a stack, so that nothing is allocated for
    lengths that a hostile message merely claims.

    >>> packed_end(np.frombuffer(bytes([0x92, 1, 0xa1, 65, 7]), np.uint8), 0, 5)
    4
    >>> packed_end(np.frombuffer(bytes([0xdd, 255, 255, 255, 255]), np.uint8), 0, 5)
    -1
    """
    left = 1
    while left > 0:
        if left > end - at:  # every item takes a byte
            return -1
        size, further, items, by_length = _EXTENTS[data[at]]
        at, left = at + 1, left - 1 + items
        length = 0
        if further < 0 or size > end - at:
            return -1
        for i in range(at, at + size):
            length = length * 256 + int(np.int64(data[i]))
        at += size + further
        if by_length > 0:
            left += length * by_length
        else:
            at += length
        if at > end:
            return -1
    return at


@kernel
def _word(data: Array, at: int, size: int) -> np.uint64:
    word = np.uint64(0)
    for i in range(at, at + size):
        word = (word << np.uint64(8)) | np.uint64(data[i])
    return word


@kernel
def packed_whole(data: Array, at: int, end: int) -> tuple[int, int]:
    """Read an integer between -2**53 and 2**53; its end is -1 when it is none."""
    if at >= end:
        return -1, 0
    code = int(np.int64(data[at]))
    if code < 0x80 or code >= 0xE0:
        return at + 1, code if code < 0x80 else code - 256
    if code < 0xCC or code > 0xD3:
        return -1, 0
    size = 1 << (code & 3)
    if at + 1 + size > end:
        return -1, 0
    word = _word(data, at + 1, size)
    value = 1 << 53
    if code >= 0xD0:
        shift = np.int64(64 - 8 * size)
        value = int((np.int64(word) << shift) >> shift)
    elif word < np.uint64(1 << 53):
        value = int(np.int64(word))
    return (at + 1 + size, value) if -(1 << 53) < value < (1 << 53) else (-1, 0)


@kernel
def packed_number(data: Array, at: int, end: int) -> tuple[int, float]:
    """Read a finite float or an integer; its end is -1 when it is none, or a large integer.

    >>> packed_number(np.array([0xCB, 63, 248, 0, 0, 0, 0, 0, 0], np.uint8), 0, 9)
    (9, 1.5)
    """
    if at + 9 <= end and data[at] == 0xCB:
        value = float(np.uint64(_word(data, at + 1, 8)).view(np.float64))
        return (at + 9, value) if value - value == 0.0 else (-1, 0.0)
    if at + 5 <= end and data[at] == 0xCA:
        value = float(np.uint32(_word(data, at + 1, 4)).view(np.float32))
        return (at + 5, value) if value - value == 0.0 else (-1, 0.0)
    at, whole = packed_whole(data, at, end)
    return at, float(whole)


@kernel
def packed_text(data: Array, at: int, end: int) -> tuple[int, int]:
    """Give the begin and the end of a text; the end is -1 when it is none."""
    if at >= end:
        return 0, -1
    code, size = int(np.int64(data[at])), 0
    if 0xA0 <= code < 0xC0:
        begin, length = at + 1, code & 31
    elif 0xD9 <= code <= 0xDB:
        size = 1 << (code - 0xD9)
        if at + 1 + size > end:
            return 0, -1
        begin, length = at + 1 + size, int(np.int64(_word(data, at + 1, size)))
    else:
        return 0, -1
    if length > end - begin:
        return 0, -1
    at = begin
    while 0 <= at < begin + length:
        at = letter_end(data, at, begin + length)
    return begin, at


@kernel
def packed_scalar(data: Array, at: int, end: int) -> int:
    """Give the end of a number, text, truth value or nil; -1 when it is something else."""
    if at >= end:
        return -1
    code = data[at]
    if code == 0xC0 or code == 0xC2 or code == 0xC3:
        return at + 1
    if code < 0x80 or code >= 0xE0 or 0xCA <= code <= 0xD3:
        return packed_end(data, at, end)
    return packed_text(data, at, end)[1]
