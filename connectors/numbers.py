"""Decimal text to float64 in compiled code, rounded exactly as Python's `float` does.

A number is `[+-] digits [. digits] [e [+-] digits]`, with digits on at least one side of the
point. Nothing else is one: no underscores, no hexadecimal, no "nan" and no "inf", although
`float` takes some of these. JSON's grammar is narrower still: no plus sign, no leading zeros,
digits on both sides of the point.

Up to 19 significant digits m and a power q of ten are turned into the nearest double by one
exact operation where m and 10^|q| are both doubles (Clinger 1990), else by the 128-bit product
of m with a truncated power of five (Lemire 2021, "Number parsing at a gigabyte per second").
The few inputs these cannot settle are reported as such, and Python's `float` reads them.
"""

import numpy as np

from anabranch.protocol import Array
from connectors.kernel import kernel

__all__ = ["UNSETTLED", "read_number"]

UNSETTLED = -1
"""Returned in place of a position: no number here, or one that `float` must read."""

_LOWEST, _HIGHEST = -300, 300
_EXACT = np.array([10.0**q for q in range(23)])
_U1, _U10, _U32 = np.uint64(1), np.uint64(10), np.uint64(32)
_LOW32 = np.uint64(0xFFFFFFFF)
_ALL64 = np.uint64(0xFFFFFFFFFFFFFFFF)
_TWO53 = np.uint64(1 << 53)


def _power_of_five(q: int) -> int:
    """Give the first 128 bits of 5^q; of its reciprocal rounded up when q is negative."""
    if q >= 0:
        power: int = 5**q
        shift = power.bit_length() - 128
        return power >> shift if shift >= 0 else power << -shift
    power = int(5**-q)
    bits = (power - 1).bit_length()
    if q >= -27:
        return (1 << (bits + 127)) // power + 1
    value = (1 << (2 * bits + 128)) // power + 1
    return value >> (value.bit_length() - 128)


def _table() -> Array:
    powers = [_power_of_five(q) for q in range(_LOWEST, _HIGHEST + 1)]
    halves = [(power >> 64, power & ((1 << 64) - 1)) for power in powers]
    return np.array(halves, dtype=np.uint64)


_FIVES = _table()


@kernel
def _high_low(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Multiply two 64-bit words: a b = 2^64 high + low."""
    a1, a0 = a >> _U32, a & _LOW32
    b1, b0 = b >> _U32, b & _LOW32
    low, mid1, mid2, high = a0 * b0, a1 * b0, a0 * b1, a1 * b1
    middle = (low >> _U32) + (mid1 & _LOW32) + (mid2 & _LOW32)
    high = high + (mid1 >> _U32) + (mid2 >> _U32) + (middle >> _U32)
    return high, (middle << _U32) | (low & _LOW32)


@kernel
def _leading_zeros(word: np.uint64) -> int:
    """Count the zero bits above the highest one of a word that is not zero."""
    count = 0
    for step in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(64 - step) == np.uint64(0):
            count += step
            word = word << np.uint64(step)
    return count


@kernel
def _product(word: np.uint64, q: int) -> tuple[np.uint64, np.uint64]:
    """Give the upper words of word 5^q, refined when its tail could carry."""
    high, low = _high_low(word, _FIVES[q - _LOWEST, 0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        more, _ = _high_low(word, _FIVES[q - _LOWEST, 1])
        low = low + more
        if more > low:
            high = high + _U1
    return high, low


@kernel
def _nearest(m: np.uint64, q: int) -> float:
    """Round m 10^q to the nearest double, ties to even; -1 where that cannot be settled."""
    if q < _LOWEST or q > _HIGHEST:
        return -1.0
    zeros = _leading_zeros(m)
    high, low = _product(m << np.uint64(zeros), q)
    if low == _ALL64 and (q < -27 or q > 55):
        return -1.0
    upper = np.int64(high >> np.uint64(63))
    shift = np.uint64(upper + 9)
    digits = high >> shift
    power = ((217706 * q) >> 16) + 63 + upper - zeros
    if power < -1000 or power > 1000:
        return -1.0
    exact_half = digits & np.uint64(3) == _U1 and digits << shift == high
    if low <= _U1 and -4 <= q <= 23 and exact_half:
        digits = digits - _U1
    digits = (digits + (digits & _U1)) >> _U1
    bits = (np.int64(power + 1023) << np.int64(52)) + np.int64(digits) - np.int64(1 << 52)
    return float(np.int64(bits).view(np.float64))


@kernel
def _decimal(m: np.uint64, q: int) -> float:
    """Give m 10^q rounded once; -1 where that cannot be settled."""
    if m == np.uint64(0):
        return 0.0
    if m <= _TWO53:
        if 0 <= q <= 22:
            return float(np.float64(m) * _EXACT[q])
        if -22 <= q < 0:
            return float(np.float64(m) / _EXACT[-q])
    return _nearest(m, q)


@kernel
def _digits(data: Array, at: int, end: int, m: np.uint64, used: int) -> tuple[int, np.uint64, int]:
    """Read a run of digits: m becomes 10 m + digit, `used` counts the significant ones.

    Beyond 19 of them m overflows, and means nothing.
    """
    if used == 0:
        while at < end and data[at] == 48:
            at += 1
    first = at
    while at < end:
        digit = np.uint64(data[at]) - np.uint64(48)  # wraps to a large one where it is none
        if digit > np.uint64(9):
            break
        m = m * _U10 + digit
        at += 1
    return at, m, used + at - first


@kernel
def _exponent(data: Array, at: int, end: int) -> tuple[int, int]:
    """Read what follows an "e"; a position of -1 when it is no exponent below 1000."""
    sign = 1
    if at < end and (data[at] == 43 or data[at] == 45):
        sign = int(44 - np.int64(data[at]))
        at += 1
    start, value = at, 0
    while at < end:
        digit = np.int64(data[at]) - 48
        if digit < 0 or digit > 9:
            break
        if value < 1000:
            value = value * 10 + int(digit)
        at += 1
    return (at, sign * value) if at > start and value < 1000 else (-1, 0)


@kernel
def read_number(data: Array, at: int, end: int, json: bool) -> tuple[int, float]:
    """Read the number that starts at a byte.

    Parameters
    ----------
    data : (bytes,) uint8
    at, end : where it starts; where the text ends
    json : hold to JSON's grammar

    Returns
    -------
    The position after the number, or UNSETTLED; and its value.

    >>> read_number(np.frombuffer(b"-1.25e3,", np.uint8), 0, 8, False)
    (7, -1250.0)
    >>> read_number(np.frombuffer(b"nan", np.uint8), 0, 3, False)
    (-1, 0.0)
    """
    sign = 1.0
    if at < end and (data[at] == 45 or (data[at] == 43 and not json)):
        sign = 44.0 - np.float64(data[at])
        at += 1
    first = at
    at, m, used = _digits(data, at, end, np.uint64(0), 0)
    whole, fraction = at - first, 0
    if json and (whole == 0 or (whole > 1 and data[first] == 48)):
        return UNSETTLED, 0.0
    if at < end and data[at] == 46:
        first = at + 1
        at, m, used = _digits(data, first, end, m, used)
        fraction = at - first
        if json and fraction == 0:
            return UNSETTLED, 0.0
    power = 0
    if whole + fraction > 0 and at < end and (data[at] == 101 or data[at] == 69):
        at, power = _exponent(data, at + 1, end)
    if whole + fraction == 0 or used > 19 or at < 0:
        return UNSETTLED, 0.0
    value = _decimal(m, power - fraction)
    return (at, sign * value) if value >= 0.0 else (UNSETTLED, 0.0)
