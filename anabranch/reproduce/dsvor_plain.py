"""Batch dSVOR on a whole network in plain numpy, with the paper's choices as options."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from anabranch.kernels.ordinal import project
from anabranch.protocol import Array

__all__ = ["Model", "Plain", "Shards", "at_rounds", "zero_fraction"]


@dataclass(frozen=True, slots=True)
class Plain:
    """Settings of a run.

    Attributes
    ----------
    alpha, lam, step, decay : as for `BatchDSVOR`
    literal : the subgradient is taken where the node stands, before it combines: the paper's
        order of steps. Otherwise after that, as everywhere else here
    start : standard deviation of the first w; 0 is the zero start
    """

    alpha: float = 0.9
    lam: float = 1e-3
    step: float = 5.0
    decay: float = 0.01
    literal: bool = False
    start: float = 0.0


@dataclass(frozen=True, slots=True)
class Shards:
    """The nodes' rows, behind the feature map, padded to one length.

    Attributes
    ----------
    Z : (M, n, D), zeros where a node has fewer rows
    sides : (M, n, Q - 1), +1 where the rank is above the threshold, else -1; 0 where no row is
    share : (M,) what a row counts, 1/(N/M)
    """

    Z: Array
    sides: Array
    share: Array

    @classmethod
    def of(
        cls, Z: Array, y: Array, ranks: int, parts: Sequence[Array], *, alone: bool = False
    ) -> "Shards":
        """Deal rows Z (N, D) with ranks y to nodes by their numbers.

        `alone`: a row counts 1/N_m, as for a node that knows of no other.

        >>> parts = [np.array([0, 2]), np.array([1])]
        >>> shards = Shards.of(np.ones((3, 1)), np.array([1, 2, 2]), 2, parts)
        >>> shards.sides[..., 0].tolist(), shards.share.tolist()
        ([[-1.0, 1.0], [1.0, 0.0]], [0.6666666666666666, 0.6666666666666666])
        """
        longest = max(len(rows) for rows in parts)
        padded = np.zeros((len(parts), longest, Z.shape[1]))
        sides = np.zeros((len(parts), longest, ranks - 1))
        for m, rows in enumerate(parts):
            padded[m, : len(rows)] = Z[rows]
            sides[m, : len(rows)] = np.where(y[rows, None] > np.arange(1, ranks), 1.0, -1.0)
        sizes = np.array([len(rows) for rows in parts], dtype=np.float64)
        counted = np.maximum(sizes, 1.0) if alone else np.full(len(parts), sizes.mean())
        return cls(padded, sides, 1.0 / counted)


@dataclass(frozen=True, slots=True)
class Model:
    """Parameters of all nodes: w (M, D) and thresholds b (M, Q - 1)."""

    w: Array
    b: Array

    def predict(self, Z: Array) -> list[Array]:
        """Give each node's ranks (n,) of rows Z (n, D)."""
        f = Z @ self.w.T
        return [1 + (f[:, m, None] > b).sum(axis=1) for m, b in enumerate(self.b)]


def at_rounds(
    shards: Shards, mixing: Array, plan: Plain, rounds: Iterable[int], seed: int = 0
) -> dict[int, Model]:
    """Run, and give all parameters after some numbers of rounds.

    w <- soft((1 - eta l2) phi_w - eta g_w, eta l1), b <- in order(phi_b - eta g_b), with
    phi = C theta, eta = step/(1 + decay k), l2 = lam (1 - alpha), l1 = lam alpha.

    Parameters
    ----------
    mixing : C (M, M); the identity for nodes alone
    seed : of the first w, where it is not zero
    """
    marks, nodes, D = set(rounds), *shards.Z.shape[::2]
    theta = np.zeros((nodes, D + shards.sides.shape[2]))
    theta[:, :D] = plan.start * np.random.default_rng(seed).normal(size=(nodes, D))
    found = {}
    for k in range(max(marks)):
        phi = mixing @ theta
        gradient = _gradient(shards, theta if plan.literal else phi, D)
        theta = _adapted(phi, gradient, plan, plan.step / (1.0 + plan.decay * k), D)
        if k + 1 in marks:
            found[k + 1] = Model(theta[:, :D].copy(), theta[:, D:].copy())
    return found


def _gradient(shards: Shards, theta: Array, D: int) -> Array:
    """Give the subgradient of each node's part of the mean hinge (M, D + Q - 1)."""
    f = (shards.Z @ theta[:, :D, None])[..., 0]
    within = shards.sides * (f[..., None] - theta[:, None, D:]) < 1.0
    wanted = shards.sides * within
    by_margin = -wanted.sum(axis=2)[:, None, :] @ shards.Z
    gradient = np.concatenate([by_margin[:, 0], wanted.sum(axis=1)], axis=1)
    scaled: Array = gradient * shards.share[:, None]
    return scaled


def _adapted(phi: Array, gradient: Array, plan: Plain, eta: float, D: int) -> Array:
    theta: Array = phi - eta * gradient
    w = theta[:, :D]
    w -= eta * plan.lam * (1.0 - plan.alpha) * phi[:, :D]
    w -= np.clip(w, -eta * plan.lam * plan.alpha, eta * plan.lam * plan.alpha)
    for row in np.flatnonzero((np.diff(theta[:, D:], axis=1) < 0.0).any(axis=1)):
        project(theta[row], D)
    return theta


def zero_fraction(w: Array, prune: float = 0.0) -> float:
    """Give the share of weights that are zero, or below prune max|w| of their node.

    >>> zero_fraction(np.array([[0.0, 1.0, 0.005, -2.0]]), 0.01)
    0.5
    """
    largest = np.abs(w).max(axis=-1, keepdims=True)
    return float((np.abs(w) <= prune * largest).mean())
