"""The fast path over a buffer of records: compiled, and silent about what it does not like.

A record of a regular file is fixed text around changing values: `,` between the numbers of a
CSV line, `{"x1": ` and `, "x2": ` around those of a JSON object. A `Template` holds the fixed
texts and what each value is for. A line that matches it exactly, with values beyond doubt, is
taken here; every other line is only marked, and read by the codec's careful `parse`. The fast
path may therefore refuse what it likes, but takes nothing the careful one would not.
"""

from dataclasses import dataclass

import numpy as np

from anabranch.protocol import Array
from connectors.kernel import kernel
from connectors.numbers import read_number

__all__ = ["FEATURE", "LABEL", "NODE", "NUMBER", "TEXT", "Template", "scan"]

NUMBER, FEATURE, LABEL, NODE, TEXT = 0, 1, 2, 3, 4
"""What a value is for; NUMBER and TEXT are fields that nobody asked for."""


@dataclass(frozen=True, slots=True)
class Template:
    """The fixed texts of a record (before, between and after its values) and its values' uses.

    Attributes
    ----------
    text : (bytes,) uint8; the fixed texts, joined
    bounds : (values + 2,) int64; where each begins and the last one ends
    kinds : (values,) int64; what each value is for
    slots : (values,) int64; a feature's column of X
    json : numbers and texts follow JSON's grammar, else spaces around them are dropped
    """

    text: Array
    bounds: Array
    kinds: Array
    slots: Array
    json: bool

    @classmethod
    def of(cls, texts: list[bytes], kinds: list[int], slots: list[int], json: bool) -> "Template":
        """Build a template from one fixed text more than there are values.

        >>> Template.of([b"", b",", b""], [FEATURE, LABEL], [0, 0], False).bounds.tolist()
        [0, 0, 1, 1]
        """
        bounds = np.cumsum([0, *map(len, texts)]).astype(np.int64)
        text = np.frombuffer(b"".join(texts), dtype=np.uint8)
        whole = np.int64
        return cls(text, bounds, np.array(kinds, whole), np.array(slots, whole), json)


@kernel
def _skip_spaces(data: Array, at: int, end: int) -> int:
    while at < end and (data[at] == 32 or data[at] == 9):
        at += 1
    return at


@kernel
def _plain_text(data: Array, at: int, end: int, json: bool) -> int:
    """Give the end of a plain ASCII text value; -1 when it needs a careful reading."""
    while at < end:
        byte = data[at]
        if byte == 34:
            return at if json else -1
        if not json and (byte == 44 or byte == 10 or byte == 13):
            return at
        if byte < 32 or byte > 126 or (json and byte == 92):
            return -1
        at += 1
    return -1 if json else at


@kernel
def _trim(data: Array, begin: int, end: int) -> int:
    """Give the end of a text without the spaces after it."""
    while end > begin and (data[end - 1] == 32 or data[end - 1] == 9):
        end -= 1
    return end


@kernel
def _line_end(data: Array, at: int, end: int, last: bool) -> bool:
    """Tell whether a record that is read up to `at` ends there."""
    if at < end and data[at] == 13:
        at += 1
    return bool(at < end and data[at] == 10) or (at == end and last)


@kernel
def _match(data: Array, at: int, end: int, text: Array, begin: int, stop: int) -> int:
    """Give the position after a fixed text, -1 when it is not there."""
    if at + stop - begin > end:
        return -1
    for i in range(begin, stop):
        if data[at] != text[i]:
            return -1
        at += 1
    return at


@kernel
def _read_line(
    data: Array, at: int, end: int, form: tuple[Array, Array, Array, Array, bool],
    ranks: int, x: Array, y: Array, name: Array,
) -> int:  # fmt: skip
    """Read one record into x, y[0] and name[:2]; give its end, -1 when it is odd."""
    text, bounds, kinds, slots, json = form
    for i in range(len(kinds)):
        at = _match(data, at, end, text, bounds[i], bounds[i + 1])
        if at < 0:
            return -1
        at = at if json else _skip_spaces(data, at, end)
        kind, begin, value = kinds[i], at, 0.0
        if kind in (NODE, TEXT):
            at = _plain_text(data, at, end, json)
        else:
            at, value = read_number(data, at, end, json)
        if at < 0:
            return -1
        if kind == FEATURE:
            x[slots[i]] = value
        elif kind == LABEL:
            if ranks > 0 and not (1.0 <= value <= ranks and value == np.floor(value)):
                return -1
            y[0] = value
        elif kind == NODE:
            name[0], name[1] = begin, at if json else _trim(data, begin, at)
        at = at if json else _skip_spaces(data, at, end)
    return _match(data, at, end, text, bounds[-2], bounds[-1])


@kernel
def scan(
    data: Array, at: int, last: bool, form: tuple[Array, Array, Array, Array, bool],
    limits: tuple[int, int, int], X: Array, y: Array, names: Array, lines: Array, odd: Array,
) -> tuple[int, int]:  # fmt: skip
    """Read records from `at` on until the arrays are full or no whole line is left.

    Blank lines (spaces and tabs only) are passed over: they are no records.

    Parameters
    ----------
    data : (bytes,) uint8
    last : the text ends with this buffer, so a last line needs no newline
    form : a template's text, bounds, kinds, slots, json; no values: every line is odd
    limits : ranks (0: any label), the longest record in bytes, the most records to read
    X, y, names, lines, odd : outputs (n, d), (n,), (n, 2), (n, 2), (n,); n at least the most
        records; lines without their line end; a row of X of an odd line means nothing

    Returns
    -------
    The number of records, and the position after the last one.
    """
    ranks, longest, most = limits
    count, end, fast = 0, len(data), len(form[2]) > 0
    while count < most and at < end:
        stop = -1
        if fast:
            stop = _read_line(
                data, at, end, form, ranks, X[count], y[count : count + 1], names[count]
            )
        good = stop >= 0 and stop - at <= longest and _line_end(data, stop, end, last)
        stop = stop if good else at
        while stop < end and data[stop] != 10:
            stop += 1
        if stop == end and not last:
            break
        tail = stop - 1 if stop > at and data[stop - 1] == 13 else stop  # a CRLF
        if tail - at > longest or _skip_spaces(data, at, tail) < tail:
            lines[count, 0], lines[count, 1], odd[count] = at, tail, not good
            count += 1
        at = min(stop + 1, end)
    return count, at
