"""One node's least-squares problem, in the units the network has agreed on."""

import numpy as np

from anabranch.features.frame import Frame
from anabranch.kernels.elastic import fill_problem
from anabranch.kernels.elastic_solve import conjugate_gradients, factorise, solve
from anabranch.learners.elastic_net_moments import CoMoments
from anabranch.protocol import Array

__all__ = ["System"]


class System:
    """A = (1/M) [z 1]'[z 1] and c = (1/M) [z 1]'v of a node's moments in a frame.

    Built again only when samples, frame or M have changed.

    Parameters
    ----------
    size : p + 1

    Examples
    --------
    >>> moments, frame = CoMoments(1), Frame(1, np.zeros(2), np.ones(2))
    >>> moments.observe(np.array([[0.0], [2.0]]), np.array([1.0, 5.0]))
    >>> system = System(2)
    >>> system.update(moments, frame, 2.0)
    True
    >>> system.step(0.0, system.c, np.zeros(2)).round(9).tolist()  # y = 2 x + 1
    [2.0, 1.0]
    """

    def __init__(self, size: int) -> None:
        self.A, self.c, self.square = np.zeros((size, size)), np.zeros(size), 0.0
        self._L, self._ridge = np.zeros((size, size)), np.zeros(size)
        self._key: tuple[int, int, float] | None = None
        self._factored: float | None = None

    def update(self, moments: CoMoments, frame: Frame, total: float) -> bool:
        """Follow the samples, the frame and M = total; tell whether anything changed."""
        key = (moments.rows, frame.epoch, total)
        if key == self._key:
            return False
        count, mean, S = moments.total()
        self.square = float(
            fill_problem(count, mean, S, frame.centre, frame.scale, total, self.A, self.c)
        )
        self._key, self._factored = key, None
        return True

    def forget(self) -> None:
        """Build again at the next `update`: epochs of another hub may have the same number."""
        self._key = None

    def step(self, rho: float, right: Array, start: Array, solver: str = "cholesky") -> Array:
        """Solve (A + rho I) theta = right, from `start` where the solver takes one."""
        theta = start.copy()
        if solver == "prp":
            conjugate_gradients(self.A, rho, right, theta, 10 * theta.size)
            return theta
        solve(self.factor(rho), right, theta)
        return theta

    def factor(self, rho: float) -> Array:
        """Give L, lower, with L L' = A + rho I."""
        if self._factored != rho:
            self._ridge.fill(rho)
            factorise(self.A, self._ridge, self._L)
            self._factored = rho
        return self._L

    def slope(self, theta: Array) -> Array:
        """Give c - A theta, the way down of this node's loss."""
        found: Array = self.c - (self.A * theta).sum(axis=1)
        return found

    def loss(self, theta: Array) -> float:
        """Give (1/2M) sum (v - theta'(z, 1))^2 over this node's samples, never below 0."""
        slope = (self.A * theta).sum(axis=1) - 2.0 * self.c
        return max(0.0, float(0.5 * ((slope * theta).sum() + self.square)))
