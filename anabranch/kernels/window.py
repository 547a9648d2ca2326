"""Taking rows into a ring of the newest, and the sums over them."""

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = [
    "GONE",
    "LOSSY",
    "NONZERO",
    "SEEN",
    "SETTLED",
    "accumulate",
    "compress",
    "gather",
    "measure",
    "push",
    "push_sparse",
]

SEEN, SETTLED, GONE, LOSSY, NONZERO = range(5)
"""Places in a ring's counters: rows seen; of these, seen when the inverse was last brought up
to date; rows gone since; whether the sums lost digits; values that are not zero."""
_GROSS = 1e6
"""A row that is so much larger (squared) than all others takes digits with it when it goes."""


@njit(cache=True, nogil=True)
def _add_product(x: Array, y: Array, sign: float, cross: Array, mirror: Array) -> None:
    """cross += sign x y', mirror = cross, where neither x nor y is zero."""
    for k in range(y.size):
        if y[k] != 0.0:
            share = sign * np.float64(y[k])
            for i in range(x.size):
                if x[i] != 0.0:
                    cross[i, k] += share * np.float64(x[i])
                    mirror[i, k] = cross[i, k]


@njit(cache=True, nogil=True)
def _add_sparse_product(
    indices: Array, values: Array, length: int, y: Array, sign: float, cross: Array, mirror: Array
) -> None:
    """As `_add_product`, x being `values` at `indices`, the first `length` of them."""
    for k in range(y.size):
        if y[k] != 0.0:
            share = sign * np.float64(y[k])
            for t in range(length):
                i = indices[t]
                cross[i, k] += share * np.float64(values[t])
                mirror[i, k] = cross[i, k]


@njit(cache=True, nogil=True)
def _measure(x: Array, slot: int, norms: Array, filled: Array, counters: Array) -> None:
    """norms_slot = x'x, filled_slot = how many x_i are not zero."""
    total, nonzero = 0.0, 0
    for i in range(x.size):
        value = np.float64(x[i])
        total += value * value
        nonzero += value != 0.0
    counters[NONZERO] += nonzero - filled[slot]
    norms[slot], filled[slot] = total, nonzero


@njit(cache=True, nogil=True)
def measure(X: Array, norms: Array, filled: Array, counters: Array) -> None:
    """Measure the rows of X as those of the first slots."""
    for r in range(X.shape[0]):
        _measure(X[r], r, norms, filled, counters)


@njit(cache=True, nogil=True)
def _compress(x: Array, indices: Array, values: Array) -> int:
    """Write what is not zero in x, and where it is; give how many."""
    t = 0
    for i in range(x.size):
        if x[i] != 0.0:
            indices[t], values[t] = i, x[i]
            t += 1
    return t


@njit(cache=True, nogil=True)
def compress(X: Array, indices: Array, values: Array) -> None:
    """Write the rows of X to the first slots."""
    for r in range(X.shape[0]):
        _compress(X[r], indices[r], values[r])


@njit(cache=True, nogil=True)
def _lost(slot: int, norms: Array, counters: Array) -> None:
    """Note that the row in `slot` outweighs all others together, and goes."""
    others = 0.0
    for i in range(norms.size):
        if i != slot:
            others += norms[i]
    if norms[slot] > _GROSS * others:
        counters[LOSSY] = 1


@njit(cache=True, nogil=True)
def push(
    X: Array,
    Y: Array,
    ring: Array,
    labels: Array,
    norms: Array,
    filled: Array,
    gone: Array,
    counters: Array,
    cross: Array,
    mirror: Array,
) -> None:
    """Put row r into slot (seen + r) mod s, keeping what it replaces in `gone`; cross = X'Y.

    Only a row that the inverse knows is kept there. Beyond the length of `gone` rows are only
    counted: the inverse is built anew then.
    """
    slots = ring.shape[0]
    for r in range(X.shape[0]):
        seen = counters[SEEN]
        slot = seen % slots
        if seen >= slots:
            _add_product(ring[slot], labels[slot], -1.0, cross, mirror)
            _lost(slot, norms, counters)
            if seen - slots < counters[SETTLED]:
                if counters[GONE] < gone.shape[0]:
                    gone[counters[GONE]] = ring[slot]
                counters[GONE] += 1
        ring[slot] = X[r]
        labels[slot] = Y[r]
        _measure(ring[slot], slot, norms, filled, counters)
        _add_product(ring[slot], labels[slot], 1.0, cross, mirror)
        counters[SEEN] = seen + 1


@njit(cache=True, nogil=True)
def gather(ring: Array, came: int, gone: Array, counters: Array, rows: Array, signs: Array) -> int:
    """Write the newest `came` rows to `rows`, then those gone; and +1 or -1 each; give how many."""
    for r in range(came):
        rows[r] = ring[(counters[SEEN] - came + r) % ring.shape[0]]
        signs[r] = 1.0
    for r in range(counters[GONE]):
        rows[came + r] = gone[r]
        signs[came + r] = -1.0
    return came + counters[GONE]  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def push_sparse(
    X: Array,
    Y: Array,
    indices: Array,
    values: Array,
    labels: Array,
    norms: Array,
    filled: Array,
    counters: Array,
    cross: Array,
    mirror: Array,
) -> None:
    """As `push`; a slot holds the values that are not zero, and where they are."""
    slots = indices.shape[0]
    for r in range(X.shape[0]):
        seen = counters[SEEN]
        slot = seen % slots
        if seen >= slots:
            have = filled[slot]
            _add_sparse_product(
                indices[slot], values[slot], have, labels[slot], -1.0, cross, mirror
            )
            _lost(slot, norms, counters)
            if seen - slots < counters[SETTLED]:
                counters[GONE] += 1
        labels[slot] = Y[r]
        _measure(X[r], slot, norms, filled, counters)
        have = _compress(X[r], indices[slot], values[slot])
        _add_sparse_product(indices[slot], values[slot], have, labels[slot], 1.0, cross, mirror)
        counters[SEEN] = seen + 1


@njit(cache=True, nogil=True)
def accumulate(X: Array, Y: Array, trace: float, cross: Array, mirror: Array) -> float:
    """cross += X'Y, row by row; give trace + tr X'X."""
    for r in range(X.shape[0]):
        _add_product(X[r], Y[r], 1.0, cross, mirror)
        for i in range(X.shape[1]):
            value = np.float64(X[r, i])
            trace += value * value
    return trace
