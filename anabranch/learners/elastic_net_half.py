"""A node's step of consensus ADMM with a server, in the one-message form."""

from math import sqrt

import numpy as np

from anabranch.features.frame import Frame
from anabranch.kernels.elastic_star import apart, distance, star_step
from anabranch.learners.elastic_net_moments import CoMoments
from anabranch.learners.elastic_net_settings import ElasticNetSettings
from anabranch.learners.elastic_net_system import System
from anabranch.learners.states import saved_array
from anabranch.protocol import Array, State

__all__ = ["Half", "carry_pull"]


class Half:
    """What a node keeps of the consensus: m = rho alpha + g, its own solution, the last alpha.

    g is the multiplier of theta = alpha. rho = kappa sqrt(n)/sum sqrt(n) unless given, in
    units in which every field has variance 1: a penalty per coordinate of the fields.
    """

    def __init__(self, settings: ElasticNetSettings) -> None:
        self.settings = settings
        self.system = System(settings.size)
        self.m, self.theta, self.alpha = (np.zeros(settings.size) for _ in range(3))
        self.rho = 0.0
        self.moved = 0.0
        """|alpha - the one before|."""
        self.loss = 0.0
        """Of this node's samples, by alpha."""
        self.residual, self._size = 0.0, 0.0
        """|theta - alpha|, and the larger of |theta| and |alpha|."""

    def carry(self, old: Frame, new: Frame, alpha: Array) -> None:
        """Go over to another frame; `alpha` is the one that m led to, in the old frame.

        With an alpha from before, what it moved by would be taken for slope, and grow with
        the distance of the frames.
        """
        self.m = carry_pull(self.m, self.rho, alpha, old, new)
        self.theta, self.alpha = old.carry(self.theta, new), old.carry(self.alpha, new)
        self.residual, self._size = apart(self.theta, self.alpha)

    def step(
        self,
        moments: CoMoments,
        frame: Frame,
        alpha: Array,
        total: float,
        root: float,
        relax: float,
    ) -> None:
        """Take alpha over.

        theta = (A + rho)^-1 (c + 2 rho alpha - m), m += relax rho (theta - alpha).

        Parameters
        ----------
        total, root : sum over the nodes of n, and of sqrt(n)
        """
        given = self.settings.rho
        rho = self.settings.kappa * sqrt(moments.count) / root if given is None else given
        self.system.update(moments, frame, total)
        self.moved = distance(alpha, self.alpha)
        self.m, self.theta = self.m.copy(), self.theta.copy()
        self._step(rho, alpha, relax)
        self.rho, self.alpha = rho, alpha.copy()
        self.residual, self._size = apart(self.theta, alpha)

    def _step(self, rho: float, alpha: Array, relax: float) -> None:
        system = self.system
        if self.settings.solver == "cholesky" or rho == 0.0:
            L = system.factor(rho) if rho else system.A
            self.loss = star_step(
                system.A, system.c, system.square, L, rho, self.rho, relax, alpha, self.m,
                self.theta,
            )  # fmt: skip
            return
        self.loss = system.loss(alpha)
        self.m += (rho - self.rho) * alpha
        right = system.c + 2.0 * rho * alpha - self.m
        self.theta = system.step(rho, right, self.theta, self.settings.solver)
        self.m += relax * rho * (self.theta - alpha)

    def tolerated(self, difference: float) -> bool:
        """Tell whether a difference of parameters is too small to talk about."""
        own = self.settings
        return difference <= own.absolute * sqrt(own.size) + own.relative * self._size

    def export(self) -> State:
        """Give the state as arrays."""
        return {
            "half": np.stack([self.m, self.theta, self.alpha]),
            "half_numbers": np.array([self.rho, self.moved, self.loss]),
        }

    def restore(self, state: State) -> None:
        """Take it back; raises ModelError."""
        self.m, self.theta, self.alpha = saved_array(state, "half", (3, self.settings.size))
        self.rho, self.moved, self.loss = saved_array(state, "half_numbers", (3,)).tolist()
        self.residual, self._size = apart(self.theta, self.alpha)


def carry_pull(m: Array, rho: float, alpha: Array, old: Frame, new: Frame) -> Array:
    """Give m = rho alpha + g in another frame: alpha as parameters, g as a gradient."""
    pull: Array = rho * old.carry(alpha, new) + old.carry_slope(m - rho * alpha, new)
    return pull
