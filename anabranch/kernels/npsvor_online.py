"""Online NPSVOR: a row's step in the planes of all ranks, and the changes that nodes exchange.

The table (features + 1, 2 p) holds, for each feature, the weights of the p planes and then
their sums of squared gradients; its last row is the bias.
"""

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = [
    "LARGEST",
    "add_changes",
    "changes",
    "fit",
    "learn_rows",
    "margins",
    "put_rows",
    "sketch",
]

LARGEST = float(np.float32(1e30))
"""Bound of everything in the table, the same in float32: its squares may be added up there."""

_STEEPEST = 1e15
_TINY = 1e-8
_MIX = 0x9E37_79B1


@njit(cache=True, nogil=True, inline="always")
def _planes(
    table: Array, indices: Array, values: Array, start: int, end: int, bias: float, z: Array
) -> None:
    """z_k = w_k'x + bias b_k, summed in the order of the nonzeros."""
    last = table.shape[0] - 1
    for k in range(z.size):
        z[k] = bias * table[last, k]
    for t in range(start, end):
        row, value = table[indices[t]], values[t]
        for k in range(z.size):
            z[k] += row[k] * value


@njit(cache=True, nogil=True, inline="always")
def _slopes(z: Array, rank: int, epsilon: float, d: Array) -> bool:
    """d = -dL/dz: -2 sgn(z) (|z| - eps)+ in the rank's own plane, else 2 s (1 - s z)+.

    s = 1 in the planes of lower ranks, -1 in those of higher ones. Tells whether any is not 0.
    """
    moved = False
    for k in range(z.size):
        if k == rank:
            excess = max(abs(z[k]) - epsilon, 0.0)
            d[k] = -2.0 * excess if z[k] > 0.0 else 2.0 * excess
        else:
            side = 1.0 if k < rank else -1.0
            d[k] = 2.0 * side * max(1.0 - side * z[k], 0.0)
        moved = moved or d[k] != 0.0
    return moved


@njit(cache=True, nogil=True, inline="always")
def _step(row: Array, d: Array, value: float, step: float) -> None:
    """g = d_k x_j; h_jk += g^2; w_jk += step g/sqrt(h_jk + 1e-8)."""
    p = d.size
    for k in range(p):
        g = min(max(d[k] * value, -_STEEPEST), _STEEPEST)
        h = min(row[p + k] + g * g, LARGEST)
        row[p + k] = h
        row[k] += step * g / np.sqrt(h + _TINY)


@njit(cache=True, nogil=True, inline="always")
def _touch(j: int, table: Array, marks: Array, places: Array, saved: Array, counts: Array) -> None:
    """Keep row j of the table as it is, before its first change."""
    if marks.size > 0 and marks[j] < 0:
        slot = counts[0]
        marks[j], places[slot] = slot, j
        for k in range(table.shape[1]):
            saved[slot, k] = table[j, k]
        counts[0] = slot + 1


@njit(cache=True, nogil=True, inline="always")
def _tell(z: Array, r: int, out: Array, seen: Array) -> None:
    """Write 1 + #{k : z_k + z_{k+1} > 0} and these sums down, where there is room."""
    rank = 1
    for k in range(z.size - 1):
        rank += z[k] + z[k + 1] > 0.0
        if seen.size > 0:
            seen[r, k] = z[k] + z[k + 1]
    if out.size > 0:
        out[r] = rank


