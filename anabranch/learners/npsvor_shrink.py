"""L1- and L2-NPSVOR by the paper's dual coordinate descents: a plane at a time, with shrinking."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from anabranch.kernels.counters import mix
from anabranch.kernels.npsvor import shuffle
from anabranch.kernels.npsvor_shrink import plane_pass
from anabranch.learners.npsvor_dual import Planes, Problem, values_of
from anabranch.learners.npsvor_trace import Trace
from anabranch.protocol import Array

__all__ = ["RULES", "Rule", "descend_planes"]

Limits = tuple[float, float]


@dataclass(frozen=True)
class Rule:
    """When rows leave, and when a plane is done.

    Attributes
    ----------
    settled : of a pass's largest and smallest projected gradient and the sum of their sizes, the
        sum of the first pass, and the tolerance
    limits : beyond which rows at a bound leave in the next pass
    """

    settled: Callable[[Array, float, float], bool]
    limits: Callable[[Array], Limits]


def _widest(found: Array) -> Limits:
    most = max(found[0], -found[1])
    return most, -most


def _each(found: Array) -> Limits:
    return (found[0] if found[0] > 0.0 else inf), (found[1] if found[1] < 0.0 else -inf)


RULES = {
    "dcd-m": Rule(lambda found, first, tol: bool(found[2] <= tol * first), _widest),
    "dcd-mm": Rule(lambda found, _, tol: bool(found[0] - found[1] <= tol), _each),
}
"""DCD-M: the sizes of all projected gradients sum to `tol` of the first pass's, and the largest
size is the limit on both sides. DCD-Mm: the largest and the smallest, M and m, are within `tol` of
each other, and each is the limit on its side."""


def descend_planes(
    problem: Problem, planes: Planes, rule: Rule, *, tol: float, most: int, seed: int,
    trace: Trace | None = None,
) -> Planes:  # fmt: skip
    """Descend in one plane after the other; once a plane is done, check it on all rows.

    Parameters
    ----------
    planes : where to begin, changed in place; consistent with its `beta`
    most : passes at most in a plane
    trace : told of every pass
    """
    planes.settled = True
    if trace is not None:
        trace.note(lambda: values_of(problem, planes)[0])
    for rank in range(problem.planes):
        one = _OnePlane(problem, planes, rank)
        key = np.uint64(mix(np.uint64(seed), rank))
        done, settled = one.descend(rule, tol, most, key, trace)
        planes.passes += done
        planes.settled = planes.settled and settled
        one.keep(planes)
    return planes


class _OnePlane:
    """A plane's weights, the bias last, and its dual variables."""

    def __init__(self, problem: Problem, planes: Planes, rank: int) -> None:
        self._problem, self._rank = problem, rank
        self._sides = np.sign(problem.ranks - rank).astype(np.int8)
        self._w = np.append(planes.W[:, rank], planes.B[rank])
        self._beta = planes.beta[:, rank].copy()
        self._planes = planes

    def descend(
        self, rule: Rule, tol: float, most: int, key: np.uint64, trace: Trace | None
    ) -> tuple[int, bool]:
        """Give the number of passes, and whether the rule was met on all rows."""
        rows = np.flatnonzero(self._problem.weights > 0.0)
        count, limits, first = len(rows), (inf, -inf), inf
        for done in range(most):
            shuffle(rows[:count], np.uint64(mix(key, done)))
            found = np.array([-inf, inf, 0.0])
            whole, count = count == len(rows), self._pass(rows[:count], limits, found)
            first = found[2] if done == 0 else first
            if trace is not None:
                trace.note(self._objective, self._rank)
            if not rule.settled(found, first, tol):
                limits = rule.limits(found)
            elif whole and count == len(rows):
                return done + 1, True
            else:
                count, limits = len(rows), (inf, -inf)
        return most, False

    def _pass(self, active: Array, limits: Limits, found: Array) -> int:
        problem, rows = self._problem, self._problem.rows
        stay: int = plane_pass(
            active, rows.indptr, rows.indices, rows.values, self._sides, problem.norms,
            problem.weights, problem.costs, problem.squared, limits, self._w, self._beta, found,
        )  # fmt: skip
        return stay

    def _objective(self) -> float:
        self.keep(self._planes)
        return float(values_of(self._problem, self._planes)[0][self._rank])

    def keep(self, planes: Planes) -> None:
        """Write weights and dual variables back."""
        planes.W[:, self._rank], planes.B[self._rank] = self._w[:-1], self._w[-1]
        planes.beta[:, self._rank] = self._beta
