"""The reference loop: nodes, a graph, rounds. What the dataflow must equal, bit for bit."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

from anabranch.drift import Drift, DriftRule, NetworkWatch
from anabranch.errors import MessageError, UnknownNodeError
from anabranch.evaluation import scores, tally_for
from anabranch.exchange import Policy, Speaker, check_rounds_per_tick, wire_size
from anabranch.label_rows import admitted, columns_of
from anabranch.network import Eras, Weights
from anabranch.protocol import Array, Joining, Learner, Message, NodeId

__all__ = ["Rows", "Simulation", "Tick", "address", "join", "meet", "simulate"]

Rows = tuple[Array, Array] | tuple[Array, Array, tuple[str, ...]]
"""X (n, d) and y (n,); with sets of labels y (n, q), in the columns the learners began with, or
in those whose names come third."""

Tick = Mapping[NodeId, Rows | list[Rows]]
"""Each node's rows of one tick, or several blocks of them; a node without may be left out."""


@dataclass
class Simulation:
    """What a simulation leaves behind.

    Attributes
    ----------
    learners : the nodes' learners after the last round
    rounds : number of rounds performed
    truth, predicted : per node, the labels in the order learned and what was predicted
        before each was learned
    labels : per node, the names of the columns of each of those; None where there are none
    messages, bytes : number and payload of the messages sent, over all nodes
    drifts : what was found of drift, in order
    """

    learners: Mapping[NodeId, Learner] = field(repr=False)
    rounds: int = 0
    truth: dict[NodeId, list[Array]] = field(default_factory=dict, repr=False)
    predicted: dict[NodeId, list[Array]] = field(default_factory=dict, repr=False)
    labels: dict[NodeId, list[tuple[str, ...] | None]] = field(default_factory=dict, repr=False)
    messages: int = 0
    bytes: int = 0
    drifts: list[Drift] = field(default_factory=list, repr=False)

    def scores(self, ranks: int = 0) -> dict[str, float]:
        """Score all nodes' predictions, each made before its sample was learned.

        Parameters
        ----------
        ranks : number of ranks, where the labels are ranks
        """
        learner = next(iter(self.learners.values()))
        tally: Any = tally_for(learner.task, ranks=ranks, labels=columns_of(learner, ()))
        for node in sorted(self.truth):
            columns = (self.truth[node], self.predicted[node], self.labels[node])
            for y, predicted, names in zip(*columns, strict=True):
                tally.add(y, predicted, *(() if names is None else (names,)))
        return scores(learner.task, tally.totals())


