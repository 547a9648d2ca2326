"""Support vector ordinal regression, the dual by pairs of variables, over some of its rows.

Rows are sorted by rank. Threshold j bears on rows begin:end of its span: s_ij = -1 before `split`,
at or below its rank, and +1 from there on. With beta_i = sum_j s_ij a_ij,

    min_a  1/2 sum_im beta_i beta_m k(x_i, x_m) - sum_ij a_ij,    0 <= a_ij <= C_i,
    sum_i s_ij a_ij = mu_j - mu_(j+1),    mu_0 = mu_T = 0

Implicit constraints (SVORIM): spans are all rows, mu = 0. Explicit ones (SVOREX): the rows of the
two ranks beside the threshold, mu >= 0 are the multipliers of b_(j-1) <= b_j.

With F_i = sum_m beta_m k(x_i, x_m) and v_ij = s_ij - F_i, s_ij a_ij may rise by t where s_mk a_mk
falls by t: if j = k; with mu, also if k < j, whose mu between rise, or k > j, whose mu between
fall and must be above 0. It gains where v_ij > v_mk; the pair that gains most moves.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = ["Bounds", "Part", "empty_bounds", "room_of", "scan", "turn", "work"]

_TINY = 1e-12
_ROUNDING = 1e-11
_NOTHING, _IDLE = 1e-14, 20
"""A step that is rounding only, as a share of what it changes; how many in a row are the end."""


class Part(NamedTuple):
    """Rows (n) with their variables, which are changed in place.

    spans (T, 3): begin, split, end; caps (n,): C_i; a (T, n); mu (T + 1,); beta, F (n,);
    coupled: whether mu may move.
    """

    spans: Array
    caps: Array
    a: Array
    mu: Array
    beta: Array
    F: Array
    coupled: bool


class Bounds(NamedTuple):
    """What holds each variable, where it may move at all.

    rise, fall (T, n): v where s a may rise, -v where it may fall, else -inf; tops, bottoms (T,):
    the largest v that may rise, the least that may fall; low, high (T,): the least v that a rise
    at a threshold may be paired with, and the largest for a fall.
    """

    rise: Array
    fall: Array
    tops: Array
    bottoms: Array
    low: Array
    high: Array


def empty_bounds(thresholds: int, n: int) -> Bounds:
    """Give room for the bounds of n rows."""
    shapes = ((thresholds, n),) * 2 + ((thresholds,),) * 4
    return Bounds(*(np.full(shape, -np.inf) for shape in shapes))


@njit(cache=True, nogil=True)
def largest(values: Array) -> float:
    """Give the largest; -inf if there is none. Four at a time, which wait for each other less."""
    a = b = c = d = -np.inf
    end = len(values) // 4 * 4
    for k in range(0, end, 4):
        a = values[k] if values[k] > a else a
        b = values[k + 1] if values[k + 1] > b else b
        c = values[k + 2] if values[k + 2] > c else c
        d = values[k + 3] if values[k + 3] > d else d
    for k in range(end, len(values)):
        a = values[k] if values[k] > a else a
    return max(max(a, b), max(c, d))


@njit(cache=True, nogil=True)
def _place(values: Array, value: float) -> int:
    """Give the first place of a value that is there."""
    for k in range(len(values)):
        if values[k] == value:
            return k
    return -1


@njit(cache=True, nogil=True)
def _mark(side: float, F: Array, a: Array, caps: Array, room: Array, some: Array) -> None:
    """Note v, or -v, of variables of one side that may grow (`room`) or shrink (`some`)."""
    for k in range(len(F)):
        margin = 1.0 - side * F[k]
        room[k] = margin if a[k] < caps[k] else -np.inf
        some[k] = -margin if a[k] > 0.0 else -np.inf


@njit(cache=True, nogil=True)
def _mark_rows(j: int, begin: int, end: int, part: Part, bounds: Bounds) -> None:
    """Note how s_ij a_ij may move, for rows begin:end that are on one side of threshold j."""
    F, a, caps = part.F[begin:end], part.a[j, begin:end], part.caps[begin:end]
    rise, fall = bounds.rise[j, begin:end], bounds.fall[j, begin:end]
    if begin >= part.spans[j, 1]:
        _mark(1.0, F, a, caps, rise, fall)
    else:
        _mark(-1.0, F, a, caps, fall, rise)


@njit(cache=True, nogil=True)
def _reach(j: int, part: Part) -> tuple[int, int]:
    """Give the first and last threshold where a rise at threshold j may be paired with a fall."""
    if not part.coupled:
        return j, j
    last = j
    while last + 1 < len(part.a) and part.mu[last + 1] > 0.0:
        last += 1
    return 0, last


@njit(cache=True, nogil=True)
def scan(part: Part, bounds: Bounds) -> tuple[int, float]:
    """Fill the bounds; give the threshold that is farthest from optimal, and how far."""
    worst, wrong = 0, -np.inf
    bounds.high[:] = -np.inf
    for j in range(len(part.a)):
        begin, split, end = part.spans[j, 0], part.spans[j, 1], part.spans[j, 2]
        _mark_rows(j, begin, split, part, bounds)
        _mark_rows(j, split, end, part, bounds)
        bounds.tops[j] = largest(bounds.rise[j, begin:end])
        bounds.bottoms[j] = -largest(bounds.fall[j, begin:end])
    for j in range(len(part.a)):
        first, last = _reach(j, part)
        bounds.low[j] = np.inf
        for k in range(first, last + 1):
            bounds.low[j] = min(bounds.low[j], bounds.bottoms[k])
            bounds.high[k] = max(bounds.high[k], bounds.tops[j])
        if bounds.tops[j] - bounds.low[j] > wrong:
            worst, wrong = j, bounds.tops[j] - bounds.low[j]
    return worst, wrong


@njit(cache=True, nogil=True)
def _gains(top: float, fall: Array, own: float, diagonal: Array, row: Array, gain: Array) -> None:
    """gain_m = (v_i - v_m)^2 / (k_ii + k_mm - 2 k_im), where v_m is below the top v_i."""
    for m in range(len(gain)):
        between = top + fall[m]
        curvature = own + diagonal[m] - 2.0 * row[m]
        curvature = curvature if curvature > _TINY else _TINY
        value = between * between / curvature
        gain[m] = value if between > 0.0 else 0.0


@njit(cache=True, nogil=True)
def _partner(
    i: int, top: float, first: int, last: int, row: Array, diagonal: Array, part: Part,
    bounds: Bounds, gain: Array,
) -> tuple[int, int, float]:  # fmt: skip
    """Give the threshold and the row that gain most with a rise of row i, and the least v."""
    where, m, best, bottom = first, -1, 0.0, np.inf
    for j in range(first, last + 1):
        begin, end = part.spans[j, 0], part.spans[j, 2]
        fall, room = bounds.fall[j, begin:end], gain[begin:end]
        bottom = min(bottom, -largest(fall))
        _gains(top, fall, diagonal[i], diagonal[begin:end], row[begin:end], room)
        most = largest(room)
        if most > best:
            where, m, best = j, begin + _place(room, most), most
    return where, m, bottom


@njit(cache=True, nogil=True)
def _shift(values: Array, step: float, row: Array, other: Array) -> None:
    """values_k += step (row_k - other_k)."""
    for k in range(len(values)):
        values[k] += step * (row[k] - other[k])


@njit(cache=True, nogil=True)
def _follow(j: int, step: float, row: Array, other: Array, part: Part, bounds: Bounds) -> None:
    """Let F, and the bounds of threshold j (of all where they are coupled), follow a move."""
    _shift(part.F, step, row, other)
    first, last = (0, len(part.a) - 1) if part.coupled else (j, j)
    for k in range(first, last + 1):
        begin, end = part.spans[k, 0], part.spans[k, 2]
        _shift(bounds.rise[k, begin:end], -step, row[begin:end], other[begin:end])
        _shift(bounds.fall[k, begin:end], step, row[begin:end], other[begin:end])


@njit(cache=True, nogil=True)
def turn(j: int, i: int, step: float, room: float, up: bool, part: Part) -> None:
    """Let s_ij a_ij rise or fall by a step; exactly to its bound where the step is all its room."""
    full = (i >= part.spans[j, 1]) == up
    if step == room:
        part.a[j, i] = part.caps[i] if full else 0.0
    else:
        part.a[j, i] += step if full else -step
    part.beta[i] += step if up else -step


@njit(cache=True, nogil=True)
def room_of(j: int, i: int, up: bool, part: Part) -> float:
    """Give how far s_ij a_ij may rise or fall."""
    a: float = part.a[j, i]
    return part.caps[i] - a if (i >= part.spans[j, 1]) == up else a


@njit(cache=True, nogil=True)
def _move(j: int, i: int, k: int, m: int, free: float, part: Part) -> float:
    """Let s_ij a_ij rise and s_mk a_mk fall by `free`, or as far as bounds allow; give how far."""
    rise, fall = room_of(j, i, True, part), room_of(k, m, False, part)
    step: float = min(free, rise, fall)
    for t in range(j + 1, k + 1):
        step = min(step, part.mu[t])
    for t in range(j + 1, k + 1):
        part.mu[t] -= step
    for t in range(k + 1, j + 1):
        part.mu[t] += step
    turn(j, i, step, rise, True, part)
    turn(k, m, step, fall, False, part)
    return step


@njit(cache=True, nogil=True)
def work(
    j: int, goal: float, most: int, K: Array, diagonal: Array, part: Part, bounds: Bounds,
    gain: Array,
) -> int:  # fmt: skip
    """Move pairs that rise at threshold j until it is within `goal`; gives how many, 0: in vain."""
    idle, begin, end = 0, part.spans[j, 0], part.spans[j, 2]
    for moves in range(most):
        top = largest(bounds.rise[j, begin:end])
        i = begin + _place(bounds.rise[j, begin:end], top)
        first, last = _reach(j, part)
        k, m, bottom = _partner(i, top, first, last, K[i], diagonal, part, bounds, gain)
        if m < 0 or top - bottom <= max(goal, _ROUNDING * (1.0 + abs(part.F[i]))):
            return moves
        curvature = max(diagonal[i] + diagonal[m] - 2.0 * K[i, m], _TINY)
        step = _move(j, i, k, m, (top + bounds.fall[k, m]) / curvature, part)
        changed = max(part.a[j, i], part.a[k, m])
        idle = idle + 1 if step <= _NOTHING * changed else 0
        if idle > _IDLE:
            return moves - _IDLE
        _follow(j, step, K[i], K[m], part, bounds)
        _mark_rows(j, i, i + 1, part, bounds)
        _mark_rows(k, m, m + 1, part, bounds)
    return most
