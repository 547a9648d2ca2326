"""How counts, means and variances reach the hub of a graph."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from anabranch.errors import ModelError
from anabranch.learners.elastic_net_moments import CoMoments
from anabranch.learners.elastic_net_part import frozen, saved_names
from anabranch.learners.elastic_net_survey import Marginal, merge_marginals
from anabranch.learners.states import saved_array
from anabranch.protocol import Array, NodeId, State, freeze

__all__ = ["Tree"]

_NONE: NodeId = ""


class Tree:
    """The hub's place in the graph, as distances to it, and the moments below each node.

    A node's parent is the neighbour nearest to the hub (the first by name). To it goes what
    the node and those who chose it as parent have: number of nodes, samples, distance of the
    farthest from the hub, sum of degrees, means, variances.

    Parameters
    ----------
    size : p + 1
    hub : whether this node is the hub

    Attributes
    ----------
    hops : distance to the hub, plus 1; 0 while it is not known
    total, nodes, reach : M, N and the hub's distance to the farthest node over the square
        root of the mean degree, as the hub last told
    version : how often it has told
    """

    def __init__(self, size: int, hub: bool) -> None:
        self.size, self.hub = size, hub
        self.hops = 1 if hub else 0
        self.total = self.nodes = self.reach = 0.0
        self.version = 0
        self._distances: dict[NodeId, int] = {}
        self._below: dict[NodeId, Array] = {}
        """Per child: number of nodes, samples, distance, degrees; means, variances."""

    @staticmethod
    def groups(size: int) -> Sequence[Mapping[str, int]]:
        """Lay out the arrays that come with some messages."""
        return (
            {"below": 4, "mean": size, "variance": size},
            {"centre": size, "scale": size, "numbers": 4},
        )

    @property
    def parent(self) -> NodeId:
        """The neighbour nearest to the hub; "" for the hub, and where none is known."""
        near = [(hops, name) for name, hops in self._distances.items() if hops]
        return _NONE if self.hub or not near else min(near)[1]

    @property
    def children(self) -> list[NodeId]:
        """The neighbours to whom this node is the nearest to the hub, sorted."""
        return sorted(self._below)

    def depth(self, child: NodeId) -> int:
        """Give the hops to the farthest node below a child, itself included."""
        return max(1, int(self._below[child][2]) - self.hops)

    def hear(self, sender: NodeId, arrays: Mapping[str, Array], hops: int, child: bool) -> bool:
        """Take a neighbour's distance and moments; tell whether the parent must hear more."""
        parent, known = self.parent, self.hops
        self._distances[sender] = hops
        self._measure()
        changed = (parent, known) != (self.parent, self.hops)
        if not child:
            changed |= self._below.pop(sender, None) is not None
        elif "below" in arrays:
            below = np.concatenate([arrays["below"], arrays["mean"], arrays["variance"]])
            changed |= sender not in self._below or bool((self._below[sender] != below).any())
            self._below[sender] = below
        return changed

    def _measure(self) -> None:
        """Find the own distance to the hub anew."""
        if not self.hub:
            near = [h for h in self._distances.values() if h]
            self.hops = min(near) + 1 if near else 0

    def forget(self, names: Iterable[NodeId]) -> None:
        """Drop who is no neighbour any more, with all that is below.

        Where the way to the hub went by one of them, distances may for a while be those of ways
        that are no more; they grow by 1 each time they are told, until a way that is shorter wins.
        """
        for name in names:
            self._distances.pop(name, None)
            self._below.pop(name, None)
        self._measure()

    def take(self, total: float, nodes: float, reach: float, version: float) -> None:
        """Take what the hub tells over."""
        self.total, self.nodes, self.reach, self.version = total, nodes, reach, int(version)

    def numbers(self) -> Array:
        """Give what the hub told, for a message."""
        return frozen(self.total, self.nodes, self.reach, self.version)

    def merged(self, moments: CoMoments, degree: int) -> tuple[Marginal, float, float, float]:
        """Give moments, nodes, distance and degrees of this node and all below it."""
        total: Marginal = moments.marginal()
        nodes, far, degrees = 1.0, float(self.hops), float(degree)
        for name in sorted(self._below):
            below, parts = self._below[name][:4].tolist(), self._below[name][4:]
            nodes, far, degrees = nodes + below[0], max(far, below[2]), degrees + below[3]
            moment = (below[1], parts[: self.size], below[1] * parts[self.size :])
            total = merge_marginals(total, moment)
        return total, nodes, far, degrees

    def below(self, moments: CoMoments, degree: int) -> dict[str, Array]:
        """Give the same as the frozen arrays of a message."""
        (count, mean, m2), nodes, far, degrees = self.merged(moments, degree)
        return {
            "below": frozen(nodes, count, far, degrees),
            "mean": freeze(mean.copy()),
            "variance": freeze(m2 / max(count, 1e-300)),
        }

    def export(self) -> State:
        """Give the state."""
        near, below = sorted(self._distances), sorted(self._below)
        rows = np.array([self._below[n] for n in below])
        return {
            "near": near,
            "distances": [self._distances[n] for n in near],
            "children": below,
            "below": rows.reshape(len(below), 4 + 2 * self.size),
            "tree": np.array([self.hops, *self.numbers()]),
        }

    def restore(self, state: State) -> None:
        """Take it back.

        Raises
        ------
        ModelError
            It is damaged.
        """
        near, children = saved_names(state, "near"), saved_names(state, "children")
        distances = saved_array(state, "distances", (len(near),)).astype(np.int64).tolist()
        below = saved_array(state, "below", (len(children), 4 + 2 * self.size))
        if below.size and min(below[:, :4].min(), below[:, 4 + self.size :].min()) < 0.0:
            raise ModelError("damaged state: a count or variance in below is negative")
        self._distances = dict(zip(near, distances, strict=True))
        self._below = dict(zip(children, below, strict=True))
        tree = saved_array(state, "tree", (5,)).tolist()
        self.hops = int(tree[0])
        self.take(*tree[1:])
