"""Networks of DOML nodes for tests: graphs, rounds, and the optimum they must find."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anabranch.exchange import wire_size
from anabranch.learners.doml import DOML
from anabranch.protocol import Array, Message

Edges = set[tuple[int, int]]
Shares = list[dict[str, float]]


def edges_of(kind: str, nodes: int, seed: int = 0) -> Edges:
    """Give the edges of a graph by its name."""
    if kind == "path":
        return {(i, i + 1) for i in range(nodes - 1)}
    if kind == "ring":
        return {(i, (i + 1) % nodes) for i in range(nodes)}
    if kind == "star":
        return {(0, i) for i in range(1, nodes)}
    if kind == "complete":
        return {(i, j) for i in range(nodes) for j in range(i + 1, nodes)}
    if kind == "grid":
        half = nodes // 2
        rows = {(i, i + 1) for i in range(nodes - 1) if i != half - 1}
        return rows | {(i, i + half) for i in range(half)}
    edges, rng = edges_of("ring", nodes), np.random.default_rng(seed)
    while len(edges) < nodes * 3 // 2:
        i, j = (int(v) for v in sorted(rng.choice(nodes, 2, replace=False)))
        if (i, j) not in edges and (j, i) not in edges:
            edges.add((i, j))
    return edges


def name(i: int) -> str:
    return f"n{i:02d}"


def shares_of(edges: Edges, nodes: int) -> Shares:
    """Give Metropolis weights of each node's neighbours."""
    near: list[set[int]] = [set() for _ in range(nodes)]
    for i, j in edges:
        near[i].add(j)
        near[j].add(i)
    return [
        {name(j): 1.0 / (1.0 + max(len(near[i]), len(near[j]))) for j in sorted(near[i])}
        for i in range(nodes)
    ]


def exchange(nodes: Sequence[DOML], shares: Shares, t: int) -> None:
    """One round in which every message arrives."""
    sent = {name(i): node.messages(t) for i, node in enumerate(nodes)}
    for node, row in zip(nodes, shares, strict=True):
        node.combine(t, {j: sent[j][0] for j in row if sent[j]}, row)


def least_squares(X: Array, y: Array, ridge: float) -> Array:
    """Give the P that minimises |X P - y|^2 + ridge |P|^2."""
    return np.linalg.solve(X.T @ X + ridge * np.eye(X.shape[1]), X.T @ y)


def farthest(nodes: Sequence[DOML], P: Array) -> float:
    """Give the largest distance of a node's P from `P` (d, q), relative."""
    norm = np.linalg.norm(P)
    return max(float(np.linalg.norm(node.coefficients - P) / norm) for node in nodes)


class Mesh:
    """A network in which messages are late or lost, and nodes asleep.

    Parameters
    ----------
    late : rounds from sending to arrival, by sender, receiver and round; None for never
    awake : whether a node acts in a round
    """

    def __init__(
        self,
        nodes: Sequence[DOML],
        edges: Edges,
        late: Callable[[int, int, int], int | None] = lambda i, j, t: 0,
        awake: Callable[[int, int], bool] = lambda i, t: True,
    ) -> None:
        self.nodes, self.late, self.awake = dict(enumerate(nodes)), late, awake
        self.connect(edges)
        self.t = 0
        self.bytes = 0
        self._post: dict[int, list[tuple[int, int, Message]]] = {}
        self._boxes: dict[int, dict[str, Message]] = {i: {} for i in self.nodes}

    def connect(self, edges: Edges) -> None:
        """Have other edges from now on."""
        self.shares = shares_of(edges, len(self.nodes))

    def send(self, i: int) -> None:
        for message in self.nodes[i].messages(self.t):
            self.bytes += wire_size(message)
            for j in (int(other[1:]) for other in self.shares[i]):
                days = self.late(i, j, self.t)
                if days is not None:
                    self._post.setdefault(self.t + days, []).append((i, j, message))

    def round(self) -> None:
        """Send, deliver what is due, and step, at all nodes that are awake."""
        active = [i for i in self.nodes if self.awake(i, self.t)]
        for i in active:
            self.send(i)
        for i, j, message in self._post.pop(self.t, []):
            self._boxes[j][name(i)] = message
        for i in active:
            inbox = {j: m for j, m in self._boxes[i].items() if j in self.shares[i]}
            self.nodes[i].combine(self.t, inbox, self.shares[i])
            self._boxes[i] = {}
        self.t += 1

    def run(self, rounds: int) -> None:
        for _ in range(rounds):
            self.round()


def samples(nodes: int, rows: int = 40, seed: int = 0) -> list[tuple[Array, Array]]:
    """Give each node rows of its own (d = 6, q = 3), not all of the same law."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(6, 3))
    shares = []
    for i in range(nodes):
        X = rng.normal(size=(rows, 6)) * np.linspace(0.3, 1.5, 6) + 0.2 * (i % 3)
        shares.append((X, (X @ W + rng.normal(size=(rows, 3)) > 0.0).astype(np.float64)))
    return shares


def plain_nodes(data: Sequence[tuple[Array, Array]], **options: Any) -> list[DOML]:
    """Give nodes with these samples and without scaling, so that the optimum is known."""
    given = {"scaling": "none", "bias": False, **options}
    nodes = [DOML(X.shape[1], labels=y.shape[1], **given) for X, y in data]
    for node, (X, y) in zip(nodes, data, strict=True):
        node.learn(X, y)
    return nodes


def optimum(data: Sequence[tuple[Array, Array]], ridge: float) -> Array:
    """Give the P of all samples together; `ridge` is each node's."""
    X, y = (np.concatenate(parts) for parts in zip(*data, strict=True))
    return least_squares(X, y, ridge * len(data))
