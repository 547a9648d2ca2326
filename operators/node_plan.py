"""Everything the nodes of a job share: the settings of the node operator."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from anabranch.exchange import Policy, check_rounds_per_tick
from anabranch.network import Weights
from anabranch.placement import Placement
from anabranch.protocol import Learner, NodeId, State, Task

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
    weights : graph and combination weights
    placement : which node a row belongs to
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
    site, elsewhere : this site and the others, where nodes are spread over sites; set from the link
    ack_every : ticks between acknowledgements; set from the flow control
    stale_after : a neighbour silent for longer is left out (asynchronous)
    idle_every : a node without samples exchanges this often (asynchronous)
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
    site: str = ""
    elsewhere: tuple[str, ...] = ()
    ack_every: int = 4
    stale_after: timedelta = timedelta(seconds=5)
    idle_every: timedelta = timedelta(seconds=1)

    def __post_init__(self) -> None:
        check_rounds_per_tick(self.rounds_per_tick)

    def neighbours(self, node: NodeId) -> tuple[NodeId, ...]:
        """Give a node's neighbours, sorted; a lone companion has none."""
        return () if node in self.lone else self.weights.graph.neighbours(node)

    def weights_of(self, node: NodeId) -> Mapping[NodeId, float]:
        """Give the weights of a node's neighbours."""
        return {} if node in self.lone else self.weights.of(node)

    def feeds(self, node: NodeId) -> tuple[str, ...]:
        """Give the partitions whose ticks a node waits for; a lone companion all."""
        return self.placement.partitions if node in self.lone else self.placement.feeds(node)

    def learner(self, node: NodeId) -> Learner:
        """Build a fresh learner for a node or a lone companion."""
        return (self.lone[node].make if node in self.lone else self.make)(node)

    def restored(self, node: NodeId, state: State) -> Learner:
        """Build the learner of a node or a lone companion from its exported state."""
        return (self.lone[node].restore if node in self.lone else self.restore)(state)

    @property
    def members(self) -> tuple[NodeId, ...]:
        """The nodes, then the lone companions: the pooled one, then the others, sorted."""
        others = sorted(self.lone.keys() - {POOLED})
        pooled = (POOLED,) if POOLED in self.lone else ()
        return (*self.placement.nodes, *pooled, *others)

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
        after = self.weights.graph.diameter + self.final_rounds
        return -1 if last is None else (last + 1) * self.rounds_per_tick - 1 + after

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