def simulate(
    learners: Mapping[NodeId, Learner],
    weights: Weights | Eras,
    ticks: Iterable[Tick],
    *,
    changes: Mapping[int, Weights] | None = None,
    final_rounds: int = 0,
    policy: Policy | None = None,
    rounds_per_tick: int = 1,
    drift: DriftRule | None = None,
) -> Simulation:
    """Run learners on a graph in synchronous rounds.

    In round t every node predicts and learns its share of tick t, then all exchange, then
    all combine. After the last tick come diameter + `final_rounds` rounds without samples.
    With R rounds a tick, tick t is learned in round t R and the next R - 1 rounds have no
    samples; the last round is R (ticks) + diameter + `final_rounds` - 1.
    In a round without exchange nodes combine an empty inbox. A neighbour that does not act
    in a round of exchange, or has nothing fit to be sent, is not in the inbox; one that acts
    but is not due (event-triggered) is there with what it said last.

    Where the network changes in round J, the new one holds in every respect from then on. Who
    joins takes up its learner then, who leaves keeps its own as it is. What was heard of a
    neighbour that is none any more is forgotten, and a node whose neighbours change speaks when it
    next may. The rounds after the last tick are as many as the widest network so far needs.

    Jobs equal it bit for bit where BLAS has one thread (OPENBLAS_NUM_THREADS=1), as in their own
    processes: the last bits of a product depend on the number.

    Parameters
    ----------
    learners : one for each node there ever is; they are changed in place
    weights : the graph and its combination weights, or these in time
    ticks : the nodes' rows, tick by tick
    changes : J -> graph and weights from round J on
    final_rounds : rounds beyond the graph's diameter after the last tick
    policy : when nodes speak; every round unless given
    rounds_per_tick : R, how many rounds there are for each tick
    drift : when a node's errors count as drift, and what it does then; none is looked for
        unless given

    Raises
    ------
    ConfigurationError
        There is no round for a tick.
    NetworkError
        Changes do not follow one another; see `Eras`.
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
    eras = weights if isinstance(weights, Eras) else Eras.of(weights)
    eras = eras.then(changes or {})
    policy = policy or Policy()
    check_rounds_per_tick(rounds_per_tick)
    _check_nodes(learners, eras)
    run = Simulation(learners)
    present = _Present(eras, policy)
    known = {node: columns_of(learner, None) for node, learner in learners.items()}
    watch = drift and NetworkWatch(drift, present.around, lambda: present.nodes)
    for round, tick in enumerate(_rounds(ticks, rounds_per_tick, eras, final_rounds)):
        if round == 0 or round in present.starts:
            present.enter(round)
            for node, around in present.neighbours.items():
                joins = round == eras.first_round(node) and eras.joins(node)
                (join if joins else meet)(learners[node], around)
        for node in sorted(tick):
            _learn(run, node, present, known.get(node), tick[node])
        if watch:
            run.drifts += watch.close(round, tick, run.truth, run.predicted, learners)
        exchanged = policy.exchanges(round)
        if exchanged:
            _exchange(run, round, present)
        for node in present.nodes:
            inbox = dict(sorted(present.heard[node].items())) if exchanged else {}
            learners[node].combine(round, inbox, present.shares[node])
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


def meet(learner: Learner, neighbours: Collection[NodeId]) -> None:
    """Tell a learner of its neighbours before it speaks, where it wants to know."""
    if hasattr(learner, "meet"):  # as `Rewired` has; isinstance is slow for a protocol
        learner.meet(neighbours)


def join(learner: Learner, neighbours: Collection[NodeId]) -> None:
    """Tell a learner, where it wants to know, that others were in the network before it."""
    if isinstance(learner, Joining):
        learner.join(neighbours)
    else:
        meet(learner, neighbours)


class _Present:
    """The network of a round: who is in it, and what each node has heard of its neighbours."""

    def __init__(self, eras: Eras, policy: Policy) -> None:
        self._eras = eras
        self.starts = {start for start, _ in eras.steps}
        self.speakers = {node: Speaker(policy) for node in eras.nodes}
        self.heard: dict[NodeId, dict[NodeId, Message]] = {node: {} for node in eras.nodes}
        self.neighbours: dict[NodeId, tuple[NodeId, ...]] = {}
        self.shares: dict[NodeId, Mapping[NodeId, float]] = {}
        self.nodes: tuple[NodeId, ...] = ()

    def around(self, node: NodeId) -> tuple[NodeId, ...]:
        """Give a node's neighbours, none where it is not there."""
        return self.neighbours.get(node, ())

    def enter(self, round: int) -> None:
        """Go over to the network that begins in a round."""
        weights, before = self._eras.at(round), self.neighbours
        self.nodes = weights.graph.nodes
        self.neighbours = {node: weights.graph.neighbours(node) for node in self.nodes}
        self.shares = {node: weights.of(node) for node in self.nodes}
        for node, around in self.neighbours.items():
            heard = self.heard[node]
            self.heard[node] = {name: heard[name] for name in heard if name in around}
            if before.get(node, ()) != around:
                self.speakers[node].forget()


def _check_nodes(learners: Mapping[NodeId, Learner], eras: Eras) -> None:
    strange = sorted(learners.keys() ^ set(eras.nodes))
    if strange:
        raise UnknownNodeError(
            f"either a learner or a node, not both: {strange[:10]}; allowed: a learner for each "
            "node of the graph"
        )


def _rounds(ticks: Iterable[Tick], each: int, eras: Eras, final: int) -> Iterator[Tick]:
    """Give what is learned in each round: a tick in the first of its rounds."""
    rounds = 0
    for tick in ticks:
        rounds += each
        yield tick
        yield from repeat({}, each - 1)
    yield from repeat({}, eras.widest(rounds - 1) + final)


def _learn(
    run: Simulation,
    node: NodeId,
    present: _Present,
    known: tuple[str, ...] | None,
    rows: Rows | list[Rows],
) -> None:
    if node not in present.neighbours:
        raise UnknownNodeError(f"a tick has rows of {node!r}; allowed: {list(present.nodes)}")
    learner = run.learners[node]
    for X, y, *named in rows if isinstance(rows, list) else [rows]:
        if len(y):
            y = admitted(learner, y, named[0] if named else known)
            run.predicted.setdefault(node, []).append(learner.predict_then_learn(X, y))
            run.truth.setdefault(node, []).append(y)
            run.labels.setdefault(node, []).append(columns_of(learner, None))


def _exchange(run: Simulation, round: int, present: _Present) -> None:
    heard = present.heard
    for node, neighbours in present.neighbours.items():
        learner = run.learners[node]
        if not neighbours:
            continue  # nobody asks it for anything
        if not learner.acts(round):
            for neighbour in neighbours:
                heard[neighbour].pop(node, None)
        elif present.speakers[node].due(round, learner):
            letters = address(learner, round, neighbours)
            for neighbour in neighbours:
                heard[neighbour].pop(node, None)
            for neighbour, message in letters.items():
                heard[neighbour][node] = message
                run.messages += 1
                run.bytes += wire_size(message)
