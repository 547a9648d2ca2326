"""The dual of support vector ordinal regression, a few rows at a time."""

import numpy as np

from anabranch.kernels.svor_pairs import Bounds, Part, empty_bounds, scan
from anabranch.kernels.svor_rows import choose, lasting
from anabranch.kernels.svor_smo import smo
from anabranch.learners.kernel_rows import KernelRows
from anabranch.learners.svor_thresholds import best_thresholds
from anabranch.protocol import Array

__all__ = ["Descent", "renew", "values_of", "violation_of", "working_rows"]

_WORKING = 256
_MOST = 20_000
"""Moves among them before all rows are looked at again."""
_AT_ONCE = 1 << 30
"""Values that these moves may change: signals are not heard meanwhile."""
_PATIENCE = 200_000
"""Moves, at least, that must not be in vain: either what is wrong falls to the share `_BETTER`, or
the dual rises by the share `_CLOSER` of what lies between it and the problem."""
_BETTER, _CLOSER = 0.9, 1e-3
_SHORTEST = 10
"""Steps before rows are left out, at least."""
_WORTH = 0.7
"""Rows are left out where at most this share remains."""


def working_rows(thresholds: int, n: int) -> int:
    """Give how many of n rows are worked on at a time."""
    return min(n, max(_WORKING, 8 * thresholds))


def violation_of(part: Part) -> float:
    """Give how far the worst threshold is from optimal."""
    return max(0.0, scan(part, empty_bounds(*part.a.shape))[1])


def values_of(part: Part) -> tuple[float, float]:
    """Give the values of the problem, at the best thresholds, and of its dual."""
    half = 0.5 * float(part.beta @ part.F)
    return half + best_thresholds(part.F, part.spans, part.caps)[1], float(part.a.sum()) - half


def renew(part: Part, rows: KernelRows) -> None:
    """Compute beta and F from the variables, without the rounding of all moves."""
    part.beta[:] = 0.0
    for j, (_, split, _) in enumerate(part.spans):
        a, sides = part.a[j], np.where(np.arange(part.a.shape[1]) < split, -1.0, 1.0)
        wrong = float(sides @ a) - (part.mu[j] - part.mu[j + 1])
        room = np.minimum(a, part.caps - a)
        freest = int(np.argmax(room))
        if abs(wrong) < room[freest]:
            a[freest] -= sides[freest] * wrong
        part.beta[:] += sides * a
    used, step = np.flatnonzero(part.beta), working_rows(*part.a.shape)
    part.F[:] = 0.0
    for begin in range(0, len(used), step):  # there is room for so many
        some = used[begin : begin + step]
        rows.add(some, part.beta[some], part.F)


class _Patience:
    """Tells when moves are in vain."""

    def __init__(self, moves: int) -> None:
        self._moves, self._least, self._dual = moves, np.inf, 0.0

    def ends(self, part: Part, wrong: float, moves: int) -> bool:
        """Tell whether to end: too many moves led nowhere."""
        better = wrong < _BETTER * self._least
        if not better and moves - self._moves < max(_PATIENCE, 20 * len(part.beta)):
            return False
        value, dual = values_of(part)
        if not better and dual - self._dual <= _CLOSER * abs(value - dual):
            return True
        self._moves, self._least, self._dual = moves, min(wrong, self._least), dual
        return False


