"""The fast path over regular records: compiled, and silent about what it does not like.

A record that matches a `Template` exactly, with values beyond doubt, is taken here; every other
one is only marked, and read by the codec's careful `parse`. The fast path may therefore refuse
what it likes, but takes nothing the careful one would not.
"""

import numpy as np

from anabranch.protocol import Array
from connectors.kernel import inlined, kernel
from connectors.lists import read_json_list, read_packed_list, scatter
from connectors.numbers import read_number
from connectors.packed import packed_number, packed_scalar, packed_text, packed_whole
from connectors.template import (
    CSV,
    FEATURE,
    ID,
    ID_NUMBER,
    INDICES,
    JSON,
    LABEL,
    NODE,
    PACKED,
    TEXT,
    VALUES,
    Form,
)  # fmt: skip
from connectors.tokens import blank, plain_text, skip_spaces, trim, whole_number

__all__ = ["scan", "scan_messages"]


@kernel
def _line_end(data: Array, at: int, end: int, last: bool) -> bool:
    """Tell whether a record that is read up to `at` ends there."""
    if at < end and data[at] == 13:
        at += 1
    return bool(at < end and data[at] == 10) or (at == end and last)


@inlined
def _match(data: Array, at: int, end: int, text: Array, begin: int, stop: int) -> int:
    """Give the position after a fixed text, -1 when it is not there."""
    if at + stop - begin > end:
        return -1
    for i in range(begin, stop):
        if data[at] != text[i]:
            return -1
        at += 1
    return at


@inlined
def _read_text(
    data: Array, at: int, end: int, kind: int, grammar: int
) -> tuple[int, int, int, float]:
    """Read a value of CSV or JSON: where it begins and ends, where it is over, and a number.

    It is over at -1 when it is odd.
    """
    if grammar == CSV:
        at = skip_spaces(data, at, end)
    begin, value = at, 0.0
    if kind in (NODE, TEXT, ID):
        at = plain_text(data, at, end, grammar == JSON, kind == TEXT)
    elif kind == ID_NUMBER:
        at = whole_number(data, at, end)
    else:
        at, value = read_number(data, at, end, grammar == JSON)
    if grammar == CSV and at >= 0:
        return begin, trim(data, begin, at), skip_spaces(data, at, end), value
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
    elif kind in (NODE, ID):
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


@inlined
def _read_value(
    data: Array, at: int, end: int, kind: int, grammar: int, pairs: Array
) -> tuple[int, int, int, float]:
    """Read any value, as `_read_text` does."""
    if kind in (INDICES, VALUES):
        stop = _read_list(data, at, end, kind, grammar, pairs)
        return at, stop, stop, 0.0
    if grammar == PACKED:
        return _read_packed(data, at, end, kind)
    return _read_text(data, at, end, kind, grammar)


@kernel
def _read_record(
    data: Array, at: int, end: int, form: Form, ranks: int,
    x: Array, y: Array, name: Array, pairs: Array,
) -> int:  # fmt: skip
    """Read one record into x, y[0], name[:2] (node), name[2:] (id), pairs (sparse features).

    Gives its end, -1 when it is odd.
    """
    text, bounds, kinds, slots, grammar = form
    for i in range(len(kinds)):
        at, kind = _match(data, at, end, text, bounds[i], bounds[i + 1]), kinds[i]
        if at < 0:
            return -1
        begin, stop, at, value = _read_value(data, at, end, kind, grammar, pairs)
        if at < 0:
            return -1
        if kind == FEATURE:
            x[slots[i]] = value
        elif kind == LABEL:
            if ranks > 0 and not (1.0 <= value <= ranks and value == np.floor(value)):
                return -1
            y[0] = value
        elif kind == NODE:
            name[0], name[1] = begin, stop
        elif kind in (ID, ID_NUMBER):
            name[2], name[3] = begin, stop
    return _match(data, at, end, text, bounds[-2], bounds[-1])


@kernel
def scan(
    data: Array, at: int, last: bool, form: Form, limits: tuple[int, int, int],
    X: Array, y: Array, names: Array, lines: Array, odd: Array,
) -> tuple[int, int]:  # fmt: skip
    """Read records from `at` on until the arrays are full or no whole line is left.

    Blank lines (spaces and tabs only) are passed over: they are no records.

    Parameters
    ----------
    data : (bytes,) uint8
    last : the text ends with this buffer, so a last line needs no newline
    form : of a template; no values: every line is odd
    limits : ranks (0: any label), the longest record in bytes, the most records to read
    X, y, names, lines, odd : outputs (n, d), (n,), (n, 2), (n, 2), (n,); n at least the most
        records; lines without their line end; a row of X of an odd line means nothing

    Returns
    -------
    The number of records, and the position after the last one.
    """
    ranks, longest, most = limits
    count, end, fast, none = 0, len(data), len(form[2]) > 0, np.empty((2, 0))
    while count < most and at < end:
        stop = -1
        if fast:
            stop = _read_record(
                data, at, end, form, ranks, X[count], y[count : count + 1], names[count], none
            )
        good = stop >= 0 and stop - at <= longest and _line_end(data, stop, end, last)
        stop = stop if good else at
        while stop < end and data[stop] != 10:
            stop += 1
        if stop == end and not last:
            break
        tail = stop - 1 if stop > at and data[stop - 1] == 13 else stop  # a CRLF
        if tail - at > longest or skip_spaces(data, at, tail) < tail:
            lines[count, 0], lines[count, 1], odd[count] = at, tail, not good
            count += 1
        at = min(stop + 1, end)
    return count, at


@kernel
def scan_messages(
    data: Array, bounds: Array, rows: Array, form: Form, limits: tuple[int, int],
    X: Array, y: Array, names: Array, odd: Array,
) -> None:  # fmt: skip
    """Read some of the messages that lie one after the other, each one record.

    Parameters
    ----------
    data : (bytes,) uint8
    bounds : (messages + 1,) int64; where each message begins and the last one ends
    rows : the messages to read
    form : of a template
    limits : ranks (0: any label), the longest record in bytes
    X, y, names, odd : outputs (messages, d), (messages,), (messages, 4), (messages,), written
        at `rows`; of a node and an id names holds begin and end, of an id that is a number of
        MessagePack the number and -1; what is written of an odd message means nothing
    """
    ranks, longest = limits
    spaces, sparse = form[4] != PACKED, VALUES in form[2]
    pairs = np.empty((2, X.shape[1] + 1 if sparse else 0))
    for row in rows:
        at, end = bounds[row], bounds[row + 1]
        if end - at <= longest:
            while spaces and at < end and blank(data[at]):
                at += 1
            one = y[row : row + 1]
            at = _read_record(data, at, end, form, ranks, X[row], one, names[row], pairs)
            while spaces and 0 <= at < end and blank(data[at]):
                at += 1
            if sparse and at == end and not scatter(pairs, X[row]):
                at = -1
        odd[row] = at != end
