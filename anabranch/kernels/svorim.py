"""Support vector ordinal regression with implicit constraints: its dual by pairs of variables.

Rank r of row i is compared with every threshold j: s_ij = +1 where r > j, else -1.

    min_a  1/2 sum_im beta_i beta_m k(x_i, x_m) - sum_ij a_ij,   beta_i = sum_j s_ij a_ij,
    0 <= a_ij <= C_i,   sum_i s_ij a_ij = 0 for each threshold j

With F_i = sum_m beta_m k(x_i, x_m) a threshold is optimal when no row that may move up has a
larger v_ij = s_ij - F_i than one that may move down; the pair that gains most moves.
"""

import numpy as np
from numba import njit

from anabranch.kernels.kernel_rows import Kernel, RowCache, kernel_row
from anabranch.protocol import Array

__all__ = ["smo"]

_TINY = 1e-12
_ROUNDING = 1e-11
_NOTHING, _IDLE = 1e-14, 20
"""A step that is rounding only, and how many in a row are the end."""
_SHRINK_EVERY = 1000


@njit(cache=True, nogil=True)
def _may_rise(side: float, a: float, cap: float) -> bool:
    return a < cap if side > 0.0 else a > 0.0


@njit(cache=True, nogil=True)
def _may_fall(side: float, a: float, cap: float) -> bool:
    return a > 0.0 if side > 0.0 else a < cap


@njit(cache=True, nogil=True)
def _extremes(
    j: int, a: Array, F: Array, ranks: Array, caps: Array, active: Array
) -> tuple[int, float, float]:
    """Give the row with the largest v that may rise, that v, and the least v that may fall.

    `a` (n,) are the variables of threshold j; -1 and infinities where there is no such row.
    """
    best, top, bottom = -1, -np.inf, np.inf
    for i in active:
        side = 1.0 if ranks[i] > j else -1.0
        v = side - F[i]
        if v > top and _may_rise(side, a[i], caps[i]):
            best, top = i, v
        if v < bottom and _may_fall(side, a[i], caps[i]):
            bottom = v
    return best, top, bottom


@njit(cache=True, nogil=True)
def _partner(
    i: int, j: int, top: float, row: Array, diagonal: Array, a: Array, F: Array, ranks: Array,
    caps: Array, active: Array,
) -> int:  # fmt: skip
    """Give the row that gains most with i: the largest (v_i - v_m)^2 / (k_ii + k_mm - 2 k_im)."""
    best, gain = -1, 0.0
    for m in active:
        side = 1.0 if ranks[m] > j else -1.0
        between = top - side + F[m]
        if between > 0.0 and _may_fall(side, a[m], caps[m]):
            curvature = max(diagonal[i] + diagonal[m] - 2.0 * row[m], _TINY)
            if between * between > gain * curvature:
                best, gain = m, between * between / curvature
    return best


@njit(cache=True, nogil=True)
def _room(side: float, a: float, cap: float, up: bool) -> float:
    """How far s a may rise (or fall) within the bounds."""
    return cap - a if (side > 0.0) == up else a


@njit(cache=True, nogil=True)
def _move(
    i: int, m: int, j: int, curvature: float, a: Array, beta: Array, F: Array, ranks: Array,
    caps: Array,
) -> float:  # fmt: skip
    """Move the pair along its equality to the least value; gives by how much."""
    side_i = 1.0 if ranks[i] > j else -1.0
    side_m = 1.0 if ranks[m] > j else -1.0
    free = ((side_i - F[i]) - (side_m - F[m])) / curvature
    room_i, room_m = _room(side_i, a[i], caps[i], True), _room(side_m, a[m], caps[m], False)
    step: float = min(free, room_i, room_m)
    a[i] = (caps[i] if side_i > 0.0 else 0.0) if step == room_i else a[i] + side_i * step
    a[m] = (0.0 if side_m > 0.0 else caps[m]) if step == room_m else a[m] - side_m * step
    beta[i] += step
    beta[m] -= step
    return step


@njit(cache=True, nogil=True)
def _worst(
    alpha: Array, F: Array, ranks: Array, caps: Array, active: Array, bounds: Array
) -> tuple[int, float]:
    """Give the threshold that is farthest from optimal, and how far; `bounds` gets each one's v."""
    worst, wrong = 0, -np.inf
    for j in range(len(alpha)):
        best, top, bottom = _extremes(j, alpha[j], F, ranks, caps, active)
        bounds[j, 0], bounds[j, 1] = top, bottom
        if best >= 0 and top - bottom > wrong:
            worst, wrong = j, top - bottom
    return worst, wrong


