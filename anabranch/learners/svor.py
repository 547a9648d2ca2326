"""The centralised solution of support vector ordinal regression, for any kernel."""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from anabranch.kernels.svor_pairs import Part
from anabranch.learners.kernel_rows import Kernel, KernelRows, decisions, kernel_rows
from anabranch.learners.svor_descent import Descent, renew, values_of, violation_of, working_rows
from anabranch.learners.svor_thresholds import best_thresholds, spread_thresholds
from anabranch.protocol import Array

__all__ = ["Solution", "solve_svor", "warn_vain"]

_SINGLE = 1e-4
"""Rows of the kernel are kept in single precision for this tolerance and above."""
_TIMES = 3
"""Descents at most, each followed by values without the rounding of its moves."""
_ROUNDING = 1e-9
"""Of values of the function."""


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
    rounding : what may be wrong with a threshold by rounding alone
    """

    beta: Array
    thresholds: Array
    moves: int
    violation: float
    objective: float
    dual: float
    rounding: float = 0.0


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
    # beta sums to 0, so that the mean of rows matters to thresholds only, but rounding grows by it.
    centre = chosen.mean(axis=0) if kernel.name == "linear" else np.zeros(1)
    chosen = np.ascontiguousarray(chosen - centre)
    rows = kernel_rows(
        chosen, kernel, megabytes=megabytes,
        least=working_rows(len(part.a), len(order)),
        dtype="float32" if tol >= _SINGLE else "float64",
    )  # fmt: skip
    descent = Descent(tol, most, shrinking)
    violation = _solved(descent, part, rows)
    objective, dual = values_of(part)
    b, beta = best_thresholds(part.F, part.spans, part.caps)[0], np.zeros(len(ranks))
    beta[order] = part.beta
    thresholds = spread_thresholds(b, present, count, part.F)
    if kernel.name == "linear":
        thresholds += _offset(X[order], part)
    level = _ROUNDING * (1.0 + float(np.abs(part.F).max()))
    return Solution(beta, thresholds, descent.moves, violation, objective, dual, level)


def _offset(X: Array, part: Part) -> float:
    """Give how far a linear function of rows X lies above the same of centred rows."""
    moved = np.flatnonzero(part.beta)
    if not len(moved):
        return 0.0
    f = decisions(X[moved], X[moved], part.beta[moved], Kernel("linear"))
    return float((f - part.F[moved]).mean())


def _solved(descent: Descent, part: Part, rows: KernelRows) -> float:
    """Descend, and again where the rounding of all moves hid something; gives the violation."""
    violation = np.inf
    for _ in range(_TIMES):
        before = descent.moves
        hidden = descent.run(part, rows)
        renew(part, rows)
        violation = violation_of(part)
        if violation <= max(hidden, descent.tol) or descent.moves == before:
            break
    return violation


def warn_vain(name: str, found: Solution, *, depth: int = 0) -> None:
    """Warn, as scikit-learn does, of moves that lead nowhere.

    The warning names the line that called the function `depth` calls further out than this one's.
    """
    warnings.warn(
        f"{name} stopped after {found.moves} steps that led no nearer its tolerance: a threshold "
        f"is {found.violation:.2g} from optimal; scale X, or lower C",
        ConvergenceWarning,
        stacklevel=3 + depth,
    )


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
