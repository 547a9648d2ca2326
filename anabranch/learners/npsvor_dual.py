"""L1- and L2-NPSVOR by dual coordinate descent, all planes over one pass of the rows."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from anabranch.kernels.npsvor import dual_passes, duality, squares
from anabranch.kernels.sparse_lanes import lane_zeros, lanes_for
from anabranch.learners.npsvor_trace import Trace
from anabranch.protocol import Array
from anabranch.sparse import SparseRows

__all__ = [
    "Costs",
    "Planes",
    "Problem",
    "descend_dual",
    "empty_planes",
    "planes_of",
    "values_of",
]


_NONZEROS = 10_000_000
"""Visited in one call, roughly: a second or less, in which nothing interrupts it."""


class Costs(NamedTuple):
    """What errors cost: C1 near the own rank, beyond eps; C2 on the wrong side of the margin."""

    near: float
    far: float
    eps: float
    bias: float
    """Value of the constant field that carries the bias; 0 for no bias."""


@dataclass(frozen=True)
class Problem:
    """Rows with their ranks (n,) from 0, of `planes` ranks, weights (n,), costs and loss."""

    rows: SparseRows
    ranks: Array
    planes: int
    weights: Array
    costs: Costs
    squared: bool = True

    @cached_property
    def norms(self) -> Array:
        """|x_i|^2 with the bias (n,)."""
        norms = np.empty(len(self.rows), self.rows.dtype)
        squares(self.rows.indptr, self.rows.values, self.costs.bias, norms)
        return norms


@dataclass
class Planes:
    """All planes and the dual variables they are made of.

    Attributes
    ----------
    W : (features, lanes), a column a plane; those beyond the planes are 0
    B : (lanes,) weights of the bias field
    beta : (n, lanes), with w = sum_i beta_i x_i
    passes : passes over the rows so far
    settled : whether the last descent came to its tolerance
    """

    W: Array
    B: Array
    beta: Array
    passes: int = 0
    settled: bool = False


def empty_planes(problem: Problem) -> Planes:
    """Give planes of zeros."""
    lanes, kind = lanes_for(problem.planes), problem.rows.values.dtype
    return Planes(
        lane_zeros(problem.rows.features, lanes, kind),
        np.zeros(lanes, kind),
        lane_zeros(len(problem.rows), lanes, kind),
    )


def planes_of(problem: Problem, beta: Array) -> Planes:
    """Give the planes of dual variables (n, lanes) of any dtype, once within their bounds."""
    far = problem.costs.far * problem.weights[:, None]
    near = problem.costs.near * problem.weights[:, None]
    if problem.squared:
        far, near = (np.where(cap > 0.0, np.inf, 0.0) for cap in (far, near))
    lanes = np.arange(beta.shape[1])
    sides = np.sign(problem.ranks[:, None] - lanes)
    inside = np.where(sides == 0, np.clip(beta, -near, near), sides * np.clip(sides * beta, 0, far))
    inside[:, problem.planes :] = 0.0
    planes = empty_planes(problem)
    planes.beta[:] = inside
    W = problem.rows.matrix(problem.costs.bias).T @ planes.beta
    planes.W[:], planes.B[:] = W[:-1], W[-1]
    return planes


def descend_dual(
    problem: Problem, planes: Planes, *, tol: float, most: int, seed: int,
    trace: Trace | None = None,
) -> Planes:  # fmt: skip
    """Pass over the rows in random order until no projected gradient exceeds `tol`.

    Parameters
    ----------
    planes : where to begin, changed in place; consistent with its `beta`
    most : passes at most
    trace : told of every pass
    """
    rows, worst = problem.rows, np.empty_like(planes.B)
    order = np.flatnonzero(problem.weights > 0.0).astype(np.uint32)
    at_once = 1 if trace is not None else 1 + _NONZEROS // (1 + len(rows.indices))
    done = 0
    if trace is not None:
        trace.note(lambda: values_of(problem, planes)[0])
    while done < most and not (done and planes.settled):
        done += dual_passes(
            order, rows.indptr, rows.indices, rows.values, problem.ranks, problem.norms,
            problem.weights, problem.costs, problem.squared, problem.planes, planes.W.reshape(-1),
            planes.B, planes.beta.reshape(-1), worst, np.uint64(seed), done,
            min(at_once, most - done), tol,
        )  # fmt: skip
        planes.settled = bool(worst.max() <= tol)
        if trace is not None:
            trace.note(lambda: values_of(problem, planes)[0])
    planes.passes += done
    return planes


def values_of(problem: Problem, planes: Planes) -> tuple[Array, Array]:
    """Give every plane's objective, and the value of its dual: two arrays (planes,)."""
    rows = problem.rows
    sums = np.zeros((3, problem.planes))
    duality(
        rows.indptr, rows.indices, rows.values, problem.ranks, problem.weights, problem.costs,
        problem.squared, problem.planes, planes.W.reshape(-1), planes.B, planes.beta, sums,
    )  # fmt: skip
    half = 0.5 * (sums[2] + planes.B[: problem.planes].astype(np.float64) ** 2)
    return half + sums[0], sums[1] - half
