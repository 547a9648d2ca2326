"""The exact optimum of dSVOR's objective on all samples in one place, by an interior point."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from anabranch.errors import ConfigurationError, SampleError
from anabranch.learners.batch import BatchDSVOR
from anabranch.learners.options import check_between, check_whole
from anabranch.learners.rows import checked_column, checked_rows
from anabranch.protocol import Array

__all__ = ["Optimum", "objective", "optimum_of", "solve_optimum"]

_ZEROS = (1e-6, 1e-8, 1e-10, 1e-12)
"""A weight is 0 that moves no sample's margin by more: the first that keeps the gap."""
_RIDGES = (0.0, 1e-14, 1e-12, 1e-10, 1e-8)
"""Shares of its diagonal that the Newton matrix is given where rounding leaves it indefinite."""
_USELESS = 1e-3
_STEPS = 200
_BOUNDARY = 0.995


@dataclass(frozen=True, slots=True)
class Optimum:
    """The parameters where lam [(1 - alpha)/2 |w|^2 + alpha |w|_1] + mean hinge is least.

    Attributes
    ----------
    w : (D,), with exact zeros
    b : (Q - 1,), in order
    objective : value there
    gap : by how much it may be above the least one, at most, relative to it
    """

    w: Array
    b: Array
    objective: float
    gap: float

    @property
    def zeros(self) -> float:
        """The share of weights that are zero."""
        return float((self.w == 0.0).mean())


def objective(Z: Array, y: Array, w: Array, b: Array, *, lam: float, alpha: float) -> float:
    """Give lam [(1 - alpha)/2 |w|^2 + alpha |w|_1] + mean hinge, summed over thresholds.

    >>> objective(np.eye(2), np.array([1, 2]), np.zeros(2), np.zeros(1), lam=0.1, alpha=0.5)
    1.0
    """
    margins = _sides(y, b.size) * ((Z @ w)[:, None] - b)
    penalty = lam * ((1.0 - alpha) / 2.0 * float(w @ w) + alpha * float(np.abs(w).sum()))
    return penalty + float(np.maximum(1.0 - margins, 0.0).sum()) / len(Z)


def _sides(y: Array, thresholds: int) -> Array:
    """1 where a rank is above a threshold, else -1: (n, Q - 1)."""
    return np.where(np.asarray(y)[:, None] > np.arange(1, thresholds + 1), 1.0, -1.0)


