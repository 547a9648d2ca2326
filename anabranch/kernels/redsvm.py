"""Linear ordinal regression reduced to one binary problem: a pass of dual coordinate descent.

A row of rank r (of p) becomes p - 1 examples, one a threshold k, with s = +1 where r > k:

    min |w|^2/2 + |b|^2/2 + C sum_i sum_k loss(1 - s_ik (w'x_i + b_k))

with loss(r) = max(r, 0) or its square, and beta, slope and bounds as in `npsvor`.
"""

import numpy as np
from numba import njit

from anabranch.kernels.npsvor import FAR, LINES, NEAR
from anabranch.kernels.sparse_lanes import fetch
from anabranch.protocol import Array

__all__ = ["add_row", "dot_row", "red_duality", "red_pass"]


@njit(cache=True, nogil=True)
def dot_row(indices: Array, values: Array, start: int, end: int, w: Array) -> float:
    """sum_t values[t] w[indices[t]], t in [start, end)."""
    total = 0.0
    for t in range(start, end):
        total += values[t] * w[indices[t]]
    return total


@njit(cache=True, nogil=True)
def add_row(indices: Array, values: Array, start: int, end: int, factor: float, w: Array) -> None:
    """w[indices[t]] += factor values[t], t in [start, end)."""
    for t in range(start, end):
        w[indices[t]] += factor * values[t]


@njit(cache=True, nogil=True)
def _step(
    z: float, square: float, rank: int, cost: float, squared: bool, b: Array, beta: Array
) -> tuple[float, float]:
    """Step in a row's thresholds in turn: a' = clip(a - G/A), G = s(z + b_k) - 1 + slope a.

    Gives the sum of the steps, by which w moves along the row, and the largest projected
    gradient.
    """
    slope, cap = (0.5 / cost, np.inf) if squared else (0.0, cost)
    moved, worst = 0.0, 0.0
    for k in range(len(b)):
        side = 1.0 if rank > k else -1.0
        a = side * beta[k]
        gradient = side * (z + moved * square + b[k]) - 1.0 + slope * a
        new = min(max(a - gradient / (square + 1.0 + slope), 0.0), cap)
        wrong = gradient if a > 0.0 else min(gradient, 0.0)
        worst = max(worst, abs(wrong if a < cap else max(wrong, 0.0)))
        step = side * (new - a)
        beta[k] += step
        b[k] += step
        moved += step
    return moved, worst


@njit(cache=True, nogil=True)
def red_pass(
    order: Array, indptr: Array, indices: Array, values: Array, ranks: Array, squares: Array,
    weights: Array, C: float, squared: bool, w: Array, b: Array, beta: Array,
) -> float:  # fmt: skip
    """Visit the rows in the given order; gives the largest projected gradient.

    Parameters
    ----------
    order : (n,) row numbers
    indptr, indices, values : the rows (CSR)
    ranks, squares, weights : (n,) ranks from 0, |x_i|^2, and factors of C
    w, b, beta : (features,), (p - 1,), (n, p - 1); changed
    """
    worst, count = 0.0, len(order)
    for at in range(count):
        if at + FAR < count:
            i = order[at + FAR]
            fetch(indptr, i, 0)
            fetch(ranks, i, 0)
            fetch(squares, i, 0)
            fetch(weights, i, 0)
        if at + NEAR < count:
            soon = indptr[order[at + NEAR]]
            for line in range(LINES):
                fetch(indices, soon, line)
                fetch(values, soon, line)
        i = order[at]
        start, end = indptr[i], indptr[i + 1]
        z = dot_row(indices, values, start, end, w)
        moved, wrong = _step(z, squares[i], ranks[i], C * weights[i], squared, b, beta[i])
        worst = max(worst, wrong)
        if moved != 0.0:
            add_row(indices, values, start, end, moved, w)
    return worst


@njit(cache=True, nogil=True)
def red_duality(
    indptr: Array, indices: Array, values: Array, ranks: Array, weights: Array, C: float,
    squared: bool, w: Array, b: Array, beta: Array,
) -> tuple[float, float]:  # fmt: skip
    """Give the sum of the losses, and the dual but for -(|w|^2 + |b|^2)/2."""
    losses, gain = 0.0, 0.0
    for i in range(len(ranks)):
        z = dot_row(indices, values, indptr[i], indptr[i + 1], w)
        cost = C * weights[i]
        for k in range(len(b)):
            side = 1.0 if ranks[i] > k else -1.0
            excess = max(1.0 - side * (z + b[k]), 0.0)
            losses += cost * (excess * excess if squared else excess)
            gain += side * beta[i, k]
            if squared and cost > 0.0:
                gain -= beta[i, k] * beta[i, k] / (4.0 * cost)
    return losses, gain
