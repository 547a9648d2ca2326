"""The reference loop: nodes, a graph, rounds. What the dataflow must equal, bit for bit."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, repeat

from anabranch.exchange import Policy, Speaker, wire_size
from anabranch.network import Weights
from anabranch.protocol import Array, Learner, Message, NodeId

__all__ = ["Simulation", "Tick", "address", "simulate"]

Tick = Mapping[NodeId, tuple[Array, Array]]
"""Each node's rows (X, y) of one tick; a node without rows may be left out."""


@dataclass
class Simulation:
    """What a simulation leaves behind.

    Attributes
    ----------
    learners : the nodes' learners after the last round
    rounds : number of rounds performed
    truth, predicted : per node, the labels in the order learned and what was predicted
        before each was learned
    messages, bytes : number and payload of the messages sent, over all nodes
    """

    learners: Mapping[NodeId, Learner]
    rounds: int = 0
    truth: dict[NodeId, list[Array]] = field(default_factory=dict)
    predicted: dict[NodeId, list[Array]] = field(default_factory=dict)
    messages: int = 0
    bytes: int = 0


def simulate(
    learners: Mapping[NodeId, Learner],
    weights: Weights,
    ticks: Iterable[Tick],
    *,
    final_rounds: int = 0,
    policy: Policy | None = None,
) -> Simulation:
    """Run learners on a graph in synchronous rounds.

    In round t every node predicts and learns its share of tick t, then all exchange, then
    all combine. After the last tick come diameter + `final_rounds` rounds without samples.

    Parameters
    ----------
    learners : one a node; they are changed in place
    weights : the graph and its combination weights
    ticks : the nodes' rows, tick by tick
    policy : when nodes speak; every round unless given

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.learners import make
    >>> from anabranch.network import combination_weights, ring
    >>> graph = ring(["a", "b", "c"])
    >>> nodes = {n: make("dsvor", 1, 2, kernel="linear", scaling="none") for n in graph.nodes}
    >>> tick = {n: (np.array([[-1.0], [1.0]]), np.array([1, 2])) for n in graph.nodes}
    >>> run = simulate(nodes, combination_weights(graph), [tick] * 5)
    >>> run.rounds, run.messages, nodes["a"].predict(np.array([[-2.0], [2.0]])).tolist()
    (6, 36, [1, 2])
    """
    policy = policy or Policy()
    run = Simulation(learners)
    speakers = {node: Speaker(policy) for node in learners}
    heard: dict[NodeId, dict[NodeId, Message]] = {node: {} for node in learners}
    shares = {node: weights.of(node) for node in learners}
    after: Iterable[Tick] = repeat({}, weights.graph.diameter + final_rounds)
    for round, tick in enumerate(chain(ticks, after)):
        for node in sorted(tick):
            _learn(run, node, *tick[node])
        if policy.exchanges(round):
            _exchange(run, round, weights, speakers, heard)
        for node in sorted(learners):
            inbox = dict(sorted(heard[node].items())) if policy.exchanges(round) else {}
            learners[node].combine(round, inbox, shares[node])
        run.rounds = round + 1
    return run


def address(learner: Learner, round: int, neighbours: Iterable[NodeId]) -> dict[NodeId, Message]:
    """Give each neighbour its message of this round; one addressed to it comes first."""
    letters: dict[NodeId, Message] = {}
    for message in learner.messages(round):
        receivers = neighbours if message.to is None else (message.to,)
        for neighbour in receivers:
            if message.to is not None or neighbour not in letters:
                letters[neighbour] = message
    return letters


def _learn(run: Simulation, node: NodeId, X: Array, y: Array) -> None:
    if len(y):
        run.predicted.setdefault(node, []).append(run.learners[node].predict_then_learn(X, y))
        run.truth.setdefault(node, []).append(y)


def _exchange(
    run: Simulation,
    round: int,
    weights: Weights,
    speakers: Mapping[NodeId, Speaker],
    heard: Mapping[NodeId, dict[NodeId, Message]],
) -> None:
    for node in sorted(run.learners):
        learner, neighbours = run.learners[node], weights.graph.neighbours(node)
        if not learner.acts(round):
            for neighbour in neighbours:
                heard[neighbour].pop(node, None)
        elif speakers[node].due(round, learner):
            letters = address(learner, round, neighbours)
            for neighbour in neighbours:
                heard[neighbour].pop(node, None)
            for neighbour, message in letters.items():
                heard[neighbour][node] = message
                run.messages += 1
                run.bytes += wire_size(message)
