"""One run of the elastic net over nodes and a server, watched round by round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anabranch.evaluation.adjusted_r2 import adjusted
from anabranch.learners import BatchElasticNet
from anabranch.network import node_names
from anabranch.protocol import Array, Message
from anabranch.reproduce.elastic_net_data import Split

__all__ = ["PAPER", "Problem", "Trace", "centralised", "local_only", "run"]

_HUB = "hub"

PAPER: Mapping[str, Any] = {"scaling": "none", "rho": 1.0, "relax": 1.0}
"""The paper's algorithm: a scalar penalty, no relaxation."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is learned: a split of a data set, over how many nodes, and the penalties."""

    split: Split
    nodes: int = 20
    u1: float = 0.01
    u2: float = 0.01

    def objective(self, theta: Array) -> float:
        """Give F(w, b) over the rows to learn."""
        w, error = theta[:-1], _errors(theta, self.split.X, self.split.y)
        loss = 0.5 * float(np.square(error).mean())
        return loss + self.u1 * float(np.abs(w).sum()) + 0.5 * self.u2 * float(np.square(w).sum())

    def tested(self, theta: Array) -> tuple[float, float]:
        """Give RMSE and adjusted R^2 over the rows to test."""
        error, y = _errors(theta, self.split.held, self.split.held_targets), self.split.held_targets
        squares = float(np.square(error).sum())
        r2 = 1.0 - squares / float(np.square(y - y.mean()).sum())
        return float(np.sqrt(squares / len(y))), adjusted(r2, len(y), len(theta) - 1)

    def shards(self) -> list[tuple[Array, Array]]:
        """Deal the rows to learn to the nodes, in order."""
        parts = np.array_split(np.arange(len(self.split.y)), self.nodes)
        return [(self.split.X[part], self.split.y[part]) for part in parts]


@dataclass(frozen=True, slots=True)
class Trace:
    """What happened, round by round (a node's step and the server's).

    Attributes
    ----------
    objective : F at the server's alpha
    primal : |{theta_i - alpha}|
    dual : rho sqrt(N) |change of alpha|
    mean_dual : rho N |change of the mean theta|, the paper's order of the steps
    rmse, adjusted : over the rows to test
    best : F at the optimum
    """

    objective: Array
    primal: Array
    dual: Array
    mean_dual: Array
    rmse: Array
    adjusted: Array
    best: float

    def stops(self, primal: float = 1e-2, dual: float = 1e-4, paper: bool = False) -> int | None:
        """Give the round, from 1, at which both residuals are small; None if never."""
        second = self.mean_dual if paper else self.dual
        return _first((self.primal <= primal) & (second <= dual))

    def within(self, share: float) -> int | None:
        """Give the round from which F stays within a share of the optimum's."""
        away = np.nonzero(self.objective > self.best * (1.0 + share))[0]
        last = int(away[-1]) + 2 if len(away) else 1
        return last if last <= len(self.objective) else None

    def dropped(self, share: float) -> int | None:
        """Give the first round at which F has made this share of its way to the optimum."""
        way = self.objective[0] - self.best
        return _first(self.objective <= self.best + (1.0 - share) * way)


def _first(true: Array) -> int | None:
    return int(np.argmax(true)) + 1 if true.any() else None


def _errors(theta: Array, X: Array, y: Array) -> Array:
    errors: Array = (X * theta[:-1]).sum(axis=1) + theta[-1] - y
    return errors