class _Point:
    """A point with all inequalities strict, and Newton's steps from it along the central path.

    With a multiplier a in (0, 1) for each sample and threshold, t = margin - 1 + xi,
    w = p - n and u = l1 - dp = dn - l1: on the path a t = (1 - a) xi = p dp = n dn = mu. The
    objective is taken times n, so the hinges have weight 1.
    """

    def __init__(self, Z: Array, sides: Array, l2: float, l1: float) -> None:
        self.Z, self.sides, self.l2, self.l1 = Z, sides, l2, l1
        self.w, self.b = np.zeros(Z.shape[1]), np.zeros(sides.shape[1])
        self.a, self.xi = np.full(sides.shape, 0.5), np.full(sides.shape, 2.0)
        self.t = np.ones(sides.shape)
        self.p, self.n, self.u = np.ones_like(self.w), np.ones_like(self.w), np.zeros_like(self.w)

    def pairs(self) -> list[tuple[Array, Array]]:
        """Numbers whose products are mu on the path; what l1 = 0 has no use for is left out."""
        found = [(self.a, self.t), (1.0 - self.a, self.xi)]
        sparse = [(self.p, self.l1 - self.u), (self.n, self.l1 + self.u)]
        return found + (sparse if self.l1 > 0.0 else [])

    @property
    def mu(self) -> float:
        """The mean product."""
        pairs = self.pairs()
        return float(sum((x * z).sum() for x, z in pairs)) / sum(x.size for x, _ in pairs)

    def residuals(self) -> tuple[Array, Array]:
        """How far w and b are from stationary."""
        pull = self.sides * self.a
        return self.l2 * self.w + self.u - self.Z.T @ pull.sum(axis=1), pull.sum(axis=0)

    def bounds(self) -> tuple[float, float]:
        """The objective, and what it is at least anywhere."""
        r_w, r_b = self.residuals()
        excess = abs(float(r_w @ self.w)) + abs(float(r_b @ self.b))
        excess += float(sum((x * z).sum() for x, z in self.pairs()))
        value = self.l2 / 2.0 * float(self.w @ self.w) + self.l1 * float(np.abs(self.w).sum())
        value += float(self.xi.sum())
        return value, value - excess

    def factor(self) -> None:
        """Factor the Newton matrix; D and E are diagonals that stand for a, t, xi and p, n, u."""
        self.D = self.t / self.a + self.xi / (1.0 - self.a)
        self.E = self.p / (self.l1 - self.u) + self.n / (self.l1 + self.u) if self.l1 else None
        weights = 1.0 / self.D
        K = np.empty((self.w.size + self.b.size,) * 2)
        D = self.w.size
        K[:D, :D] = self.Z.T @ (weights.sum(axis=1)[:, None] * self.Z)
        K[np.arange(D), np.arange(D)] += self.l2 + (0.0 if self.E is None else 1.0 / self.E)
        K[:D, D:] = -self.Z.T @ weights
        K[D:, :D] = K[:D, D:].T
        K[D:, D:] = np.diag(weights.sum(axis=0))
        self.factors = _factors(K)

    def direction(self, goals: list[Array]) -> dict[str, Array]:
        """Solve for the step whose products are the goals to first order."""
        r_w, r_b = self.residuals()
        left = goals[0] / self.a - self.t - goals[1] / (1.0 - self.a) + self.xi
        pull = self.sides * left / self.D
        right = self.Z.T @ pull.sum(axis=1) - r_w
        if self.E is not None:
            shift = goals[2] / (self.l1 - self.u) - self.p - goals[3] / (self.l1 + self.u) + self.n
            right = right + shift / self.E
        found = cho_solve(self.factors, np.concatenate([right, -r_b - pull.sum(axis=0)]))
        w, b = found[: self.w.size], found[self.w.size :]
        a = (left - self.sides * ((self.Z @ w)[:, None] - b)) / self.D
        step = {"w": w, "b": b, "a": a}
        step["t"] = goals[0] / self.a - self.t - self.t / self.a * a
        step["xi"] = goals[1] / (1.0 - self.a) - self.xi + self.xi / (1.0 - self.a) * a
        if self.E is not None:
            u = (w - shift) / self.E
            step["u"] = u
            step["p"] = (goals[2] + self.p * u) / (self.l1 - self.u) - self.p
            step["n"] = (goals[3] - self.n * u) / (self.l1 + self.u) - self.n
        return step

    def moves(self, step: dict[str, Array]) -> list[tuple[Array, Array]]:
        """How the numbers of `pairs` move along a step."""
        found = [(step["a"], step["t"]), (-step["a"], step["xi"])]
        return found + ([(step["p"], -step["u"]), (step["n"], step["u"])] if "u" in step else [])

    def longest(self, step: dict[str, Array]) -> float:
        """The part of a step that keeps everything positive, up to 1."""
        most = 1.0
        for pair, move in zip(self.pairs(), self.moves(step), strict=True):
            for x, dx in zip(pair, move, strict=True):
                down = dx < 0.0
                if down.any():
                    most = min(most, float((-x[down] / dx[down]).min()))
        return most

    def advance(self) -> None:
        """Take Mehrotra's predictor and corrector step."""
        self.factor()
        mu, pairs = self.mu, self.pairs()
        first = self.direction([np.zeros_like(x) for x, _ in pairs])
        reach, moves = self.longest(first), self.moves(first)
        ahead = sum(
            float(((x + reach * dx) * (z + reach * dz)).sum())
            for (x, z), (dx, dz) in zip(pairs, moves, strict=True)
        )
        aim = mu * (ahead / (mu * sum(x.size for x, _ in pairs))) ** 3
        step = self.direction([aim - dx * dz for dx, dz in moves])
        reach = _BOUNDARY * self.longest(step)
        for name, move in step.items():
            setattr(self, name, getattr(self, name) + reach * move)


def _factors(K: Array) -> tuple[Array, bool]:
    """Factor by Cholesky, with the least ridge that rounding asks for.

    Raises
    ------
    LinAlgError
        None is enough.
    """
    diagonal = K.diagonal().copy()
    for ridge in _RIDGES:
        try:
            np.fill_diagonal(K, (1.0 + ridge) * diagonal)
            factors: tuple[Array, bool] = cho_factor(K, lower=True)
        except (LinAlgError, ValueError):
            continue
        return factors
    raise LinAlgError("not positive definite")


