"""All processes of a job as they are at one time."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anabranch.protocol import NodeId
from pipelines.live.records import EdgeNow, Letter, NodeNow, read_now
from pipelines.run_dir import RunDirectory

__all__ = ["Snapshot", "take"]

_EXAMPLES = 3
Status = Mapping[str, Any]


@dataclass(frozen=True)
class Snapshot:
    """Nodes, edges and dead letters of all processes.

    Attributes
    ----------
    time : seconds since 1970
    edges : (sender, receiver) -> what was heard over it
    late : process of each node -> seconds since that process wrote
    """

    time: float
    statuses: Sequence[Status]
    nodes: dict[NodeId, NodeNow] = field(default_factory=dict)
    edges: dict[tuple[NodeId, NodeId], EdgeNow] = field(default_factory=dict)
    late: dict[NodeId, float] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[Letter]] = field(default_factory=dict)
    alarms: int = 0

    @property
    def samples(self) -> int:
        """Samples that the nodes have learned, those that left, too."""
        return sum(status.get("samples") or 0 for status in self.statuses)

    @property
    def rounds(self) -> int:
        """The newest round of any node."""
        return max((node.round for node in self.nodes.values()), default=0)

    def heard(self, node: NodeId) -> float | None:
        """Give the seconds since a node's newest report; None before there is one."""
        found = self.nodes.get(node)
        if found is None or found.heard < 0:
            return None
        return found.heard + self.late[node]

    def age(self, edge: tuple[NodeId, NodeId]) -> float | None:
        """Give the seconds since something came over an edge; None before that."""
        found = self.edges.get(edge)
        if found is None or found.age < 0:
            return None
        return found.age + self.late.get(edge[1], 0.0)


def take(run_dir: RunDirectory, processes: int, statuses: Sequence[Status]) -> Snapshot:
    """Read what every process wrote last; those that wrote nothing yet are left out."""
    now = time.time()
    found = [read_now(run_dir.now_of(process)) for process in range(processes)]
    snapshot = Snapshot(
        now, statuses, alarms=sum(part.alarms for part in found if part is not None)
    )
    for part in found:
        if part is None:
            continue
        snapshot.nodes.update(part.nodes)
        snapshot.late.update(dict.fromkeys(part.nodes, max(0.0, now - part.time)))
        snapshot.edges.update({(edge.sender, edge.receiver): edge for edge in part.edges})
        snapshot.reasons.update(part.reasons)
        for reason, letters in part.examples.items():
            kept = snapshot.examples.setdefault(reason, [])
            kept.extend(letters[-_EXAMPLES:])
            del kept[:-_EXAMPLES]
    return snapshot
