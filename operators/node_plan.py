"""Everything the nodes of a job share: the settings of the node operator."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Literal

from anabranch.drift import DriftRule
from anabranch.errors import ConfigurationError
from anabranch.exchange import Policy, check_rounds_per_tick
from anabranch.network import Eras, Weights
from anabranch.placement import Placement, Placements
from anabranch.protocol import Learner, NodeId, State, Task
from operators.turns import Turns

__all__ = ["COOPERATIVE", "LOCAL", "POOLED", "Lone", "NodePlan", "reports_at"]

COOPERATIVE, LOCAL, POOLED = "cooperative", "local", "pooled"


@dataclass(frozen=True)
class Lone:
    """A companion without neighbours that learns from every sample.

    Parameters
    ----------
    make : builds a fresh learner for the companion of this name
    restore : builds a learner from its exported state
    saved : whether its model is given when the job ends
    """

    make: Callable[[NodeId], Learner]
    restore: Callable[[State], Learner]
    saved: bool = True


@dataclass(frozen=True)
class NodePlan:
    """Settings of the node operator.

    Parameters
    ----------
    make : builds a fresh learner for a node
    restore : builds a learner from its exported state
    weights : graph and combination weights; where the network changes, the newest
    placement : which node a row belongs to, in that network
    ranks, features : numbers of ranks and of features, for the scores
    labels : names of the labels known from the beginning, where samples have sets of them
    rounds_per_tick : rounds for each tick, whose samples are learned in the first of them; in
        asynchronous time at most so many
    final_rounds : rounds after those of the last tick, beyond the graph's diameter
    window : samples in a node's sliding window
    report_every : rounds between reports (early rounds are reported more often)
    local : whether each node also runs a learner that never exchanges
    lone : companions without neighbours, each fed with all samples, by name
    batch : score the shard after the rounds instead of each sample before it is learned
    predictions : whether predictions are emitted
    margins : whether predictions carry margins, where the learner has any
    late : where labels come apart, how many samples a node lets wait for theirs, and how long
        (ms, None: by number alone); else None
    begins : first tick of the partitions that joined a running job
    eras : the networks in time, where the network changes; in asynchronous time their order only
        counts, since the newest holds at once
    drift : when a node's errors count as drift, and what it does then; None: nobody looks
    site, elsewhere : this site and the others, where nodes are spread over sites; set from the link
    ack_every : ticks between acknowledgements; set from the flow control
    stale_after : a neighbour silent for longer is left out (asynchronous)
    idle_every : a node without samples exchanges this often (asynchronous)

    Raises
    ------
    ConfigurationError
        There is no round for a tick, or the newest of `eras` is another network.
    """

    make: Callable[[NodeId], Learner]
    restore: Callable[[State], Learner]
    weights: Weights
    placement: Placement
    task: Task
    ranks: int
    features: int = 0
    labels: tuple[str, ...] = ()
    policy: Policy = field(default_factory=Policy)
    mode: Literal["synchronous", "asynchronous"] = "synchronous"
    rounds_per_tick: int = 1
    final_rounds: int = 0
    window: int = 1000
    report_every: int = 100
    local: bool = False
    lone: Mapping[NodeId, Lone] = field(default_factory=dict)
    batch: bool = False
    predictions: bool = False
    margins: bool = False
    late: tuple[int, int | None] | None = None
    begins: Mapping[str, int] = field(default_factory=dict)
    eras: Eras | None = None
    drift: DriftRule | None = None
    site: str = ""
    elsewhere: tuple[str, ...] = ()
    ack_every: int = 4
    stale_after: timedelta = timedelta(seconds=5)
    idle_every: timedelta = timedelta(seconds=1)

    def __post_init__(self) -> None:
        check_rounds_per_tick(self.rounds_per_tick)
        if self.eras is None:
            return
        newest, nodes = self.eras.newest, self.placement.nodes
        if self.weights != newest or nodes != newest.graph.nodes:
            raise ConfigurationError(
                f"the newest network has {len(newest.graph.nodes)} nodes, and weights or placement "
                f"are of another ({len(nodes)} nodes); allowed: its own"
            )

    @property
    def _timed(self) -> Eras | None:
        """The networks in time, where rounds tell which one holds."""
        return None if self.mode == "asynchronous" else self.eras

    def _eras_of(self, node: NodeId) -> Eras | None:
        return None if node in self.lone else self._timed

    @property
    def founders(self) -> tuple[NodeId, ...]:
        """The nodes that were there when the job began."""
        return self.placement.nodes if self.eras is None else self.eras.first.graph.nodes

    @property
    def joiners(self) -> tuple[NodeId, ...]:
        """The nodes that joined later, or will, in that order."""
        return () if self.eras is None else self.eras.nodes[len(self.founders) :]

    def begins_at(self, node: NodeId) -> int:
        """Give a node's first round."""
        eras = self._eras_of(node)
        return 0 if eras is None else eras.first_round(node)

    def joins(self, node: NodeId) -> bool:
        """Tell whether a node comes to a network that has begun."""
        return self.eras is not None and node not in self.lone and self.eras.joins(node)

    def start(self, node: NodeId, round: int) -> int:
        """Give the first round of the network that a node has in a round."""
        eras = self._eras_of(node)
        return 0 if eras is None else eras.start(round)

    def change_after(self, node: NodeId, round: int) -> int | None:
        """Give the next round in which a node's network is another; None where there is none."""
        eras = self._eras_of(node)
        return None if eras is None else eras.change_after(round)

    def present(self, node: NodeId, round: int) -> bool:
        """Tell whether a node is in the network of a round; a lone companion always is."""
        if self.eras is None or node in self.lone:
            return True
        if self._timed is None:
            return self.eras.last_round(node) is None
        return self.eras.present(node, round)

    def _weights(self, node: NodeId, round: int | None) -> Weights | None:
        if node in self.lone:
            return None
        round = self.begins_at(node) if round is None else round
        if not self.present(node, round):
            return None
        return self.weights if self._timed is None else self._timed.at(round)

    def neighbours(self, node: NodeId, round: int | None = None) -> tuple[NodeId, ...]:
        """Give a node's neighbours, sorted, in a round or its first; a lone companion has none."""
        weights = self._weights(node, round)
        return () if weights is None else weights.graph.neighbours(node)

    def has_neighbours(self, node: NodeId) -> bool:
        """Tell whether a node has neighbours, at any time where the network changes."""
        if self.eras is None or node in self.lone:
            return bool(self.neighbours(node))
        return any(
            node in era.graph.nodes and era.graph.neighbours(node) for _, era in self.eras.steps
        )

    def weights_of(self, node: NodeId, round: int | None = None) -> Mapping[NodeId, float]:
        """Give the weights of a node's neighbours, in a round or its first."""
        weights = self._weights(node, round)
        return {} if weights is None else weights.of(node)

    @cached_property
    def placements(self) -> Placements:
        """Which node a row belongs to, by its tick."""
        if self._timed is None:
            return Placements(((0, self.placement),))
        return Placements.of(self.placement, self._timed, self.rounds_per_tick)

    @property
    def turns(self) -> Mapping[str, Mapping[NodeId, Turns]]:
        """Partition -> node -> the ticks it acknowledges; empty where it is all of them."""
        if self._timed is None:
            return {}
        nodes, always = self._timed.nodes, dict.fromkeys(self.lone, ((0, None),))
        found = {}
        for part in self.placement.partitions:
            fed = ((node, self.placements.turns(node, part)) for node in nodes)
            found[part] = {**{node: turns for node, turns in fed if turns}, **always}
        return found

    def feeds(self, node: NodeId, round: int | None = None) -> tuple[str, ...]:
        """Give the partitions whose ticks a node waits for, in a round or its first.

        A lone companion waits for all, a node that is not in the network for none.
        """
        if node in self.lone:
            return self.placement.partitions
        round = self.begins_at(node) if round is None else round
        placement = self.placements.at(self.first_tick(round))
        return placement.feeds(node) if node in placement.nodes else ()

    def first_tick(self, round: int) -> int:
        """Give the first tick that is learned in a round or after it."""
        return -(-round // self.rounds_per_tick)

    def learner(self, node: NodeId) -> Learner:
        """Build a fresh learner for a node or a lone companion."""
        return (self.lone[node].make if node in self.lone else self.make)(node)

    def restored(self, node: NodeId, state: State) -> Learner:
        """Build the learner of a node or a lone companion from its exported state."""
        return (self.lone[node].restore if node in self.lone else self.restore)(state)

    @property
    def members(self) -> tuple[NodeId, ...]:
        """All nodes that ever are, and the lone companions.

        Those of the beginning come first, then the companions, the pooled one before the others,
        then nodes that joined later: whoever is there keeps its place, which its key is made by.
        """
        others = sorted(self.lone.keys() - {POOLED})
        pooled = (POOLED,) if POOLED in self.lone else ()
        return (*self.founders, *pooled, *others, *self.joiners)

    def before(self, partition: str) -> int:
        """Give the tick before a partition's first, -1 but for those that joined."""
        return self.begins.get(partition, 0) - 1

    def ended(self, ends: Mapping[str, int]) -> bool:
        """Tell whether all partitions of this site have ended, from those known to."""
        return len(ends) == len(self.placement.partitions)

    def surely(self, ends: Mapping[str, int], sites: Iterable[int] = ()) -> int:
        """Give a round that the job performs for sure; its last one, once all is known.

        Parameters
        ----------
        ends : last ticks of the partitions known to end
        sites : last ticks of the sites known to end, and any other tick known to be
        """
        joined = (self.before(part) for part in self.begins)
        last = max((*ends.values(), *sites, *joined), default=None)
        if last is None:
            return -1
        round = (last + 1) * self.rounds_per_tick - 1
        timed = self._timed
        widest = self.weights.graph.diameter if timed is None else timed.widest(round)
        return round + widest + self.final_rounds

    def done_ticks(self, rounds: int) -> int:
        """Give the last tick whose rounds are all among the first `rounds`; -1 for none."""
        return rounds // self.rounds_per_tick - 1


def reports_at(round: int, every: int) -> bool:
    """Tell whether nodes report after this round: 1, 2, ... 10, 20, ... up to `every`.

    >>> [r + 1 for r in range(400) if reports_at(r, 100)][8:20]
    [9, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200]
    """
    done = round + 1
    step: int = 10 ** (len(str(done)) - 1)
    return done % min(every, step) == 0
