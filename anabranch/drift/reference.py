"""All nodes' errors in the reference loop, watched."""

from collections.abc import Callable, Collection, Mapping

from anabranch.drift.rule import DriftRule
from anabranch.drift.verdict import Drift, Verdict
from anabranch.drift.watch import NodeWatch
from anabranch.protocol import Array, Learner, NodeId

__all__ = ["NetworkWatch"]


class NetworkWatch:
    """What a job's nodes and its verdict do, in one place, in sorted order of the nodes.

    Parameters
    ----------
    rule : when errors count as drift
    neighbours : gives a node's neighbours by now
    present : gives the nodes that are there by now
    """

    def __init__(
        self,
        rule: DriftRule,
        neighbours: Callable[[NodeId], Collection[NodeId]],
        present: Callable[[], Collection[NodeId]],
    ) -> None:
        self._rule = rule
        self._nodes: dict[NodeId, NodeWatch] = {}
        self._seen: dict[NodeId, int] = {}
        self._present = present
        self._verdict = Verdict(
            lambda node, _: neighbours(node), lambda _: len(present()), rule.most
        )

    def close(
        self,
        round: int,
        nodes: Collection[NodeId],
        truth: Mapping[NodeId, list[Array]],
        predicted: Mapping[NodeId, list[Array]],
        learners: Mapping[NodeId, Learner],
    ) -> list[Drift]:
        """Look at what nodes have learned since they were last here, and let learners react."""
        here = self._present()
        gone = [self._nodes.pop(name) for name in sorted(self._nodes) if name not in here]
        left = [change for watch in gone for change in watch.leave(round - 1)]
        found = [drift for change in left for drift in self._verdict.take(change)]
        for node in sorted(nodes):
            watch = self._nodes.setdefault(node, NodeWatch(self._rule, node))
            start, blocks = self._seen.get(node, 0), truth.get(node, [])
            for at in range(start, len(blocks)):
                watch.see(blocks[at], predicted[node][at])
            self._seen[node] = len(blocks)
            for change in watch.close(round, learners[node]):
                found.extend(self._verdict.take(change))
        return found
