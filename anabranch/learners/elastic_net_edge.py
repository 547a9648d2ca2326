"""One edge of the serverless elastic net, as one of its ends knows it."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from anabranch.learners.elastic_net_part import saved_names
from anabranch.learners.states import saved_array
from anabranch.protocol import Array, NodeId, State

__all__ = ["Edge", "Edges"]

_NUMBERS = 7
_PATIENCE = 3
"""Rounds without an answer after which a message is taken as lost."""


@dataclass(slots=True)
class Edge:
    """What the other end asks for, and who owes whom a message.

    A message that matters is to be answered, and is sent again until it is; an answer need
    not matter. So both fall silent when neither has anything new.

    Attributes
    ----------
    z : (p + 1,), moved towards each q heard
    heard : number of the last message taken
    asked : number of the last message that is to be answered; 0 once it was
    waited : rounds since then
    owes : whether the other end wants an answer
    wants : whether q is still away from z, or nothing was ever heard
    moments : number of the first message that carried the newest moments, or said that this
        is no longer the parent, or how far the hub is; -1 before that, 0 once it arrived
    units : whether those are still to reach the other end
    """

    z: Array
    heard: int = 0
    asked: int = 0
    waited: int = 0
    moments: int = 0
    owes: bool = False
    wants: bool = True
    units: bool = False

    @property
    def due(self) -> bool:
        """Whether a message must be sent even where no parameter has moved."""
        matters = self.wants or self.moments != 0 or self.units
        return self.owes or (self._lost if self.asked else matters)

    @property
    def _lost(self) -> bool:
        return self.asked > 0 and self.waited > _PATIENCE

    def send(self, number: int, moved: bool) -> bool:
        """Note that a message is sent; tell whether it is to be answered."""
        self.owes = False
        if self.moments < 0:
            self.moments = number
        if moved or self._lost or self.wants or self.moments or self.units:
            self.asked, self.waited = number, 0
            return True
        return False

    def hear(self, number: int, answers: int, asks: bool) -> None:
        """Note that a message has come that answers another, and may ask for one."""
        self.heard, self.owes = number, asks
        if answers >= self.asked:
            self.asked = 0
        if 0 < self.moments <= answers:
            self.moments = 0

    def pull(self, q: Array, share: float) -> float:
        """z += share (q - z); give the largest change."""
        step = share * (q - self.z)
        self.z = self.z + step
        return float(np.abs(step).max())

    def numbers(self) -> list[float]:
        """Give everything but z."""
        return [
            float(value)
            for value in (
                self.heard, self.asked, self.waited, self.moments, self.owes, self.wants,
                self.units,
            )
        ]  # fmt: skip

    @classmethod
    def of(cls, z: Array, numbers: list[float]) -> "Edge":
        """Build an edge from z and `numbers`."""
        heard, asked, waited, moments = map(int, numbers[:4])
        owes, wants, units = map(bool, numbers[4:])
        return cls(z, heard, asked, waited, moments, owes, wants, units)


class Edges(dict[NodeId, Edge]):
    """A node's edges, by the name of the other end."""

    def keep(self, names: Collection[NodeId], z: Array) -> set[NodeId]:
        """Drop edges to others than these, and begin new ones with z; give who is gone.

        >>> edges = Edges({"a": Edge(np.ones(1)), "b": Edge(np.ones(1))})
        >>> edges.keep(["b", "c"], np.zeros(1)), sorted(edges)
        ({'a'}, ['b', 'c'])
        """
        gone = self.keys() - set(names)
        for name in gone:
            del self[name]
        for name in names:
            self.setdefault(name, Edge(z))
        return gone

    def tell(self, names: Iterable[NodeId]) -> None:
        """Have others told of the tree to the hub: moments, whose child this is, how far it is."""
        for name in names:
            self[name].moments, self[name].asked = -1, 0

    def export(self) -> State:
        """Give the state."""
        names = sorted(self)
        edges = [self[name] for name in names]
        shape = (len(names), -1 if names else 0)
        return {
            "neighbours": names,
            "z": np.array([edge.z for edge in edges]).reshape(shape),
            "edges": np.array([edge.numbers() for edge in edges]).reshape(shape),
        }

    @classmethod
    def restored(cls, state: State, size: int) -> "Edges":
        """Take it back; raises ModelError."""
        names = saved_names(state, "neighbours")
        z = saved_array(state, "z", (len(names), size if names else 0))
        numbers = saved_array(state, "edges", (len(names), _NUMBERS if names else 0)).tolist()
        return cls({n: Edge.of(*row) for n, *row in zip(names, z, numbers, strict=True)})
