"""The centralised solution of support vector ordinal regression, for any kernel."""

from dataclasses import dataclass

import numpy as np

from anabranch.kernels.svor_pairs import Part
from anabranch.learners.kernel_rows import Kernel, kernel_rows
from anabranch.learners.svor_descent import Descent, working_rows
from anabranch.learners.svor_thresholds import best_thresholds, spread_thresholds
from anabranch.protocol import Array

__all__ = ["Solution", "solve_svor"]

_SINGLE = 1e-4
"""Rows of the kernel are kept in single precision for this tolerance and above."""


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


def solve_svor(
    X: Array, ranks: Array, count: int, kernel: Kernel, caps: Array,
    *, explicit: bool = False, tol: float, most: int, shrinking: bool = True,
    megabytes: float = 200.0,
) -> Solution:  # fmt: skip
    """Solve min |w|^2/2 + sum_i C_i sum_j max(0, 1 - s_ij (w'phi(x_i) - b_j)).

    Implicit constraints (SVORIM): j are all thresholds. Explicit ones (SVOREX): the two beside
    the rank of row i, subject to b_1 <= ... <= b_(p-1); ranks without rows are then passed over.

    Parameters
    ----------
    X : (n, d) rows; or the kernel's matrix (n, n), where it is precomputed
    ranks, count : (n,) from 0, and how many there are, p
    caps : (n,) C of each row; a row of 0 is none
    tol, most : how far from optimal a threshold may be; pairs moved at most
    shrinking : whether rows that are sure to stay are left out for a while
    megabytes : room for rows of the kernel

    Raises
    ------
    ValueError
        A value of the kernel is not finite.

    Examples
    --------
    >>> X, caps = np.array([[-2.0], [0.0], [2.0]]), np.ones(3)
    >>> found = solve_svor(X, np.arange(3), 3, Kernel("linear"), caps, tol=1e-9, most=1000)
    >>> found.thresholds.tolist(), found.objective, found.dual
    ([-1.0, 1.0], 0.5, 0.5)
    """
    used = np.flatnonzero(caps > 0.0)
    order = used[np.argsort(ranks[used], kind="stable")]
    present, own = np.unique(ranks[order], return_inverse=True)
    if not explicit:
        present, own = np.arange(count), ranks[order]
    part = _beginning(own, len(present), caps[order], explicit)
    chosen = X[order] if kernel.name != "precomputed" else X[order[:, None], order]
    rows = kernel_rows(
        np.ascontiguousarray(chosen), kernel, megabytes=megabytes,
        least=working_rows(len(part.a), len(order)),
        dtype="float32" if tol >= _SINGLE else "float64",
    )  # fmt: skip
    descent = Descent(tol, most, shrinking)
    violation = descent.run(part, rows)
    b, loss = best_thresholds(part.F, part.spans, part.caps)
    beta, half = np.zeros(len(ranks)), 0.5 * float(part.beta @ part.F)
    beta[order] = part.beta
    return Solution(
        beta, spread_thresholds(b, present, count, part.F), descent.moves, violation, half + loss,
        float(part.a.sum()) - half,
    )  # fmt: skip


def _beginning(ranks: Array, count: int, caps: Array, explicit: bool) -> Part:
    """Give all variables at 0, of rows sorted by rank."""
    n, thresholds = len(ranks), count - 1
    starts = np.searchsorted(ranks, np.arange(count + 1))
    spans = np.empty((thresholds, 3), np.int64)
    spans[:, 0], spans[:, 1], spans[:, 2] = 0, starts[1:-1], n
    if explicit:
        spans[:, 0], spans[:, 2] = starts[:-2], starts[2:]
    return Part(
        spans, caps, np.zeros((thresholds, n)), np.zeros(count), np.zeros(n), np.zeros(n), explicit
    )
