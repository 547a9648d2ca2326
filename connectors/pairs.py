"""Indices and values of sparse features on their way into rows, in compiled code."""

import numpy as np

from anabranch.protocol import Array
from connectors.kernel import kernel

__all__ = ["Store", "keep_pairs", "new_store"]

Store = tuple[Array, Array, Array]
"""Indices (m,) uint32 and values (m,) float64 of many records, and (1,) how many are used."""


def new_store(most: int) -> Store:
    """Make room for so many pairs.

    >>> [array.shape for array in new_store(3)]
    [(3,), (3,), (1,)]
    """
    return np.empty(most, np.uint32), np.empty(most), np.zeros(1, np.int64)


@kernel
def _sort(pairs: Array, count: int) -> bool:
    """Put pairs in the order of their indices; tell whether each is there once."""
    order = np.argsort(pairs[0, :count])
    indices, values = pairs[0, :count][order], pairs[1, :count][order]
    for i in range(count):
        if i > 0 and indices[i] == indices[i - 1]:
            return False
        pairs[0, i], pairs[1, i] = indices[i], values[i]
    return True


@kernel
def keep_pairs(pairs: Array, width: int, store: Store, span: Array) -> bool:
    """Put a record's pairs behind those of others, sorted; tell whether they were good.

    Parameters
    ----------
    pairs : (2, most + 1); indices and values, and how many there are of each at the end of its
        row; changed
    width : indices are below it
    store : what they go to
    span : (2,), output; where in the store they begin and end

    >>> store, span = new_store(4), np.zeros(2, np.int64)
    >>> keep_pairs(np.array([[5.0, 0, 9, 2], [1, 2, 9, 2]]), 6, store, span), span.tolist()
    (True, [0, 2])
    >>> store[0][:2].tolist(), store[1][:2].tolist()
    ([0, 5], [2.0, 1.0])
    """
    indices, values, used = store
    if pairs[0, -1] != pairs[1, -1]:
        return False
    count, last, ordered = int(pairs[0, -1]), -1.0, True
    for i in range(count):
        index = pairs[0, i]
        if index < 0.0 or index >= width:
            return False
        ordered &= index > last
        last = index
    if not ordered and not _sort(pairs, count):
        return False
    begin = used[0]
    for i in range(count):
        indices[begin + i], values[begin + i] = np.uint32(pairs[0, i]), pairs[1, i]
    span[0], span[1] = begin, begin + count
    used[0] = begin + count
    return True
