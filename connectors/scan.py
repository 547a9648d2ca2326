"""The fast path over regular records: compiled, and silent about what it does not like.

A record that matches a `Template` exactly, with values beyond doubt, is taken here; every other
one is only marked, and read by the codec's careful `parse`. The fast path may therefore refuse
what it likes, but takes nothing the careful one would not.
"""

import numpy as np

from anabranch.protocol import Array
from connectors.kernel import inlined, kernel
from connectors.lists import (
    json_texts_end,
    packed_texts_end,
    read_json_list,
    read_packed_list,
    scatter,
)
from connectors.numbers import read_number
from connectors.packed import packed_number, packed_scalar, packed_text, packed_whole
from connectors.put import put
from connectors.sparse_lines import read_sparse_line
from connectors.template import (
    ARFF,
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
    Form,
)
from connectors.tokens import blank, plain_text, skip_spaces, trim, whole_number

__all__ = ["scan", "scan_messages"]


_TRUE, _FALSE = np.frombuffer(b"true", np.uint8), np.frombuffer(b"false", np.uint8)
_C3, _C2 = np.array([0xC3], np.uint8), np.array([0xC2], np.uint8)
"""The truth values of JSON and of MessagePack."""


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


@kernel
def _truth(data: Array, at: int, end: int, grammar: int) -> tuple[int, float]:
    """Read a truth value of JSON or MessagePack as 1 or 0; its end is -1 when it is none."""
    true, false = (_C3, _C2) if grammar == PACKED else (_TRUE, _FALSE)
    stop = _match(data, at, end, true, 0, len(true))
    if stop >= 0:
        return stop, 1.0
    return _match(data, at, end, false, 0, len(false)), 0.0


@inlined
def _read_text(
    data: Array, at: int, end: int, kind: int, grammar: int
) -> tuple[int, int, int, float]:
    """Read a value of CSV or JSON: where it begins and ends, where it is over, and a number.

    It is over at -1 when it is odd.
    """
    if grammar != JSON:
        at = skip_spaces(data, at, end)
    begin, value = at, 0.0
    if kind in (NODE, TEXT, ID, NAMES):
        at = plain_text(data, at, end, grammar == JSON, kind == TEXT)
    elif kind == ID_NUMBER:
        at = whole_number(data, at, end)
    else:
        at, value = read_number(data, at, end, grammar == JSON)
    if grammar != JSON and at >= 0:
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
def _read_value(
    data: Array, at: int, end: int, kind: int, grammar: int, pairs: Array
) -> tuple[int, int, int, float]:
    """Read any value, as `_read_text` does."""
    if kind >= INDICES and grammar in (JSON, PACKED):
        return _read_further(data, at, end, kind, grammar, pairs)
    if grammar == PACKED:
        return _read_packed(data, at, end, kind)
    return _read_text(data, at, end, kind, grammar)


@kernel
def _read_record(
    data: Array, at: int, end: int, form: Form, ranks: int,
    x: Array, y: Array, name: Array, pairs: Array,
) -> int:  # fmt: skip
    """Read one record into x, y, pairs (sparse features), and where texts lie into name.

    These are name[:2] (node), name[2:4] (id), name[4:] (names of labels). Gives its end, -1 when
    it is odd.
    """
    text, bounds, kinds, slots, grammar = form
    if grammar == ARFF and at < end and data[at] == 123:
        return read_sparse_line(data, at, end, form, ranks, pairs[0], x, y)
    for i in range(len(kinds)):
        at, kind = _match(data, at, end, text, bounds[i], bounds[i + 1]), kinds[i]
        if at < 0:
            return -1
        begin, stop, at, value = _read_value(data, at, end, kind, grammar, pairs)
        if at < 0:
            return -1
        if kind == FEATURE:
            x[slots[i]] = value
        elif kind == NODE:
            name[0], name[1] = begin, stop
        elif kind in (ID, ID_NUMBER):
            name[2], name[3] = begin, stop
        elif kind == NAMES:
            name[4], name[5] = begin, stop
        elif not put(kind, slots[i], value, ranks, x, y):
            return -1
    return _match(data, at, end, text, bounds[-2], bounds[-1])


@kernel
def scan(
    data: Array, at: int, last: bool, form: Form, limits: tuple[int, int, int, int],
    X: Array, y: Array, names: Array, lines: Array, odd: Array,
) -> tuple[int, int]:  # fmt: skip
    """Read records from `at` on until the arrays are full or no whole line is left.

    Blank lines (spaces and tabs only) and comments are passed over: they are no records.

    Parameters
    ----------
    data : (bytes,) uint8
    last : the text ends with this buffer, so a last line needs no newline
    form : of a template; no values: every line is odd
    limits : ranks (0: any label), the longest record in bytes, the most records to read, the
        byte that begins a comment (-1: none)
    X, y, names, lines, odd : outputs (n, d), (n, q), (n, 2 or, for names of labels, 6), (n, 2),
        (n,); n at least the most records; lines without their line end; a row of X of an odd
        line means nothing

    Returns
    -------
    The number of records, and the position after the last one.
    """
    ranks, longest, most, mark = limits
    count, end, fast = 0, len(data), len(form[2]) > 0
    seen = np.full((2, len(form[2]) + 1 if form[4] == ARFF else 0), -1.0)
    while count < most and at < end:
        stop = -1
        if fast:
            stop = _read_record(data, at, end, form, ranks, X[count], y[count], names[count], seen)
        good = stop >= 0 and stop - at <= longest and _line_end(data, stop, end, last)
        stop = stop if good else at
        while stop < end and data[stop] != 10:
            stop += 1
        if stop == end and not last:
            break
        tail = stop - 1 if stop > at and data[stop - 1] == 13 else stop  # a CRLF
        first = skip_spaces(data, at, tail)
        comment = first < tail and data[first] == mark
        if not comment and (tail - at > longest or first < tail):
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
    X, y, names, odd : outputs (messages, d), (messages, q), (messages, 6), (messages,), written
        at `rows`; of a node, an id and names of labels names holds begin and end, of an id that
        is a number of MessagePack the number and -1; what is written of an odd message means
        nothing
    """
    ranks, longest = limits
    spaces, sparse = form[4] != PACKED, VALUES in form[2]
    pairs = np.empty((2, X.shape[1] + 1 if sparse else 0))
    for row in rows:
        at, end = bounds[row], bounds[row + 1]
        if end - at <= longest:
            while spaces and at < end and blank(data[at]):
                at += 1
            at = _read_record(data, at, end, form, ranks, X[row], y[row], names[row], pairs)
            while spaces and 0 <= at < end and blank(data[at]):
                at += 1
            if sparse and at == end and not scatter(pairs, X[row]):
                at = -1
        odd[row] = at != end