class Descent:
    """Moves pairs of variables until no threshold is farther than `tol` from optimal, or in vain.

    Each time the rows that err most, and of those before the ones between their bounds, are
    solved by themselves; then every F follows at once.

    Parameters
    ----------
    tol, most : how far from optimal a threshold may be; pairs moved at most
    shrinking : whether rows that are sure to stay are left out for a while

    Attributes
    ----------
    moves : pairs moved
    tol : as given
    """

    def __init__(self, tol: float, most: int, shrinking: bool) -> None:
        self.tol, self._most, self._shrinking = tol, most, shrinking
        self.moves = 0

    def run(self, part: Part, rows: KernelRows) -> float:
        """Solve for a part, in place; gives how far the worst threshold is from optimal.

        Raises
        ------
        ValueError
            A value of the kernel is not finite.
        """
        thresholds, n = part.a.shape
        bounds, size = empty_bounds(thresholds, n), working_rows(thresholds, n)
        chosen, sweep = np.arange(0), max(_SHORTEST, 2 * n // max(1, size))
        pause, patience = sweep, _Patience(self.moves)
        while True:
            wrong = max(0.0, scan(part, bounds)[1])
            if wrong <= self.tol or self.moves >= self._most:
                return wrong
            if patience.ends(part, wrong, self.moves):
                return wrong
            pause -= 1
            if self._shrinking and pause == 0:
                pause = sweep
                if self._left_out(part, rows, lasting(part, bounds)):
                    continue
            chosen = (
                self._choose(part, bounds, chosen, size) if part.beta.any() else _spread(n, size)
            )
            if self._improve(part, rows, chosen, wrong) == 0:
                return wrong  # as near as rounding allows

    def _choose(self, part: Part, bounds: Bounds, before: Array, size: int) -> Array:
        """Give the rows to work on: at most half of them new, the others from before."""
        thresholds, n = part.a.shape
        if size == n:
            return np.arange(n)
        taken, chosen = np.zeros(n, np.bool_), np.empty(size, np.int64)
        count = choose(part, bounds, max(1, size // (4 * max(1, thresholds))), taken, chosen)
        stay = before[~taken[before]]
        a = np.take(part.a, stay, axis=1)
        between = ((a > 0.0) & (a < part.caps[stay])).any(axis=0)
        stay = np.concatenate([stay[between], stay[~between]])[: size - count]
        return np.sort(np.concatenate([chosen[:count], stay]))

    def _improve(self, part: Part, rows: KernelRows, chosen: Array, wrong: float) -> int:
        """Solve for the chosen rows, and let every F follow; gives the number of moves."""
        some, whole = _taken(part, chosen), len(chosen) == len(part.beta)
        goal = self.tol if whole else max(self.tol, rows.inner * wrong)
        most = self._most - self.moves
        K = rows.among(chosen)
        if not np.isfinite(K).all():
            raise ValueError("X and the kernel give values that are not finite; scale X")
        values = K.shape[0] * (len(part.a) if part.coupled else 1)
        moves = smo(K, some, goal, min(most, _MOST, 1 + _AT_ONCE // values))
        change = some.beta - part.beta[chosen]
        part.a[:, chosen], part.beta[chosen] = some.a, some.beta
        moved = np.flatnonzero(change)
        rows.add(chosen[moved], change[moved], part.F)
        self.moves += moves
        return moves

    def _left_out(self, part: Part, rows: KernelRows, kept: Array) -> bool:
        """Solve without the rows that are not kept, if that saves enough; tells whether."""
        if len(kept) > _WORTH * len(part.beta):
            return False
        some = _taken(part, kept)
        self.run(some, rows.only(kept))
        change = some.beta - part.beta[kept]
        part.a[:, kept], part.beta[kept], part.F[kept] = some.a, some.beta, some.F
        others = np.delete(np.arange(len(part.beta)), kept)
        moved = np.flatnonzero(change)
        part.F[others] += rows.across(kept[moved], change[moved], others)
        return True


def _spread(n: int, size: int) -> Array:
    """Give rows evenly spread over all ranks: at first all variables are alike."""
    return np.unique(np.linspace(0, n - 1, size).astype(np.int64))


def _taken(part: Part, rows: Array) -> Part:
    """Give some rows, sorted, with copies of their variables; `mu` stays the same array."""
    return Part(
        np.searchsorted(rows, part.spans), part.caps[rows], np.take(part.a, rows, axis=1), part.mu,
        part.beta[rows], part.F[rows], part.coupled,
    )  # fmt: skip
