"""Everything the nodes of a job share: the settings of the node operator."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from anabranch.exchange import Policy
from anabranch.network import Weights
from anabranch.placement import Placement
from anabranch.protocol import Learner, NodeId, State, Task

__all__ = ["COOPERATIVE", "LOCAL", "POOLED", "NodePlan", "reports_at"]

COOPERATIVE, LOCAL, POOLED = "cooperative", "local", "pooled"


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
    final_rounds : rounds after the last tick, beyond the graph's diameter
    window : samples in a node's sliding window
    report_every : rounds between reports (early rounds are reported more often)
    local : whether each node also runs a learner that never exchanges
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
    policy: Policy = field(default_factory=Policy)
    mode: Literal["synchronous", "asynchronous"] = "synchronous"
    final_rounds: int = 0
    window: int = 1000
    report_every: int = 100
    local: bool = False
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

    def neighbours(self, node: NodeId) -> tuple[NodeId, ...]:
        """Give a node's neighbours, sorted; the pooled companion has none."""
        return () if node == POOLED else self.weights.graph.neighbours(node)

    def weights_of(self, node: NodeId) -> Mapping[NodeId, float]:
        """Give the weights of a node's neighbours."""
        return {} if node == POOLED else self.weights.of(node)

    def feeds(self, node: NodeId) -> tuple[str, ...]:
        """Give the partitions whose ticks a node waits for; the pooled companion all."""
        return self.placement.partitions if node == POOLED else self.placement.feeds(node)

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
        sites : last ticks of the sites known to end
        """
        joined = (self.before(part) for part in self.begins)
        last = max((*ends.values(), *sites, *joined), default=None)
        after = self.weights.graph.diameter + self.final_rounds
        return -1 if last is None else last + after


def reports_at(round: int, every: int) -> bool:
    """Tell whether nodes report after this round: 1, 2, ... 10, 20, ... up to `every`.

    >>> [r + 1 for r in range(400) if reports_at(r, 100)][8:20]
    [9, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200]
    """
    done = round + 1
    step: int = 10 ** (len(str(done)) - 1)
    return done % min(every, step) == 0
