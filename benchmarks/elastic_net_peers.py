"""What the elastic net's benchmark holds beside each other, as steps: predict rows, learn them."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit
from river import linear_model, optim, preprocessing

from anabranch.learners import ElasticNet
from anabranch.network import combination_weights, star
from anabranch.protocol import Array
from anabranch.simulate import Tick, simulate

__all__ = [
    "Pair",
    "Step",
    "alone",
    "blocks_of",
    "linear",
    "plain_river",
    "rls",
    "rmse",
    "run",
    "together",
]

Pair = tuple[Array, Array]
Step = Callable[[Array, Array], Array]
"""Predicts rows, then learns them."""


def rmse(y: Array, predicted: Array) -> float:
    return float(np.sqrt(np.mean((y - predicted) ** 2)))


def blocks_of(X: Array, y: Array, size: int) -> list[Pair]:
    edges = [*range(0, len(y), size), len(y)]
    return [(X[a:b], y[a:b]) for a, b in pairwise(edges)]


def run(step: Step, blocks: Sequence[Pair]) -> Array:
    return np.concatenate([step(X, y) for X, y in blocks])


def together(
    ticks: Sequence[Tick], names: Sequence[str], u: float, rounds: int = 1
) -> dict[str, list[Array]]:
    """Let nodes and a server learn together, in so many rounds a tick; gives the predictions."""
    width = next(iter(ticks[0].values()))[0].shape[1]
    learners = {name: ElasticNet(width, u1=u, u2=u) for name in names}
    learners["server"] = ElasticNet(width, u1=u, u2=u, role="hub")
    weights = combination_weights(star(["server", *names]))
    return simulate(learners, weights, ticks, rounds_per_tick=rounds).predicted


def alone(u: float, features: int) -> Step:
    learner = ElasticNet(features, u1=u, u2=u)

    def step(X: Array, y: Array) -> Array:
        predicted = learner.predict_then_learn(X, y)
        learner.combine(0, {}, {})
        return predicted

    return step


def _river_step(model: Any) -> Step:
    """Each row predicted, then learned: within a tick as well, which the others do not."""

    def step(X: Array, y: Array) -> Array:
        return _one_by_one(model, _samples(X), y.tolist())

    return step


def linear(step: float) -> Step:
    """River's LinearRegression over its running z-scores; each row predicted, then learned."""
    model = linear_model.LinearRegression(optim.SGD(step))
    return _river_step(preprocessing.StandardScaler() | model)


@njit(cache=True, nogil=True)
def rls(X: Array, y: Array, decay: float) -> Array:
    """Recursive least squares with an intercept, P = 100 I at first."""
    n, p = X.shape
    P, w, x = 100.0 * np.eye(p + 1), np.zeros(p + 1), np.ones(p + 1)
    out = np.empty(n)
    for r in range(n):
        x[:p] = X[r]
        out[r] = np.sum(w * x)
        Px = np.zeros(p + 1)
        for i in range(p + 1):
            for j in range(p + 1):
                Px[i] += P[i, j] * x[j]
        gain = Px / (decay + np.sum(x * Px))
        w += gain * (y[r] - out[r])
        for i in range(p + 1):
            for j in range(p + 1):
                P[i, j] = (P[i, j] - gain[i] * Px[j]) / decay
    return out


def plain_river(X: Array, y: Array) -> Callable[[], Array]:
    """River's LinearRegression as it comes; dictionaries are made beforehand."""
    samples, targets = _samples(X), y.tolist()

    def loop() -> Array:
        return _one_by_one(linear_model.LinearRegression(), samples, targets)

    return loop


def _one_by_one(model: Any, samples: Sequence[Any], targets: Sequence[float]) -> Array:
    out = []
    for sample, target in zip(samples, targets, strict=True):
        out.append(model.predict_one(sample))
        model.learn_one(sample, target)
    return np.array(out)


def _samples(X: Array) -> list[dict[Any, float]]:
    return [dict(enumerate(row)) for row in X.tolist()]
