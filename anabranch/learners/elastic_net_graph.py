"""A node of the elastic net over any graph: edge-based ADMM, without a server."""

from collections.abc import Collection, Mapping, Sequence
from math import sqrt

import numpy as np

from anabranch.features.frame import Frame
from anabranch.kernels.elastic_solve import descend, length
from anabranch.learners.elastic_net_census import Census
from anabranch.learners.elastic_net_edge import Edge, Edges
from anabranch.learners.elastic_net_half import carry_pull
from anabranch.learners.elastic_net_moments import CoMoments
from anabranch.learners.elastic_net_part import (
    Part,
    frozen,
    restored_frame,
    saved_frame,
)
from anabranch.learners.elastic_net_settings import ElasticNetSettings
from anabranch.learners.elastic_net_system import System
from anabranch.learners.elastic_net_tree import Tree
from anabranch.learners.elastic_net_wire import Heard, Wire
from anabranch.learners.states import saved_array
from anabranch.protocol import Array, Message, NodeId, State, freeze

__all__ = ["GraphNode"]

SEQUENCE, EPOCH, VERSION, HOPS, ANSWERS, ASKS, CHILD = range(7)
"""Places in the status of a message."""

_SWEEPS = 200
_PAST = 4

_STIFFNESS = 0.9
"""Of an edge: rho is best near .27 (distance to the farthest node + 1)/sqrt(degree)/N, which
stands in for 1/sqrt(smallest times largest eigenvalue of the graph's Laplacian)."""