def run(problem: Problem, rounds: int, options: Mapping[str, Any] = PAPER) -> Trace:
    """Run nodes and server for a number of rounds.

    Parameters
    ----------
    options : settings of `BatchElasticNet`; the paper's by default

    Examples
    --------
    >>> from anabranch.reproduce.elastic_net_data import synthetic
    >>> trace = run(Problem(synthetic(), nodes=5), rounds=60)
    >>> trace.stops(), round(float(trace.rmse[-1]), 2)
    (48, 0.04)
    """
    settings = {"u1": problem.u1, "u2": problem.u2, **options}
    width = problem.split.X.shape[1]
    hub = BatchElasticNet(width, role="hub", **settings)
    nodes = {name: BatchElasticNet(width, **settings) for name in node_names(problem.nodes)}
    for node, shard in zip(nodes.values(), problem.shards(), strict=True):
        node.learn(*shard)
    seen = []
    for t in range(rounds):
        _exchange(2 * t, hub, nodes)
        seen.append((hub.parameters(), np.array([n.parameters() for n in nodes.values()])))
    return _trace(problem, seen, float(settings.get("rho") or 1.0))


def _exchange(t: int, hub: BatchElasticNet, nodes: Mapping[str, BatchElasticNet]) -> None:
    """Let the nodes speak and the server answer."""
    weights = dict.fromkeys(nodes, 1.0)
    up = {name: node.messages(t)[0] for name, node in nodes.items() if node.acts(t)}
    hub.combine(t, up, weights)
    sent: Sequence[Message] = hub.messages(t + 1) if hub.acts(t + 1) else ()
    down = {str(message.to): message for message in sent}
    hub.combine(t + 1, {}, weights)
    for name, node in nodes.items():
        node.combine(t, {}, {_HUB: 1.0})
        node.combine(t + 1, {_HUB: down[name]} if name in down else {}, {_HUB: 1.0})


def _trace(problem: Problem, seen: Sequence[tuple[Array, Array]], rho: float) -> Trace:
    alphas = np.array([alpha for alpha, _ in seen])
    thetas = np.array([theta for _, theta in seen])
    tests = np.array([problem.tested(alpha) for alpha in alphas])
    steps = np.diff(alphas, axis=0, prepend=0.0 * alphas[:1])
    means = thetas.mean(axis=1)
    mean_steps = np.diff(means, axis=0, prepend=0.0 * means[:1])
    return Trace(
        objective=np.array([problem.objective(alpha) for alpha in alphas]),
        primal=np.sqrt(np.square(thetas - alphas[:, None]).sum(axis=(1, 2))),
        dual=rho * np.sqrt(problem.nodes * np.square(steps).sum(axis=1)),
        mean_dual=rho * problem.nodes * np.sqrt(np.square(mean_steps).sum(axis=1)),
        rmse=tests[:, 0],
        adjusted=tests[:, 1],
        best=problem.objective(centralised(problem)),
    )


def centralised(problem: Problem) -> Array:
    """Give the optimum (w, b) for all rows at one place."""
    return _alone(problem, problem.split.X, problem.split.y)


def local_only(problem: Problem) -> tuple[float, float, float]:
    """Give the nodes' mean RMSE and adjusted R^2 where each learns alone.

    The third number is the mean adjusted R^2 with n the number of the node's own rows, as a
    paper might have it: it punishes small shards, and may be negative.
    """
    found = [(len(y), problem.tested(_alone(problem, X, y))) for X, y in problem.shards()]
    rmse = np.mean([scores[0] for _, scores in found])
    own = np.mean([_shrunk(problem, n, scores[1]) for n, scores in found])
    return float(rmse), float(np.mean([scores[1] for _, scores in found])), float(own)


def _shrunk(problem: Problem, rows: int, value: float) -> float:
    """Give an adjusted R^2 of the rows to test anew, as if of `rows` rows."""
    n, p = len(problem.split.held_targets), problem.split.X.shape[1]
    r2 = 1.0 - (1.0 - value) * (n - p - 1) / (n - 1)
    return adjusted(r2, rows, p)


def _alone(problem: Problem, X: Array, y: Array) -> Array:
    node = BatchElasticNet(X.shape[1], u1=problem.u1, u2=problem.u2, scaling="none")
    node.learn(X, y)
    node.combine(0, {}, {})
    return node.parameters()