def solve_optimum(
    Z: Array, y: Array, ranks: int, *, lam: float, alpha: float, tol: float = 1e-9
) -> Optimum:
    """Minimise the objective over rows of features Z (n, D) with ranks y (n,).

    A primal-dual interior point method; a step costs n D^2. The gap is that of the w given back,
    zeros and all; it stays above tol where rounding lets it fall no further.

    Raises
    ------
    ConfigurationError
        lam or tol is not above 0, alpha not between 0 and 1, ranks below 2, there is no row, or
        rounding stops the method far from the optimum.
    SampleError
        Z or y has the wrong shape or a value that is not finite, or a label is not a rank.

    Examples
    --------
    >>> Z = np.random.default_rng(0).normal(size=(200, 6))
    >>> best = solve_optimum(Z, np.where(Z[:, 0] > 0, 2, 1), 2, lam=0.1, alpha=0.9)
    >>> best.gap < 1e-9, best.zeros > 0.5
    (True, True)
    """
    check_between("lam", lam, 0.0, above=True)
    check_between("alpha", alpha, 0.0, 1.0)
    check_between("tol", tol, 0.0, above=True)
    Z, y = _checked(Z, y, ranks)
    sides = _sides(y, ranks - 1)
    between = sides.min(axis=0) < sides.max(axis=0)
    w, b, least = np.zeros(Z.shape[1]), np.empty(0), 0.0
    if between.any():
        point = _Point(Z, sides[:, between], len(Z) * lam * (1.0 - alpha), len(Z) * lam * alpha)
        w, b, least = _solved(point, tol)

    def finished(cut: float) -> Optimum:
        kept = np.where(np.abs(w) * np.abs(Z).max(axis=0) > cut, w, 0.0)
        found = _all_thresholds(Z @ kept, sides, between, b)
        value = objective(Z, y, kept, found, lam=lam, alpha=alpha)
        return Optimum(kept, found, value, max(0.0, 1.0 - least / len(Z) / value) if value else 0.0)

    whole = finished(0.0)
    if not whole.gap < _USELESS:
        raise ConfigurationError(
            f"rounding stops the solver {whole.gap:.0e} above the optimum: lam={lam}, "
            f"alpha={alpha}, Z has {Z.shape}; allowed: a larger lam, or fewer features"
        )
    cuts = map(finished, _ZEROS if alpha > 0.0 else ())
    return next((one for one in cuts if one.gap < max(tol, 2.0 * whole.gap)), whole)


def _checked(Z: Array, y: Array, ranks: int) -> tuple[Array, Array]:
    """Give rows (n, D) and ranks (n,) as float64."""
    check_whole("ranks", ranks, 2)
    if np.ndim(Z) != 2:
        raise SampleError(f"wrong shape: Z has {np.shape(Z)}; allowed: (n, D)")
    if len(Z) == 0:
        raise ConfigurationError("nothing to solve: Z has no row; allowed: one or more")
    rows = checked_rows(Z, np.shape(Z)[1])
    labels = checked_column(y, len(rows))
    wrong = np.flatnonzero((labels < 1) | (labels > ranks) | (labels % 1.0 != 0.0))
    if wrong.size:
        raise SampleError(
            f"not a rank: y[{wrong[0]}]={labels[wrong[0]]:g}; allowed: whole numbers 1 to {ranks}"
        )
    return rows, labels


def _solved(point: _Point, tol: float) -> tuple[Array, Array, float]:
    """Give w, b and what the objective is at least, once the gap is below tol or falls no more."""
    best, gap, w, b, most = np.inf, np.inf, point.w, point.b, 0.0
    for _ in range(_STEPS):
        before, (value, least) = gap, point.bounds()
        gap = (value - least) / value
        if gap < best:
            best, w, b, most = gap, point.w, point.b, least
        if not tol <= gap < 2.0 * before:
            break
        try:
            point.advance()
        except LinAlgError:
            break
    return w, b, most


def _all_thresholds(f: Array, sides: Array, between: Array, found: Array) -> Array:
    """Add those that no sample lies above, or none below: a margin beyond all samples."""
    b = np.where(sides[0] < 0.0, f.max() + 1.0, f.min() - 1.0)
    b[between] = found
    return np.maximum.accumulate(b)


def optimum_of(learner: BatchDSVOR) -> Optimum:
    """Solve for the rows of a learner, with its features and its regulariser.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 120)[:, None]
    >>> node = BatchDSVOR(1, 2, dimension=30, scaling="none")
    >>> node.learn(X, np.where(X[:, 0] > 0, 2, 1))
    >>> best = optimum_of(node)
    >>> best.w.shape, best.zeros > 0.5
    ((30,), True)
    """
    Z, y = learner.mapped_shard()
    own = learner.settings
    return solve_optimum(Z[:, : learner.dimension], y, own.ranks, lam=own.lam, alpha=own.alpha)