class GraphNode(Part):
    """Solve the own problem, held to each neighbour by a multiplier of the edge's own.

    theta = argmin of the node's share of the loss, g/N, and for each edge
    rho/2 |theta|^2 - z'theta; what goes to a neighbour is q = 2 rho theta - z, and there
    z += relax/2 (q - z). A message lost is a step not taken on that edge, and no more: the
    fixed points stay. Units, M and N come from the hub, by way of all nodes, which sets them
    by the moments that a `Tree` brings to it.
    """

    def __init__(self, settings: ElasticNetSettings, moments: CoMoments) -> None:
        super().__init__(settings, moments)
        size = settings.size
        groups = (*Tree.groups(size), *Census.groups(size))
        self.wire = Wire({"q": size, "status": 7}, groups)
        self.system, self.tree = System(size), Tree(size, settings.role == "hub")
        self.census = Census(self.tree)
        self._theta, self._sent = np.zeros(size), np.zeros(size)
        self._edges = Edges()
        self._sequence = self._solved_rows = self._told_rows = 0
        self._stale = False
        """Units have changed since the problem was last solved."""
        self._past: list[Frame] = []
        """Units before these, newest first: a neighbour may still speak in them."""
        self._primal = self._dual = 0.0

    @property
    def served(self) -> Array:
        """The node's parameters."""
        return self._theta

    iterate = served

    @property
    def rho(self) -> float:
        """The penalty of an edge."""
        own, tree = self.settings, self.tree
        if own.rho is not None:
            return own.rho
        return _STIFFNESS * own.kappa * tree.reach / tree.nodes if tree.nodes else 0.0

    def acts(self) -> bool:
        """Tell whether there is something to say to somebody."""
        due = (edge.due or self.census.due(name) for name, edge in self._edges.items())
        return not self._edges or self._moved or any(due)

    @property
    def _moved(self) -> bool:
        """Whether the parameters are others than the neighbours know."""
        return length(self._theta - self._sent) > self._tolerance

    @property
    def _tolerance(self) -> float:
        own = self.settings
        return own.absolute * sqrt(own.size) + own.relative * length(self._theta)

    def messages(self) -> Sequence[Message]:
        """Send q to each neighbour that needs it, with moments or units where those are due."""
        self._sequence += 1
        if not self._edges:
            status = self._status(0, False, False)
            return (Message({"q": freeze(np.zeros(self.settings.size)), "status": status}),)
        moved, letters, parent = self._moved, [], self.tree.parent
        for name in sorted(self._edges):
            edge = self._edges[name]
            if moved or edge.due or self.census.due(name):
                extra = self._extra(edge, name == parent) | self.census.arrays(name)
                asks = edge.send(self._sequence, moved)
                status = self._status(edge.heard, asks, name == parent)
                q = freeze(2.0 * self.rho * self._theta - edge.z)
                letters.append(Message({"q": q, "status": status, **extra}, to=name))
        if moved:
            self._sent = self._theta
        return letters

    def _status(self, answers: int, asks: bool, child: bool) -> Array:
        epoch, tree = self.frame.epoch if self.frame else 0, self.tree
        return frozen(self._sequence, epoch, tree.version, tree.hops, answers, asks, child)

    def _extra(self, edge: Edge, parent: bool) -> dict[str, Array]:
        extra: dict[str, Array] = {}
        if edge.moments and parent:
            extra |= self.tree.below(self.moments, len(self._edges))
        if edge.units and self.frame is not None:
            extra |= {
                "centre": freeze(self.frame.centre.copy()),
                "scale": freeze(self.frame.scale.copy()),
                "numbers": self.tree.numbers(),
            }
        return extra

    def meet(self, neighbours: Collection[NodeId]) -> None:
        """Take up other neighbours; a node that has none yet speaks to all of them."""
        if self._edges:
            self._keep(neighbours)

    def _keep(self, neighbours: Collection[NodeId]) -> None:
        """Let an edge's multiplier go with it, and those below; a new edge's is 0 at first."""
        if self._edges.keys() == set(neighbours):
            return
        before, begun = (self.tree.parent, self.tree.hops), bool(self._edges)
        gone, self._stale = self._edges.keep(neighbours, self.rho * self._theta), True
        self.census.forget(gone)
        self.tree.forget(gone)
        if begun:
            self._tell_tree(*before)

    def combine(self, heard: Sequence[Heard], weights: Mapping[NodeId, float]) -> None:
        """Take in what the neighbours ask for, and solve again."""
        self._keep(weights)
        for edge in self._edges.values():
            edge.waited += 1
        fresh = [one for one in heard if self._is_new(one)]
        for one in fresh:
            self._hear(one)
        if self.tree.hub:
            self._lead()
        elif self.grown(self._told_rows):
            self._tell_tree(self.tree.parent, self.tree.hops)
        if self.frame is not None:
            pulled = [self._pull(one, self.frame) for one in fresh]
            self._solve(self.frame, any(pulled))
            self._ask_around(fresh, self.frame)

    def _ask_around(self, fresh: Sequence[Heard], frame: Frame) -> None:
        """Pass the hub's question on, and the answers back."""
        self.census.pass_time()
        for one in fresh:
            if int(one.arrays["status"][EPOCH]) == frame.epoch:
                self.census.hear(one.sender, one.arrays, self.system)
        if self.tree.hub:
            penalty = self.settings.penalty(frame)
            self.census.lead(self._sequence, self._theta, self.system, *penalty)

    def _is_new(self, one: Heard) -> bool:
        return int(one.arrays["status"][SEQUENCE]) != self._edges[one.sender].heard

    def _hear(self, one: Heard) -> None:
        status = one.arrays["status"]
        number, epoch, version, hops, answers = (int(value) for value in status[:ASKS])
        self._edges[one.sender].hear(number, answers, bool(status[ASKS]))
        before = self.tree.parent, self.tree.hops
        if self.tree.hear(one.sender, one.arrays, hops, bool(status[CHILD])):
            self._tell_tree(*before)
        if version > self.tree.version and "scale" in one.arrays:
            frame = Frame(epoch, one.arrays["centre"], one.arrays["scale"])
            changed = self.frame is None or epoch != self.frame.epoch
            self._change(frame if changed else None, one.arrays["numbers"].tolist())
        self._edges[one.sender].units = version < self.tree.version

    def _tell_tree(self, parent: NodeId, hops: int) -> None:
        """Send the moments up, and tell whom it concerns of another parent or distance.

        `parent`, `hops`: as they were. Before the hub has told anything all speak anyway.
        """
        self._told_rows = self.moments.rows
        names = {self.tree.parent, parent} & self._edges.keys()
        if hops != self.tree.hops and self.tree.version:
            names = set(self._edges)
        self._edges.tell(names)

    def _lead(self) -> None:
        """Set units, M and N, by what the tree has brought together."""
        (count, mean, m2), nodes, far, degrees = self.tree.merged(self.moments, len(self._edges))
        if count == 0.0:
            return
        tree, new = self.tree, self.new_frame(count, mean, m2)
        reach = far / sqrt(max(degrees, 1.0) / nodes)
        grown = abs(count - tree.total) > self.settings.growth * tree.total
        if new or grown or (nodes, reach) != (tree.nodes, tree.reach):
            self._change(new, [count, nodes, reach, tree.version + 1])

    def _change(self, new: Frame | None, numbers: Sequence[float]) -> None:
        """Go over to other units, or to another M or N alone, and tell the neighbours."""
        old, before, self._stale = self.frame, self.rho, True
        self.tree.take(*numbers)
        for edge in self._edges.values():
            edge.units, edge.asked, edge.wants = True, 0, True
            edge.z = edge.z + (self.rho - before) * self._theta
            if new and old:
                edge.z = carry_pull(edge.z, self.rho, self._theta, old, new)
        if new:
            self.frame = new
            self.system.forget()
            self.census.drop()
        if new and old:
            self._past = [old, *self._past[: _PAST - 1]]
            self._theta, self._sent = old.carry(self._theta, new), old.carry(self._sent, new)

    def _pull(self, one: Heard, frame: Frame) -> bool:
        """Move z, where the units that the other end speaks in are known."""
        q, epoch = one.arrays["q"], int(one.arrays["status"][EPOCH])
        if epoch != frame.epoch:
            old = next((past for past in self._past if past.epoch == epoch), None)
            if old is None:
                return False
            q = carry_pull(q, self.rho, frame.carry(self._theta, old), old, frame)
        edge = self._edges[one.sender]
        self._primal = edge.pull(q, 0.5 * self.settings.relax)
        edge.wants = self._primal > self.rho * self._tolerance
        return True

    def _solve(self, frame: Frame, pulled: bool) -> None:
        if not (pulled or self._stale or self.grown(self._solved_rows)):
            return
        self.system.update(self.moments, frame, self.tree.total)
        right = self.system.c.copy()
        for name in sorted(self._edges):
            right = right + self._edges[name].z
        l1, l2 = (u / self.tree.nodes for u in self.settings.penalty(frame))
        held = l2 + self.rho * len(self._edges)
        before, self._theta = self._theta, self._theta.copy()
        precision = 0.1 * self.settings.relative * sqrt(self.rho) + 1e-15
        descend(self.system.A, right, l1, held, self._theta, precision, _SWEEPS)
        self._dual = length(self._theta - before)
        self._solved_rows, self._stale = self.moments.rows, False

    def leave(self) -> None:
        """Go on passing on what others say, with nothing to add."""
        self._stale = True

    def measures(self) -> dict[str, float]:
        """Give how far an edge and the node last moved, the own samples' loss, the hub's gap."""
        loss = self.system.loss(self._theta)
        told = {"primal": self._primal, "dual": self._dual, "loss": loss}
        return told | self.census.measures()

    def export(self) -> State:
        """Give the state."""
        turns = self._sequence, self._solved_rows, self._told_rows, self._stale
        return {
            **saved_frame(self.frame),
            "peak": self.peak.copy(),
            **self.tree.export(),
            **self.census.export(),
            **self._edges.export(),
            "theta": np.stack([self._theta, self._sent]),
            "past_epochs": [frame.epoch for frame in self._past],
            "past": np.array([[f.centre, f.scale] for f in self._past]).reshape(
                len(self._past), 2, self.settings.size
            ),
            "turns": np.array([*turns, self._primal, self._dual], dtype=np.float64),
        }

    def restore(self, state: State) -> None:
        """Take it back; raises ModelError."""
        size = self.settings.size
        self.frame = restored_frame(state, size)
        self.peak = saved_array(state, "peak", (size,))
        self.tree.restore(state)
        self.census.restore(state)
        self._edges = Edges.restored(state, size)
        self._theta, self._sent = saved_array(state, "theta", (2, size))
        epochs = saved_array(state, "past_epochs", (-1,)).astype(np.int64).tolist()
        past = saved_array(state, "past", (len(epochs), 2, size))
        self._past = [Frame(epoch, *rows) for epoch, rows in zip(epochs, past, strict=True)]
        turns = saved_array(state, "turns", (6,)).tolist()
        self._sequence, self._solved_rows, self._told_rows = map(int, turns[:3])
        self._stale, self._primal, self._dual = bool(turns[3]), turns[4], turns[5]
