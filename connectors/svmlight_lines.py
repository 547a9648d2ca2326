"""Records of svmlight's format, `label index:value ... # comment`, in compiled code."""

from anabranch.protocol import Array
from connectors.kernel import kernel
from connectors.lists import read_index
from connectors.numbers import read_number
from connectors.pairs import Store
from connectors.put import put
from connectors.template import LABEL, Form
from connectors.tokens import skip_spaces, whole_number

__all__ = ["read_svmlight_line"]


@kernel
def _query_end(data: Array, at: int, end: int) -> int:
    """Give the position after ` qid:7`, or `at` where there is none; -1 when it is odd."""
    begin = skip_spaces(data, at, end)
    if begin in (at, end) or data[begin] != 113:
        return at
    if end - begin < 5 or data[begin + 1] != 105 or data[begin + 2] != 100:
        return -1
    return whole_number(data, begin + 4, end) if data[begin + 3] == 58 else -1


@kernel
def _read_pair(data: Array, at: int, end: int, above: int, below: int) -> tuple[int, float, float]:
    """Read `index:value`; gives the position after it, -1 when it is odd, and the two."""
    at, index = read_index(data, at, end)
    if at < 0 or at == end or data[at] != 58 or index <= above or index >= below:
        return -1, 0.0, 0.0
    at, value = read_number(data, at + 1, end, False)
    return at, index, value


@kernel
def read_svmlight_line(
    data: Array, at: int, end: int, form: Form, ranks: int, store: Store, y: Array, span: Array
) -> int:
    """Read one record, whose indices increase, into y (1,) and the store.

    Parameters
    ----------
    data : (bytes,) uint8
    form : of a template; the slots are the label's, the first index, and the number of columns
    ranks : see `put`
    store, span : see `keep_pairs`

    Returns
    -------
    The position after it, its spaces and its comment; -1 when it is odd.
    """
    first, width = form[3][1], form[3][2]
    indices, values, used = store
    at, label = read_number(data, skip_spaces(data, at, end), end, False)
    if at < 0 or not put(LABEL, 0, label, ranks, y, y):
        return -1
    at, place, last = _query_end(data, at, end), used[0], first - 1
    while at >= 0:
        begin = skip_spaces(data, at, end)
        if begin == end or data[begin] == 10 or data[begin] == 13 or data[begin] == 35:
            span[0], span[1] = used[0], place
            used[0] = place
            while begin < end and data[begin] != 10 and data[begin] != 13:
                begin += 1
            return begin
        if begin == at:
            return -1
        at, index, value = _read_pair(data, begin, end, last, first + width)
        if at >= 0:
            last = int(index)
            indices[place], values[place] = last - first, value
            place += 1
    return -1
