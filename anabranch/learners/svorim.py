"""The centralised solution of support vector ordinal regression, for any kernel."""

from dataclasses import dataclass

import numpy as np

from anabranch.kernels.kernel_rows import Kernel, diagonal, fill_row, row_cache
from anabranch.kernels.svorim import smo
from anabranch.protocol import Array

__all__ = ["Solution", "decisions", "solve_svorim"]


@dataclass(frozen=True)
class Solution:
    """What the solver found.

    Attributes
    ----------
    beta : (n,), with f(x) = sum_i beta_i k(x_i, x)
    thresholds : (p - 1,), in order
    moves : pairs of variables moved
    violation : how far the worst threshold is from optimal
    objective, dual : values of the problem and of its dual
    """

    beta: Array
    thresholds: Array
    moves: int
    violation: float
    objective: float
    dual: float


def solve_svorim(
    X: Array, ranks: Array, thresholds: int, kernel: Kernel, caps: Array,
    *, tol: float, most: int, shrinking: bool = True, megabytes: float = 200.0,
) -> Solution:  # fmt: skip
    """Solve min |w|^2/2 + sum_i C_i sum_j max(0, 1 - s_ij (w'phi(x_i) - b_j)).

    Parameters
    ----------
    X : (n, d) rows, C order; or the kernel's matrix (n, n), where it is precomputed
    ranks : (n,) from 0
    thresholds : number of ranks less one
    caps : (n,) C of each row
    tol, most : how far from optimal a threshold may be; pairs moved at most
    shrinking : whether rows that are sure to stay are left out for a while
    megabytes : room for rows of the kernel
    """
    n = len(ranks)
    squares = np.einsum("ij,ij->i", X, X)
    own, beta, F = np.empty(n), np.zeros(n), np.zeros(n)
    diagonal(X, squares, kernel, own)
    alpha = np.zeros((thresholds, n))
    moves, violation = smo(
        X, squares, kernel, row_cache(n, megabytes), own, ranks, caps, tol, most, shrinking,
        alpha, beta, F,
    )  # fmt: skip
    sides = np.where(ranks > np.arange(thresholds)[:, None], 1.0, -1.0)
    b, half = _thresholds(F, sides, caps), 0.5 * float(beta @ F)
    losses = np.maximum(1.0 - sides * (F - b[:, None]), 0.0) @ caps
    objective, dual = half + float(losses.sum()), float(alpha.sum()) - half
    return Solution(beta, b, int(moves), float(violation), objective, dual)


def _thresholds(F: Array, sides: Array, caps: Array) -> Array:
    """Give each threshold: amid those with the least loss, or at the edge of an endless range.

    The loss of threshold j is piecewise linear in b_j; its slope rises by C_i at F_i - s_ij.
    """
    b, slack = np.empty(len(sides)), 1e-9 * float(caps.sum())
    for j, side in enumerate(sides):
        breaks = F - side
        order = np.argsort(breaks, kind="stable")
        slopes = np.cumsum(caps[order]) - float(caps[side < 0.0].sum())
        ends = np.searchsorted(slopes, [-slack, slack], side="right").clip(max=len(F) - 1)
        flat_below = not (side < 0.0).any()
        b[j] = breaks[order[0]] if flat_below else 0.5 * float(breaks[order[ends]].sum())
    return np.maximum.accumulate(b)


def decisions(X: Array, support: Array, beta: Array, kernel: Kernel) -> Array:
    """Give f(x) = sum_l beta_l k(x_l, x) for rows X (n, d), over support rows (m, d)."""
    squares = np.einsum("ij,ij->i", support, support)
    own, row, out = np.einsum("ij,ij->i", X, X), np.empty(len(support)), np.empty(len(X))
    for i in range(len(X)):
        fill_row(support, squares, X[i], float(own[i]), kernel, row)
        out[i] = row @ beta
    return out
