"""L2-NPSVOR by a trust-region Newton method with conjugate gradients, a plane at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt
from typing import NamedTuple

import numpy as np
from scipy import sparse

from anabranch.learners.npsvor_dual import Costs, Problem
from anabranch.learners.npsvor_trace import Trace
from anabranch.protocol import Array

__all__ = ["NewtonPlanes", "NewtonResult", "Plane", "newton", "newton_planes"]

_ACCEPT, _FAIR, _GOOD = 1e-4, 0.25, 0.75
_LEAST, _HALF, _MOST = 0.25, 0.5, 4.0
_INNER, _INMOST = 0.1, 1e-10
_ROUNDING = 1e-12
_NEAR = 0.01
_HALVINGS, _TURNS = 50, 100

Product = Callable[[Array], Array]


class Plane:
    """One plane: min |w|^2/2 + C1 sum_near (|w'x| - eps)+^2 + C2 sum_far (1 - s w'x)+^2.

    Parameters
    ----------
    X, XT : (n, d) rows with the bias field, and their transpose, both by rows
    sides : (n,) -1 or +1, and 0 for rows of the plane's own rank
    weights : (n,) greater than 0
    """

    def __init__(
        self, X: sparse.csr_array, XT: sparse.csr_array, sides: Array, weights: Array, costs: Costs
    ) -> None:
        self.X, self.XT = X, XT
        self._sides, self._near, self._eps = sides, sides == 0.0, costs.eps
        self._cost = weights * np.where(self._near, costs.near, costs.far)

    def pull(self, w: Array) -> Array:
        """Give beta (n,), minus the losses' slopes: 2C s (1 - s z)+ or -2C sgn z (|z| - eps)+.

        A row's loss is beta^2/(4C), the gradient w - X'beta, and beta a point of the dual.
        """
        return self._pull(self.X @ w)

    def _pull(self, z: Array) -> Array:
        far = self._sides * np.maximum(1.0 - self._sides * z, 0.0)
        near = np.sign(z) * np.maximum(np.abs(z) - self._eps, 0.0)
        beta: Array = 2.0 * self._cost * np.where(self._near, -near, far)
        return beta

    def objective(self, w: Array, beta: Array) -> float:
        """Give |w|^2/2 + sum beta^2/(4C)."""
        return 0.5 * float(w @ w) + float((beta * beta / (4.0 * self._cost)).sum())

    def at(self, w: Array) -> float:
        """Give the objective."""
        return self.objective(w, self.pull(w))

    def gradient(self, w: Array, beta: Array) -> Array:
        """Give w - X'beta."""
        slope: Array = w - self.XT @ beta
        return slope

    def _curved(self, beta: Array) -> Array:
        return np.where(beta != 0.0, 2.0 * self._cost, 0.0)

    def hessian(self, beta: Array) -> Product:
        """Give v -> v + X'DXv, with D = 2C where a row errs."""
        curved = self._curved(beta)
        return lambda v: v + self.XT @ (curved * (self.X @ v))

    def shortened(self, w: Array, step: Array) -> Array:
        """Give the part of a step, up to all of it, at whose end the objective is least."""
        z, move = self.X @ w, self.X @ step
        ahead, length = float(w @ step), float(step @ step)
        low, high, t = 0.0, 1.0, 1.0
        for _ in range(_HALVINGS):
            beta = self._pull(z + t * move)
            slope = ahead + t * length - float(beta @ move)
            low, high = (low, t) if slope > 0.0 else (t, high)
            t -= slope / (length + float(self._curved(beta) @ (move * move)))
            if not low < t < high:
                t = 0.5 * (low + high)
        return t * step

    def dual(self, beta: Array) -> float:
        """Give the dual's largest value at multiples of beta, a bound of the objective from below.

        At t beta it is t gain - t^2 curve; the gap at pull(w) itself is half the gradient's square.
        """
        w = self.XT @ beta
        gain = float(np.where(self._near, -self._eps * np.abs(beta), self._sides * beta).sum())
        curve = float((beta * beta / (4.0 * self._cost)).sum()) + 0.5 * float(w @ w)
        return 0.25 * gain * (gain / curve) if gain > 0.0 else 0.0


class NewtonResult(NamedTuple):
    """The plane found, its beta, how many Newton steps were tried, and whether it is done."""

    w: Array
    beta: Array
    steps: int
    settled: bool


class NewtonPlanes(NamedTuple):
    """All planes (p, features + 1), the bias last; objectives and duals (p,); steps of all."""

    W: Array
    objective: Array
    dual: Array
    steps: int
    settled: bool


@dataclass
class _Region:
    """The trust region's radius, and how it follows what a step was worth."""

    radius: float

    def judge(self, length: float, actual: float, predicted: float, slope: float) -> bool:
        """Tell whether a step is taken; the radius shrinks, stays or grows by its worth."""
        bend = -actual - slope
        alpha = _MOST if bend <= 0.0 else max(_LEAST, -0.5 * slope / bend)
        wanted = alpha * length
        if actual < _ACCEPT * predicted:
            self.radius = min(max(alpha, _LEAST) * length, _HALF * self.radius)
        elif actual < _FAIR * predicted:
            self.radius = max(_LEAST * self.radius, min(wanted, _HALF * self.radius))
        elif actual < _GOOD * predicted:
            self.radius = max(_LEAST * self.radius, min(wanted, _MOST * self.radius))
        else:
            self.radius = max(self.radius, min(wanted, _MOST * self.radius))
        return actual > _ACCEPT * predicted


