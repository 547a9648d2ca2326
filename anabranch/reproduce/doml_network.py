"""DOML's nodes on a network whose messages may be late or lost."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from anabranch.exchange import wire_size
from anabranch.learners.doml import DOML
from anabranch.network import Weights, build_graph, combination_weights, node_names
from anabranch.protocol import Array, Message, NodeId
from anabranch.reproduce.doml_data import LabelSplit, dealt

__all__ = ["LITERAL", "RECOMMENDED", "Net", "keeping_all", "projection"]

LITERAL: Mapping[str, Any] = {"literal": True}
"""The paper's algorithm: w = 1, no ridge, no bias, fields as they are."""

RECOMMENDED: Mapping[str, Any] = {}
"""This project's settings."""

_Letters = Mapping[NodeId, Message]


def keeping_all(samples: int, width: int) -> Mapping[str, Any]:
    """Give the `cache` that forgets none of a node's samples, in the form that is quicker.

    Where there are fewer samples than fields that is to keep them, else to keep X'X.

    >>> keeping_all(100, 20), keeping_all(100, 1000)
    ({'cache': 0}, {'cache': 100})
    """
    return {"cache": samples if samples < width else 0}


def projection(node: DOML) -> Array:
    """Give P (d + 1, q) for fields as they are, the bias last."""
    return np.vstack([node.coefficients, node.intercepts])


@dataclass
class Net:
    """Nodes that hold a share of a set's rows each, in the order of the set.

    Parameters
    ----------
    split : whose rows to learn are dealt
    nodes, graph : of the network
    options : settings of `DOML`; unless they have a `cache`, all samples are kept
    delay : rounds that a message takes beyond the usual
    loss : probability that a message does not arrive
    seed : of losses, and of a random graph

    Attributes
    ----------
    round : number of rounds performed
    learners, shares : by node
    messages, bytes : sent so far

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> net = Net(LabelSplit("set", X, X > 0.0, X, X > 0.0), nodes=2)
    >>> net.stream()
    >>> net.round, net.messages, projection(net.learners["n00"]).shape
    (10, 20, (3, 2))
    """

    split: LabelSplit
    nodes: int = 3
    graph: str = "complete"
    options: Mapping[str, Any] = field(default_factory=lambda: LITERAL)
    delay: int = 0
    loss: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        names = node_names(self.nodes)
        graph = build_graph(self.graph, names, seed=self.seed)
        self.weights: Weights = combination_weights(graph)
        self.shares = dict(zip(names, dealt(self.split, self.nodes), strict=True))
        width, labels = self.split.X.shape[1], self.split.y.shape[1]
        options = {**keeping_all(self.longest, width), **self.options}
        self.learners = {name: DOML(width, labels=labels, **options) for name in names}
        self.round = self.messages = self.bytes = 0
        self._rng = np.random.default_rng(self.seed)
        self._under_way: list[_Letters] = []

    @property
    def longest(self) -> int:
        """Number of rows of the largest share."""
        return max(len(X) for X, _ in self.shares.values())

    def stream(self, exchanges: int = 1) -> None:
        """Learn all rows, one a node a round, and exchange so many times for each."""
        for at in range(self.longest):
            self.learn(at, at + 1)
            self.exchange(exchanges)

    def learn(self, start: int, stop: int) -> None:
        """Let every node learn these rows of its share."""
        for name, (X, y) in self.shares.items():
            if start < len(X):
                self.learners[name].learn(X[start:stop], y[start:stop])

    def exchange(self, rounds: int = 1) -> None:
        """Let all nodes speak and combine what arrives."""
        for _ in range(rounds):
            self._under_way.append(self._spoken())
            late = len(self._under_way) > self.delay
            arrived = self._under_way.pop(0) if late else {}
            for name, node in self.learners.items():
                around = self.weights.of(name)
                inbox = {other: arrived[other] for other in around if self._arrives(other, arrived)}
                node.combine(self.round, inbox, around)
            self.round += 1

    def _spoken(self) -> _Letters:
        said = {}
        for name, node in self.learners.items():
            for message in node.messages(self.round):
                said[name] = message
                listeners = self.weights.graph.degree(name)
                self.messages += listeners
                self.bytes += listeners * wire_size(message)
        return said

    def _arrives(self, sender: NodeId, arrived: _Letters) -> bool:
        return sender in arrived and not (self.loss and self._rng.random() < self.loss)
