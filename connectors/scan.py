"""The fast path over regular records: compiled, and silent about what it does not like.

A record that matches a `Template` exactly, with values beyond doubt, is taken here; every other
one is only marked, and read by the codec's careful `parse`. The fast path may therefore refuse
what it likes, but takes nothing the careful one would not.
"""

import numpy as np

from anabranch.protocol import Array
from connectors.kernel import kernel
from connectors.pairs import Store, keep_pairs
from connectors.put import put
from connectors.scan_values import match, read_value
from connectors.sparse_lines import read_sparse_line
from connectors.svmlight_lines import read_svmlight_line
from connectors.template import (
    ARFF,
    FEATURE,
    ID,
    ID_NUMBER,
    JSON,
    NAMES,
    NODE,
    PACKED,
    SVMLIGHT,
    VALUES,
    WORDS,
    Form,
)  # fmt: skip
from connectors.tokens import blank, skip_spaces

__all__ = ["FEATURES_AT", "SETS_AT", "scan", "scan_messages"]

SETS_AT, FEATURES_AT = 4, 6
"""Columns of `names` from which on it tells where a record's list of labels is, and what its
features are made of: each of its texts, or its pairs in the store. A node is at 0, an id at 2."""


@kernel
def _line_end(data: Array, at: int, end: int, last: bool) -> bool:
    """Tell whether a record that is read up to `at` ends there."""
    if at < end and data[at] == 13:
        at += 1
    return bool(at < end and data[at] == 10) or (at == end and last)


@kernel
def _read_record(
    data: Array, at: int, end: int, form: Form, ranks: int,
    x: Array, y: Array, name: Array, pairs: Array,
) -> int:  # fmt: skip
    """Read one record into x, y, pairs or the store, and where texts lie into name.

    Gives its end, -1 when it is odd.
    """
    text, bounds, kinds, slots, grammar, separator = form
    if grammar == ARFF and at < end and data[at] == 123:
        return read_sparse_line(data, at, end, form, ranks, pairs[0], x, y)
    for i in range(len(kinds)):
        at, kind = match(data, at, end, text, bounds[i], bounds[i + 1]), kinds[i]
        if at < 0:
            return -1
        begin, stop, at, value = read_value(data, at, end, kind, grammar, separator, pairs)
        if at < 0:
            return -1
        if kind == FEATURE:
            x[slots[i]] = value
        elif kind == NODE:
            name[0], name[1] = begin, stop
        elif kind in (ID, ID_NUMBER):
            name[2], name[3] = begin, stop
        elif kind == NAMES:
            name[SETS_AT], name[SETS_AT + 1] = begin, stop
        elif kind == WORDS:
            column = FEATURES_AT + 2 * slots[i]
            name[column], name[column + 1] = begin, stop
        elif not put(kind, slots[i], value, ranks, x, y):
            return -1
    return match(data, at, end, text, bounds[-2], bounds[-1])


@kernel
def scan(
    data: Array, at: int, last: bool, form: Form, limits: tuple[int, int, int, int, int],
    X: Array, y: Array, names: Array, lines: Array, odd: Array, store: Store,
) -> tuple[int, int]:  # fmt: skip
    """Read records from `at` on until the arrays are full or no whole line is left.

    Blank lines (spaces and tabs only) and comments are passed over: they are no records.

    Parameters
    ----------
    data : (bytes,) uint8
    last : the text ends with this buffer, so a last line needs no newline
    form : of a template; no values: every line is odd
    limits : ranks (0: any label), the longest record in bytes, the most records to read, the
        byte that begins a comment (-1: none), the columns of sparse features
    X, y, names, lines, odd : outputs (n, d), (n, q), (n, 2 or, for names of labels, 6, and for
        each text or the pairs of sparse features 2 more), (n, 2), (n,); n at least the most
        records; lines without their line end; a row of X of an odd line means nothing
    store : sparse features

    Returns
    -------
    The number of records, and the position after the last one.
    """
    ranks, longest, most, mark, width = limits
    count, end, fast = 0, len(data), len(form[2]) > 0
    lists = form[4] == JSON and VALUES in form[2]
    scratch = np.full((2, len(form[2]) + 1 if form[4] == ARFF else 0), -1.0)
    if lists:
        scratch = np.empty((2, min(width, longest // 2, (end - at) // 2) + 1))
    while count < most and at < end:
        stop = -1
        if fast and form[4] == SVMLIGHT:
            to = names[count, FEATURES_AT:]
            stop = read_svmlight_line(data, at, end, form, ranks, store, y[count], to)
        elif fast:
            row = X[count], y[count], names[count], scratch
            stop = _read_record(data, at, end, form, ranks, *row)
        good = stop >= 0 and stop - at <= longest and _line_end(data, stop, end, last)
        if good and lists:
            good = keep_pairs(scratch, width, store, names[count, FEATURES_AT:])
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
    data: Array, bounds: Array, rows: Array, form: Form, limits: tuple[int, int, int],
    X: Array, y: Array, names: Array, odd: Array, store: Store,
) -> None:  # fmt: skip
    """Read some of the messages that lie one after the other, each one record.

    Parameters
    ----------
    data : (bytes,) uint8
    bounds : (messages + 1,) int64; where each message begins and the last one ends
    rows : the messages to read
    form : of a template
    limits : ranks (0: any label), the longest record in bytes, the columns of sparse features
    X, y, names, odd : outputs (messages, d), (messages, q), (messages, 6 and 2 more for each
        text or the pairs), (messages,), written at `rows`; of a node, an id, names of labels and
        texts names holds begin and end, of an id that is a number of MessagePack the number and
        -1; what is written of an odd message means nothing
    store : sparse features
    """
    ranks, longest, width = limits
    spaces, sparse = form[4] != PACKED, VALUES in form[2]
    most = min(width, np.diff(bounds).max() // 2) if sparse else -1
    pairs = np.empty((2, most + 1))
    for row in rows:
        at, end = bounds[row], bounds[row + 1]
        if end - at <= longest:
            while spaces and at < end and blank(data[at]):
                at += 1
            into = X[row], y[row], names[row], pairs
            at = _read_record(data, at, end, form, ranks, *into)
            while spaces and 0 <= at < end and blank(data[at]):
                at += 1
            if sparse and at == end:
                good = keep_pairs(pairs, width, store, names[row, FEATURES_AT:])
                at = at if good else -1
        odd[row] = at != end