class _Descent:
    """Where a plane is, and its way down.

    Of a step that a trust-region method would refuse, the best part is taken: at large costs
    rows lie on their kinks, which ever shorter steps would cross, too. From then on steps are
    solved for more exactly, or they would leave those kinks again (Mangasarian 2002: exact steps
    and exact searches along them end after finitely many).
    """

    def __init__(self, plane: Plane, w: Array) -> None:
        self._plane, self._inner = plane, _INNER
        self._move(w, plane.pull(w))
        self._region, self._begun = _Region(_length(self.gradient)), False

    def _move(self, w: Array, beta: Array) -> None:
        self.w, self.beta = w, beta
        self.value = self._plane.objective(w, beta)
        self.gradient = self._plane.gradient(w, beta)

    def near(self, goal: float, gap: float) -> bool:
        """Tell whether the gradient is at its goal, and the gap so much of the objective."""
        return _length(self.gradient) <= min(goal, sqrt(2.0 * gap * self.value))

    def step(self) -> bool:
        """Take a step; tell whether it was worth more than rounding."""
        product, radius = self._plane.hessian(self.beta), self._region.radius
        step, residual = _conjugate_gradients(product, self.gradient, radius, self._inner)
        slope = float(self.gradient @ step)
        predicted = -0.5 * (slope - float(step @ residual))
        actual = self.value - self._plane.at(self.w + step)
        if not self._begun:
            self._region.radius, self._begun = min(radius, _length(step)), True
        kept = self._region.radius
        if not self._region.judge(_length(step), actual, predicted, slope):
            self._region.radius = kept
            self._inner = max(_INNER * self._inner, _INMOST)
            step = self._plane.shortened(self.w, step)
        w = self.w + step
        beta = self._plane.pull(w)
        gain = self.value - self._plane.objective(w, beta)
        if gain > 0.0:
            self._move(w, beta)
        return gain > 0.0 and max(gain, predicted) > _ROUNDING * self.value


def newton(
    plane: Plane, w: Array, *, tol: float, most: int, watch: Callable[[float], None] | None = None
) -> NewtonResult:
    """Minimise from w until the gradient is `tol` times the one at 0 (Lin, Weng, Keerthi 2008).

    The gap, half the gradient's square, must be `tol` times the objective, too, and 1 % of it at
    most: the gradient at 0 grows with C, the objective of rows that can be told apart does not.

    Parameters
    ----------
    w : (d,) where to begin; not changed
    most : Newton steps at most
    watch : told the objective after each step
    """
    nothing = np.zeros_like(w)
    goal = tol * _length(plane.gradient(nothing, plane.pull(nothing)))
    at, steps, moves = _Descent(plane, w), 0, True
    while not (done := at.near(goal, min(tol, _NEAR))) and moves and steps < most:
        moves, steps = at.step(), steps + 1
        if watch is not None:
            watch(at.value)
    # As near as numbers allow, which may be far.
    done = done or (not moves and at.near(inf, _NEAR))
    return NewtonResult(at.w, at.beta, steps, done)


def newton_planes(
    problem: Problem, start: Array | None, *, follow: bool, tol: float, most: int,
    trace: Trace | None = None,
) -> NewtonPlanes:  # fmt: skip
    """Minimise in one plane after the other; L2 only.

    Parameters
    ----------
    start : (p, features + 1), the bias last; None: at 0
    follow : begin each plane but the first where the one before ended, if there is no start
    most : Newton steps at most in a plane
    trace : told of every step
    """
    kept, p = problem.weights > 0.0, problem.planes
    X = problem.rows.matrix(problem.costs.bias)[kept]
    XT, ranks, weights = X.T.tocsr(), problem.ranks[kept], problem.weights[kept]
    W = np.zeros((p, X.shape[1])) if start is None else start.copy()
    planes = [
        Plane(X, XT, np.sign(ranks - rank).astype(float), weights, problem.costs)
        for rank in range(p)
    ]
    if trace is not None:
        trace.note(lambda: np.array([one.at(w) for one, w in zip(planes, W, strict=True)]))
    values, results = np.zeros((2, p)), []
    for rank, plane in enumerate(planes):
        begin = W[rank - 1] if follow and start is None and rank else W[rank]
        watch = None if trace is None else _told(trace, rank)
        found = newton(plane, begin, tol=tol, most=most, watch=watch)
        W[rank] = found.w
        values[:, rank] = plane.objective(found.w, found.beta), plane.dual(found.beta)
        results.append(found)
    steps, settled = sum(one.steps for one in results), all(one.settled for one in results)
    return NewtonPlanes(W, values[0], values[1], steps, settled)


def _told(trace: Trace, rank: int) -> Callable[[float], None]:
    return lambda value: trace.note(lambda: value, rank)


def _conjugate_gradients(
    product: Product, gradient: Array, radius: float, inner: float
) -> tuple[Array, Array]:
    """Solve H s = -g roughly within |s| <= radius; gives s and the residual -g - H s."""
    step, residual = np.zeros_like(gradient), -gradient
    direction, square = residual.copy(), float(residual @ residual)
    goal = inner * sqrt(square)
    for _ in range(_TURNS + 2 * len(gradient)):
        if sqrt(square) <= goal:
            break
        curved = product(direction)
        length = square / float(direction @ curved)
        if _length(step + length * direction) > radius:
            length = _to_the_edge(step, direction, radius)
            return step + length * direction, residual - length * curved
        step = step + length * direction
        residual = residual - length * curved
        before, square = square, float(residual @ residual)
        direction = residual + (square / before) * direction
    return step, residual


def _to_the_edge(step: Array, direction: Array, radius: float) -> float:
    """Give t >= 0 with |step + t direction| = radius."""
    a, b = float(direction @ direction), float(step @ direction)
    c = float(step @ step) - radius * radius
    root = sqrt(max(b * b - a * c, 0.0))
    return -c / (b + root) if b >= 0.0 else (root - b) / a


def _length(vector: Array) -> float:
    return sqrt(float(vector @ vector))