@njit(cache=True, nogil=True)
def margins(
    indptr: Array, indices: Array, values: Array, table: Array, bias: float, out: Array,
    seen: Array,
) -> None:  # fmt: skip
    """Ranks (n,) and margins (n, p - 1) of rows; either may be empty, and is left out then."""
    z = np.empty(table.shape[1] // 2)
    for r in range(indptr.size - 1):
        _planes(table, indices, values, indptr[r], indptr[r + 1], bias, z)
        _tell(z, r, out, seen)


@njit(cache=True, nogil=True)
def learn_rows(
    indptr: Array, indices: Array, values: Array, y: Array, table: Array, bias: float,
    step: float, epsilon: float, marks: Array, places: Array, saved: Array, counts: Array,
    out: Array, seen: Array,
) -> None:  # fmt: skip
    """Predict each row, then step on it.

    Parameters
    ----------
    indptr, indices, values : the rows (CSR)
    y : (n,) ranks from 1
    table : changed
    bias : value of the constant feature; 0 for none
    marks : (features + 1,) place of a row of the table in `saved`, -1 where it has not changed;
        empty where nobody asks for changes
    places, saved : which rows of the table changed, and what they were
    counts : how many rows of the table changed, and how many rows of the block changed any
    out, seen : as for `margins`
    """
    p = table.shape[1] // 2
    z, d = np.empty(p), np.empty(p)
    for r in range(y.size):
        start, end = indptr[r], indptr[r + 1]
        _planes(table, indices, values, start, end, bias, z)
        _tell(z, r, out, seen)
        if not _slopes(z, int(y[r]) - 1, epsilon, d):
            continue
        counts[1] += 1
        for t in range(start, end):
            if values[t] != 0.0:
                _touch(indices[t], table, marks, places, saved, counts)
                _step(table[indices[t]], d, values[t], step)
        if bias != 0.0:
            _touch(table.shape[0] - 1, table, marks, places, saved, counts)
            _step(table[-1], d, bias, step)


@njit(cache=True, nogil=True)
def changes(places: Array, marks: Array, saved: Array, table: Array, dW: Array, dH: Array) -> None:
    """dW (c, p) of the rows at `places`; dH (c,), the mean change of their sums of squares."""
    p = dW.shape[1]
    for i in range(places.size):
        row, before = table[places[i]], saved[marks[places[i]]]
        total = 0.0
        for k in range(p):
            dW[i, k] = row[k] - before[k]
            total += row[p + k] - before[p + k]
        dH[i] = total / p


@njit(cache=True, nogil=True)
def fit(indices: Array, dW: Array, dH: Array, sizes: Array, features: int) -> bool:
    """Whether changes can be added: indices up to `features`, increasing in each of the parts.

    |dW| and dH >= 0 are at most `LARGEST`; NaN is not.
    """
    p, t = dW.shape[1], 0
    for size in sizes:
        for i in range(size):
            good = indices[t] <= features and (i == 0 or indices[t] > indices[t - 1])
            good = good and dH[t] >= 0.0 and dH[t] <= LARGEST
            for k in range(p):
                good = good and abs(dW[t, k]) <= LARGEST
            if not good:
                return False
            t += 1
    return True


@njit(cache=True, nogil=True)
def put_rows(table: Array, places: Array, rows: Array) -> None:
    """table[places] = rows."""
    for i in range(places.size):
        for k in range(table.shape[1]):
            table[places[i], k] = rows[i, k]


@njit(cache=True, nogil=True, inline="always")
def _grow(row: Array, sums: Array, old: int, new: int) -> None:
    """w += (a + b)/sqrt(new) - a/sqrt(old), h += c; `sums` holds a (p,), b (p,) and c."""
    p = row.size // 2
    for k in range(p):
        change = (sums[k] + sums[p + k]) / np.sqrt(new)
        if old > 0:
            change -= sums[k] / np.sqrt(old)
        row[k] = min(max(row[k] + change, -LARGEST), LARGEST)
        row[p + k] = min(row[p + k] + sums[2 * p], LARGEST)


@njit(cache=True, nogil=True, inline="always")
def _sum_up(
    indices: Array, dW: Array, dH: Array, known: int, slots: Array, places: Array,
    numbers: Array, sums: Array,
) -> int:  # fmt: skip
    """Sum changes by their features, those known apart from the others; give how many there are.

    `slots` tells where each feature's sums are, `places` which feature these are of.
    """
    p, used = dW.shape[1], 0
    for i in range(indices.size):
        j, part = indices[i], 0 if i < known else 1
        if slots[j] < 0:
            slots[j], places[used] = used, j
            used += 1
        slot = slots[j]
        numbers[slot, part] += 1
        for k in range(p):
            sums[slot, part * p + k] += dW[i, k]
        if part:
            sums[slot, 2 * p] += dH[i]
    return used


@njit(cache=True, nogil=True)
def add_changes(
    indices: Array, dW: Array, dH: Array, known: int, least: int, table: Array, marks: Array,
    saved: Array, slots: Array,
) -> None:  # fmt: skip
    """W_j += n_j^-1/2 sum dW_j, H_j += sum dH_j, over changes of a group, one after another.

    Parameters
    ----------
    indices, dW, dH : (c,), (c, p), (c,) of all changes; n_j counts how often j is there
    known : how many of them were added before, by their own n_j; what the others make of them
        is added
    least : n_j where fewer are there
    table, marks, saved : as for `learn_rows`; rows that have changed do so in `saved`, too
    slots : (features + 1,) of -1; left as it was
    """
    sums = np.zeros((indices.size, 2 * dW.shape[1] + 1))
    numbers, places = np.zeros((indices.size, 2), np.int64), np.empty(indices.size, np.int64)
    for slot in range(_sum_up(indices, dW, dH, known, slots, places, numbers, sums)):
        j = places[slot]
        slots[j] = -1
        old, more = numbers[slot]
        if more > 0:
            _grow(table[j], sums[slot], old, max(old + more, least))
            if marks[j] >= 0:
                _grow(saved[marks[j]], sums[slot], old, max(old + more, least))


@njit(cache=True, nogil=True)
def sketch(table: Array, out: Array) -> None:
    """out_h(j, k) += s(j, k) w_jk, h and s fixed hashes: distances are kept, on average."""
    p, mask = table.shape[1] // 2, np.uint32(out.size - 1)
    for j in range(table.shape[0]):
        for k in range(p):
            if table[j, k] != 0.0:
                mixed = np.uint32(np.uint64(j * p + k + 1) * np.uint64(_MIX))
                mixed = np.uint32(np.uint64(mixed ^ (mixed >> np.uint32(15))) * np.uint64(_MIX))
                sign = 1.0 if mixed >> np.uint32(31) else -1.0
                out[(mixed >> np.uint32(7)) & mask] += sign * table[j, k]