@njit(cache=True, nogil=True)
def _shrunk(
    alpha: Array, F: Array, ranks: Array, caps: Array, active: Array, bounds: Array
) -> Array:
    """Give the active rows that have a variable between its bounds, or one that may yet move."""
    kept, count = np.empty_like(active), 0
    for i in active:
        stays = False
        for j in range(len(alpha)):
            side, a = 1.0 if ranks[i] > j else -1.0, alpha[j, i]
            v = side - F[i]
            rises, falls = _may_rise(side, a, caps[i]), _may_fall(side, a, caps[i])
            if (rises and (falls or v >= bounds[j, 1])) or (falls and v <= bounds[j, 0]):
                stays = True
                break
        if stays:
            kept[count] = i
            count += 1
    return kept[:count]


@njit(cache=True, nogil=True)
def _sums(X: Array, squares: Array, kernel: Kernel, cache: RowCache, beta: Array, F: Array) -> None:
    """F_i = sum_m beta_m k(x_i, x_m)."""
    F[:] = 0.0
    for m in range(len(beta)):
        if beta[m] != 0.0:
            row = kernel_row(m, X, squares, kernel, cache)
            for i in range(len(F)):
                F[i] += beta[m] * row[i]


@njit(cache=True, nogil=True)
def smo(
    X: Array, squares: Array, kernel: Kernel, cache: RowCache, diagonal: Array, ranks: Array,
    caps: Array, tol: float, most: int, shrinking: bool, alpha: Array, beta: Array, F: Array,
) -> tuple[int, float]:  # fmt: skip
    """Move pairs until no threshold is farther than `tol` from optimal, `most` times at most.

    Parameters
    ----------
    X, squares, kernel, cache : rows, |x_i|^2, and how the kernel's rows are had
    diagonal : (n,) k(x_i, x_i)
    ranks, caps : (n,) ranks from 0, and C of each row
    alpha, beta, F : (thresholds, n), (n,), (n,); changed, and consistent

    Returns
    -------
    The number of moves, and how far the worst threshold is from optimal.
    """
    everyone = np.arange(len(ranks))
    active, bounds = everyone, np.empty((len(alpha), 2))
    moves, until = 0, _SHRINK_EVERY
    while True:
        j, wrong = _worst(alpha, F, ranks, caps, active, bounds)
        if wrong <= tol or moves >= most:
            if len(active) == len(everyone):
                return moves, max(wrong, 0.0)
            _sums(X, squares, kernel, cache, beta, F)
            active = everyone
            continue
        if shrinking and moves >= until:
            active, until = _shrunk(alpha, F, ranks, caps, active, bounds), moves + _SHRINK_EVERY
        moved = _work(
            X, squares, kernel, cache, diagonal, ranks, caps, max(tol, 0.5 * wrong), most - moves,
            j, alpha[j], beta, F, active,
        )  # fmt: skip
        moves += moved
        if moved == 0:
            tol = wrong  # as near as rounding allows


@njit(cache=True, nogil=True)
def _work(
    X: Array, squares: Array, kernel: Kernel, cache: RowCache, diagonal: Array, ranks: Array,
    caps: Array, goal: float, most: int, j: int, a: Array, beta: Array, F: Array, active: Array,
) -> int:  # fmt: skip
    """Move pairs of one threshold until it is within `goal`; gives how many, 0 if to no avail."""
    idle = 0
    for moves in range(most):
        i, top, bottom = _extremes(j, a, F, ranks, caps, active)
        if i < 0 or top - bottom <= max(goal, _ROUNDING * (1.0 + abs(F[i]))):
            return moves
        row = kernel_row(i, X, squares, kernel, cache)
        m = _partner(i, j, top, row, diagonal, a, F, ranks, caps, active)
        other = kernel_row(m, X, squares, kernel, cache)
        curvature = max(diagonal[i] + diagonal[m] - 2.0 * row[m], _TINY)
        step = _move(i, m, j, curvature, a, beta, F, ranks, caps)
        idle = idle + 1 if step <= _NOTHING * caps[i] else 0
        if idle > _IDLE:
            return 0
        for k in active:
            F[k] += step * (row[k] - other[k])
    return most
