"""The reference loop: nodes, a graph, rounds. What the dataflow must equal, bit for bit."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, repeat

from anabranch.errors import MessageError, UnknownNodeError
from anabranch.evaluation import scores, tally_for
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

    learners: Mapping[NodeId, Learner] = field(repr=False)
    rounds: int = 0
    truth: dict[NodeId, list[Array]] = field(default_factory=dict, repr=False)
    predicted: dict[NodeId, list[Array]] = field(default_factory=dict, repr=False)
    messages: int = 0
    bytes: int = 0

    def scores(self, ranks: int) -> dict[str, float]:
        """Score all nodes' predictions, each made before its sample was learned.

        Parameters
        ----------
        ranks : number of ranks
        """
        task = next(iter(self.learners.values())).task
        tally = tally_for(task, ranks=ranks)
        for node in sorted(self.truth):
            for y, predicted in zip(self.truth[node], self.predicted[node], strict=True):
                tally.add(y, predicted)
        return scores(task, tally.totals())


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
    In a round without exchange nodes combine an empty inbox. A neighbour that does not act
    in a round of exchange, or has nothing fit to be sent, is not in the inbox; one that acts
    but is not due (event-triggered) is there with what it said last.

    Parameters
    ----------
    learners : one for each node of the graph; they are changed in place
    weights : the graph and its combination weights
    ticks : the nodes' rows, tick by tick
    final_rounds : rounds beyond the graph's diameter after the last tick
    policy : when nodes speak; every round unless given

    Raises
    ------
    UnknownNodeError
        The learners, or a tick, are not those of the graph's nodes.
    DisconnectedGraphError
        The graph has no diameter.
    SampleError
        A learner refused a block.
    MessageError
        A learner's message goes to no neighbour, or a neighbour could not take it.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.learners import make
    >>> from anabranch.network import combination_weights, ring
    >>> graph = ring(["a", "b", "c"])
    >>> nodes = {n: make("dsvor", 1, 2, kernel="linear", scaling="none") for n in graph.nodes}
    >>> tick = {n: (np.array([[-1.0], [1.0]]), np.array([1, 2])) for n in graph.nodes}
    >>> run = simulate(nodes, combination_weights(graph), [tick] * 5)
    >>> run
    Simulation(rounds=6, messages=36, bytes=576)
    >>> nodes["a"].predict(np.array([[-2.0], [2.0]])).tolist(), run.scores(ranks=2)["Accuracy"]
    ([1, 2], 0.9)
    """
    policy = policy or Policy()
    _check_nodes(learners, weights)
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


def address(learner: Learner, round: int, neighbours: Collection[NodeId]) -> dict[NodeId, Message]:
    """Give each neighbour its message of this round; one addressed to it comes first.

    Raises
    ------
    MessageError
        A message is addressed to no neighbour, or a second one is to the same.
    """
    letters: dict[NodeId, Message] = {}
    for message in learner.messages(round):
        if message.to is None:
            letters |= {name: message for name in neighbours if name not in letters}
            continue
        if message.to not in neighbours:
            raise MessageError(f"not a neighbour: to={message.to!r}; allowed: {list(neighbours)}")
        if message.to in letters and letters[message.to].to is not None:
            raise MessageError(f"a second message: to={message.to!r}; allowed: one a round")
        letters[message.to] = message
    return letters


def _check_nodes(learners: Mapping[NodeId, Learner], weights: Weights) -> None:
    strange = sorted(learners.keys() ^ set(weights.graph.nodes))
    if strange:
        raise UnknownNodeError(
            f"either a learner or a node, not both: {strange[:10]}; allowed: a learner for each "
            "node of the graph"
        )


def _learn(run: Simulation, node: NodeId, X: Array, y: Array) -> None:
    if node not in run.learners:
        raise UnknownNodeError(f"a tick has rows of {node!r}; allowed: {sorted(run.learners)}")
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
