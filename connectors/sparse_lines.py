"""Sparse records of one line, `{index value, ...}`, in compiled code."""

import numpy as np

from anabranch.protocol import Array
from connectors.kernel import kernel
from connectors.lists import read_index
from connectors.numbers import read_number
from connectors.put import put
from connectors.template import Form
from connectors.tokens import skip_spaces

__all__ = ["read_sparse_line"]


@kernel
def _read_pair(
    data: Array, at: int, end: int, form: Form, ranks: int, seen: Array, x: Array, y: Array
) -> int:  # fmt: skip
    """Read `index value`; `seen` holds the indices so far, and its last place their mark."""
    kinds, slots = form[2], form[3]
    at, place = read_index(data, at, end)
    index = np.int64(place)
    if at < 0 or index >= len(kinds) or seen[index] == seen[-1]:
        return -1
    seen[index] = seen[-1]
    begin = skip_spaces(data, at, end)
    if begin == at:
        return -1
    at, value = read_number(data, begin, end, False)
    good = at >= 0 and put(kinds[index], slots[index], value, ranks, x, y)
    return at if good else -1


@kernel
def read_sparse_line(
    data: Array, at: int, end: int, form: Form, ranks: int, seen: Array, x: Array, y: Array
) -> int:  # fmt: skip
    """Read one record into x (d,) and y (q,): zeros, but for the columns that it names.

    Parameters
    ----------
    data : (bytes,) uint8; `{` is at `at`
    form : of a template, whose values, all of them numbers, the indices count
    ranks : see `put`; above 0 the label must be there, since no rank is 0
    seen : (values + 1,) scratch, -1 before the first record of `data`

    Returns
    -------
    The position after it and the spaces behind it, -1 when it is odd.
    """
    x[:], y[:] = 0.0, 0.0
    seen[-1] = at
    at = skip_spaces(data, at + 1, end)
    if at < end and data[at] == 125 and ranks == 0:
        return skip_spaces(data, at + 1, end)
    while at < end:
        at = _read_pair(data, at, end, form, ranks, seen, x, y)
        at = skip_spaces(data, at, end) if at >= 0 else end
        if at < end and data[at] == 125:
            return skip_spaces(data, at + 1, end) if ranks == 0 or y[0] > 0.0 else -1
        at = skip_spaces(data, at + 1, end) if at < end and data[at] == 44 else end
    return -1
