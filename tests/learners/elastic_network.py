"""A plain loop over elastic nets, with losses, written for the tests alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
from sklearn.linear_model import ElasticNet as Reference

from anabranch.learners import make
from anabranch.network import Graph, star
from anabranch.protocol import Array, Message, NodeId

NOISE = 0.3
"""Of `stream`."""

Arrives = Callable[[int, NodeId, NodeId], bool]


def always(round: int, sender: NodeId, receiver: NodeId) -> bool:
    return True


def lossy(rate: float, seed: int = 0, up_only: bool = False) -> Arrives:
    """Lose messages at random; with `up_only`, those to the hub."""
    rng = np.random.default_rng(seed)
    return lambda t, sender, receiver: bool(rng.random() >= rate) or (up_only and receiver != "hub")


def present(share: float, seed: int = 0) -> Arrives:
    """Nodes take part with this probability: hear the hub in an odd round, answer in the next."""
    return lambda t, sender, receiver: bool(
        np.random.default_rng(
            [seed, (t + 1) // 2, int((receiver if sender == "hub" else sender)[1:])]
        ).random()
        < share
    )


def boyd(seed: int, rows: int = 1500, features: int = 9) -> tuple[Array, Array]:
    """The synthetic regression of Boyd 2011, section 11: sparse weights, little noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    w = np.where(rng.random(features) < 0.5, rng.normal(size=features), 0.0)
    w[0] = 1.0
    return X, X @ w + np.sqrt(1e-3) * rng.normal(size=rows)


def stream(ticks: int, drift: int = 0, seed: int = 0, spread: float = NOISE) -> tuple[Array, Array]:
    """X (ticks, 20, 9) and y (ticks, 20); the weights change at tick `drift`."""
    rng = np.random.default_rng(seed)
    w = np.tile(rng.normal(size=9), (ticks, 1))
    if drift:
        w[drift:] = rng.normal(size=9)
    X = rng.normal(size=(ticks, 20, 9))
    noise = spread * rng.normal(size=(ticks, 20))
    return X, np.einsum("tnp,tp->tn", X, w) + noise


def pooled(X: Array, y: Array) -> Array:
    """Errors of the optimum for all rows so far, computed anew at every tick."""
    node, made = make("elastic-net", 9, 0, growth=0.0), np.empty(y.shape)
    for t in range(len(X)):
        made[t] = node.predict_then_learn(X[t], y[t])
        node.combine(t, {}, {})
    return made - y


def rmse(errors: Array) -> float:
    return float(np.sqrt(np.mean(errors**2)))


def scores_of(values: Array) -> Array:
    spread = values.std(axis=0)
    return (values - values.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)


def objective(w: Array, b: float, X: Array, y: Array, u1: float, u2: float) -> float:
    error = X @ w + b - y
    return float(0.5 * np.mean(error**2) + u1 * np.abs(w).sum() + 0.5 * u2 * w @ w)


def reference(X: Array, y: Array, u1: float, u2: float) -> tuple[Array, float]:
    """scikit-learn's optimum of the same objective."""
    model = Reference(alpha=u1 + u2, l1_ratio=u1 / (u1 + u2), tol=1e-15, max_iter=10**6)
    model.fit(X, y)
    return model.coef_, float(model.intercept_)


@dataclass
class Net:
    """Learners on a graph; `hub` is one more node, without samples, unless it is in the graph."""

    graph: Graph
    learners: dict[NodeId, Any]
    arrives: Arrives = always
    messages: int = 0
    _round: Any = field(default_factory=count)

    @classmethod
    def star(
        cls, nodes: int, features: int, kind: str = "elastic-net-batch", **options: Any
    ) -> "Net":
        names = [f"n{i:03d}" for i in range(nodes)]
        return cls.over(star(["hub", *names]), "hub", features, kind, **options)

    @classmethod
    def over(
        cls,
        graph: Graph,
        hub: NodeId,
        features: int,
        kind: str = "elastic-net-batch",
        **options: Any,
    ) -> "Net":
        roles = {name: "hub" if name == hub else "node" for name in graph.nodes}
        made = {n: make(kind, features, 0, role=role, **options) for n, role in roles.items()}
        return cls(graph, made)

    @property
    def nodes(self) -> list[NodeId]:
        return [name for name in self.graph.nodes if name != "hub"]

    def learn(self, shards: Mapping[NodeId, tuple[Array, Array]]) -> None:
        for name, shard in shards.items():
            self.learners[name].learn(*shard)

    def deal(self, X: Array, y: Array) -> None:
        """Give each node a contiguous share of the rows."""
        parts = np.array_split(np.arange(len(y)), len(self.nodes))
        self.learn({n: (X[part], y[part]) for n, part in zip(self.nodes, parts, strict=True)})

    def round(self, gone: Sequence[NodeId] = ()) -> None:
        t = next(self._round)
        inbox: dict[NodeId, dict[NodeId, Message]] = {name: {} for name in self.graph.nodes}
        for name, learner in self.learners.items():
            if name in gone or not learner.acts(t):
                continue
            for message in learner.messages(t):
                to = self.graph.neighbours(name) if message.to is None else [message.to]
                for other in to:
                    self.messages += 1
                    if other not in gone and self.arrives(t, name, other):
                        inbox[other][name] = message
        for name, learner in self.learners.items():
            if name not in gone:
                neighbours = dict.fromkeys(self.graph.neighbours(name), 0.1)
                learner.combine(t, inbox[name], neighbours)

    def rounds(self, number: int, gone: Sequence[NodeId] = ()) -> "Net":
        for _ in range(number):
            self.round(gone)
        return self

    def gap(self, X: Array, y: Array, u1: float, u2: float, names: Sequence[NodeId] = ()) -> float:
        """The worst node's relative excess over scikit-learn's objective."""
        best = objective(*reference(X, y, u1, u2), X, y, u1, u2)
        chosen = [self.learners[name] for name in names or self.nodes]
        worst = max(objective(n.coefficients, n.intercept, X, y, u1, u2) for n in chosen)
        return (worst - best) / best
