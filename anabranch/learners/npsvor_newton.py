"""L2-NPSVOR by a trust-region Newton method with conjugate gradients, a plane at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy import sparse

from anabranch.learners.npsvor_dual import Costs
from anabranch.protocol import Array

__all__ = ["NewtonResult", "Plane", "newton"]

_ACCEPT, _FAIR, _GOOD = 1e-4, 0.25, 0.75
_LEAST, _HALF, _MOST = 0.25, 0.5, 4.0
_INNER = 0.1
_ROUNDING = 1e-12

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
        z = self.X @ w
        far = self._sides * np.maximum(1.0 - self._sides * z, 0.0)
        near = np.sign(z) * np.maximum(np.abs(z) - self._eps, 0.0)
        beta: Array = 2.0 * self._cost * np.where(self._near, -near, far)
        return beta

    def objective(self, w: Array, beta: Array) -> float:
        """Give |w|^2/2 + sum beta^2/(4C)."""
        return 0.5 * float(w @ w) + float((beta * beta / (4.0 * self._cost)).sum())

    def gradient(self, w: Array, beta: Array) -> Array:
        """Give w - X'beta."""
        slope: Array = w - self.XT @ beta
        return slope

    def hessian(self, beta: Array) -> Product:
        """Give v -> v + X'DXv, with D = 2C where a row errs."""
        curved = np.where(beta != 0.0, 2.0 * self._cost, 0.0)
        return lambda v: v + self.XT @ (curved * (self.X @ v))

    def dual(self, beta: Array) -> float:
        """Give the dual's value at beta, a bound of the objective from below."""
        w = self.XT @ beta
        gain = np.where(self._near, -self._eps * np.abs(beta), self._sides * beta)
        return float((gain - beta * beta / (4.0 * self._cost)).sum()) - 0.5 * float(w @ w)


class NewtonResult(NamedTuple):
    """The plane found, its beta, how many Newton steps were tried, and the objective after each."""

    w: Array
    beta: Array
    steps: int
    objectives: list[float]


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


def newton(plane: Plane, w: Array, *, tol: float, most: int) -> NewtonResult:
    """Minimise from w until the gradient is `tol` times the one at 0 (Lin, Weng, Keerthi 2008).

    Parameters
    ----------
    w : (d,) where to begin; not changed
    most : Newton steps at most
    """
    w = w.copy()
    goal = tol * _length(plane.gradient(np.zeros_like(w), plane.pull(np.zeros_like(w))))
    beta = plane.pull(w)
    value, gradient = plane.objective(w, beta), plane.gradient(w, beta)
    region = _Region(_length(gradient))
    objectives: list[float] = []
    for tried in range(most):
        if _length(gradient) <= goal:
            return NewtonResult(w, beta, tried, objectives)
        step, residual = _conjugate_gradients(plane.hessian(beta), gradient, region.radius)
        slope = float(gradient @ step)
        predicted = -0.5 * (slope - float(step @ residual))
        beta_new = plane.pull(w + step)
        actual = value - plane.objective(w + step, beta_new)
        if tried == 0:
            region.radius = min(region.radius, _length(step))
        if region.judge(_length(step), actual, predicted, slope):
            w, beta, value = w + step, beta_new, value - actual
            gradient = plane.gradient(w, beta)
        objectives.append(value)
        if max(abs(actual), predicted) <= _ROUNDING * abs(value):
            break
    return NewtonResult(w, beta, len(objectives), objectives)


def _conjugate_gradients(product: Product, gradient: Array, radius: float) -> tuple[Array, Array]:
    """Solve H s = -g roughly within |s| <= radius; gives s and the residual -g - H s."""
    step, residual = np.zeros_like(gradient), -gradient
    direction, square = residual.copy(), float(residual @ residual)
    goal = _INNER * sqrt(square)
    while sqrt(square) > goal:
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
