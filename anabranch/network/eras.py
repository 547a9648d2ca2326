"""Networks in time: which one holds in which round."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from anabranch.errors import NetworkError, UnknownNodeError
from anabranch.network.weights import Weights
from anabranch.protocol import NodeId

__all__ = ["Eras"]


@dataclass(frozen=True)
class Eras:
    """The networks of a job, each from its first round on.

    In a round before a change the old network holds in every respect, from that round on the
    new one. Eras are only ever added: what was is needed to go on from a snapshot.

    Parameters
    ----------
    steps : (first round, network), rounds increasing from 0

    Raises
    ------
    NetworkError
        There is no step, the first is not of round 0, rounds do not increase, or a node that
        left is there again: its name stands for what it learned, so who comes is someone else.

    Examples
    --------
    >>> from anabranch.network import combination_weights, ring
    >>> old, new = (combination_weights(ring(names)) for names in ("abc", "bcd"))
    >>> eras = Eras.of(old, {40: new})
    >>> eras.nodes, eras.first_round("d"), eras.last_round("a"), eras.last_round("b")
    (('a', 'b', 'c', 'd'), 40, 39, None)
    >>> eras.at(39) is old, eras.at(40) is new
    (True, True)
    """

    steps: tuple[tuple[int, Weights], ...]

    def __post_init__(self) -> None:
        if not self.steps:
            raise NetworkError("the networks in time are none; they need one at least")
        if self._starts[0] != 0:
            raise NetworkError(f"the first network is of round {self._starts[0]}; allowed: 0")
        for before, start in zip(self._starts, self._starts[1:], strict=False):
            if start <= before:
                raise NetworkError(
                    f"a network of round {start} follows that of round {before}; allowed: later"
                )
        self._check_returns()

    def _check_returns(self) -> None:
        left: set[NodeId] = set()
        before: set[NodeId] = set()
        for start, weights in self.steps:
            now = set(weights.graph.nodes)
            back = sorted(left & now)
            if back:
                raise NetworkError(
                    f"node {back[0]!r} joins in round {start} and has left before; allowed: a name "
                    "that no node ever had"
                )
            left |= before - now
            before = now

    @classmethod
    def of(cls, weights: Weights, changes: Mapping[int, Weights] | None = None) -> "Eras":
        """Make them of the first network and those that follow, by their first rounds."""
        return cls(((0, weights),)).then(changes or {})

    def then(self, changes: Mapping[int, Weights]) -> "Eras":
        """Give these with more that follow, by their first rounds; raises as the class does."""
        return Eras((*self.steps, *((round, changes[round]) for round in sorted(changes))))

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return tuple(start for start, _ in self.steps)

    def at(self, round: int) -> Weights:
        """Give the network of a round; before round 0 the first."""
        return self.steps[self._place(round)][1]

    def _place(self, round: int) -> int:
        return max(0, bisect_right(self._starts, round) - 1)

    def start(self, round: int) -> int:
        """Give the first round of the network that a round has."""
        return self._starts[self._place(round)]

    def change_after(self, round: int) -> int | None:
        """Give the next round in which another network begins; None where none does."""
        place = self._place(round) + 1
        return self._starts[place] if place < len(self._starts) else None

    @property
    def first(self) -> Weights:
        """The network of round 0."""
        return self.steps[0][1]

    @property
    def newest(self) -> Weights:
        """The last network."""
        return self.steps[-1][1]

    @cached_property
    def nodes(self) -> tuple[NodeId, ...]:
        """All nodes that ever are: those of the first network, then by turns those that join.

        Nodes that join together are sorted; later changes only append.
        """
        seen: dict[NodeId, None] = {}
        for _, weights in self.steps:
            seen.update(dict.fromkeys(weights.graph.nodes))
        return tuple(seen)

    def first_round(self, node: NodeId) -> int:
        """Give a node's first round.

        Raises
        ------
        UnknownNodeError
            No network has such a node.
        """
        return self._stay(node)[0]

    def last_round(self, node: NodeId) -> int | None:
        """Give a node's last round, None where it stays; raises as `first_round` does."""
        return self._stay(node)[1]

    def present(self, node: NodeId, round: int) -> bool:
        """Tell whether a node is in the network of a round; raises as `first_round` does."""
        first, last = self._stay(node)
        return first <= round and (last is None or round <= last)

    def joins(self, node: NodeId) -> bool:
        """Tell whether a node comes to others that stay; raises as `first_round` does."""
        first = self.first_round(node)
        before = self.at(first - 1).graph.nodes if first else ()
        return not set(before).isdisjoint(self.at(first).graph.nodes)

    def _stay(self, node: NodeId) -> tuple[int, int | None]:
        try:
            return self._stays[node]
        except KeyError:
            raise UnknownNodeError(
                f"no network ever has a node {node!r}; allowed: {', '.join(self.nodes[:10])}"
            ) from None

    @cached_property
    def _stays(self) -> dict[NodeId, tuple[int, int | None]]:
        stays: dict[NodeId, tuple[int, int | None]] = {}
        for start, weights in self.steps:
            here = weights.graph.nodes
            gone = [n for n in stays.keys() - set(here) if stays[n][1] is None]
            stays.update({node: (stays[node][0], start - 1) for node in gone})
            stays.update({node: (start, None) for node in here if node not in stays})
        return stays

    def widest(self, round: int) -> int:
        """Give the largest diameter of the networks up to a round; it never shrinks.

        Raises
        ------
        DisconnectedGraphError
            A network has no diameter.
        """
        return self._widest[self._place(round)]

    @cached_property
    def _widest(self) -> tuple[int, ...]:
        widest = [0]
        for _, weights in self.steps:
            widest.append(max(widest[-1], weights.graph.diameter))
        return tuple(widest[1:])
