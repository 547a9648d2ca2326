"""An undirected graph of named nodes: who may talk to whom."""

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from itertools import pairwise

from anabranch.errors import (
    DisconnectedGraphError,
    DuplicateEdgeError,
    IsolatedNodeError,
    NetworkError,
    SelfLoopError,
    UnknownNodeError,
)
from anabranch.protocol import NodeId

__all__ = ["Edge", "Graph"]

Edge = tuple[NodeId, NodeId]


@dataclass(frozen=True, repr=False)
class Graph:
    """Nodes and undirected edges in one canonical order; make it with `Graph.of`.

    Attributes
    ----------
    nodes : names, sorted
    edges : pairs (a, b) with a < b, sorted

    Examples
    --------
    >>> graph = Graph.of(["c", "a", "b"], [("c", "b"), ("a", "b")])
    >>> graph.edges
    (('a', 'b'), ('b', 'c'))
    >>> graph.neighbours("b"), graph.degree("b"), graph.diameter
    (('a', 'c'), 2, 2)
    """

    nodes: tuple[NodeId, ...]
    edges: tuple[Edge, ...]

    @classmethod
    def of(cls, nodes: Iterable[NodeId], edges: Iterable[Edge]) -> "Graph":
        """Build a graph from nodes and edges in any order, checking each.

        The graph need not be connected: `check_connected` is a check of its own.

        Raises
        ------
        UnknownNodeError
            An edge names a node that is not among `nodes`.
        SelfLoopError
            An edge joins a node to itself.
        DuplicateEdgeError
            An edge is given twice, in either direction.
        NetworkError
            There is no node, a name is empty, or a node is named twice.
        """
        names = _checked_names(nodes)
        known = frozenset(names)
        seen: set[Edge] = set()
        for first, second in edges:
            _check_edge(first, second, names, known)
            edge = (first, second) if first < second else (second, first)
            if edge in seen:
                raise DuplicateEdgeError(
                    f"edge {first!r} - {second!r} is given twice: name each pair of nodes once, "
                    "in either direction"
                )
            seen.add(edge)
        return cls(names, tuple(sorted(seen)))

    def __repr__(self) -> str:
        return f"<Graph {self.hash()}: {len(self.nodes)} nodes, {len(self.edges)} edges>"

    def neighbours(self, node: NodeId) -> tuple[NodeId, ...]:
        """Give the names of a node's neighbours, sorted.

        Raises
        ------
        UnknownNodeError
            The graph has no such node.
        """
        try:
            return self._neighbours[node]
        except KeyError:
            raise UnknownNodeError(_unknown(node, self.nodes)) from None

    def degree(self, node: NodeId) -> int:
        """Count a node's neighbours; raises as `neighbours` does."""
        return len(self.neighbours(node))

    @cached_property
    def _neighbours(self) -> dict[NodeId, tuple[NodeId, ...]]:
        lists: dict[NodeId, list[NodeId]] = {node: [] for node in self.nodes}
        for first, second in self.edges:
            lists[first].append(second)
            lists[second].append(first)
        return {node: tuple(sorted(names)) for node, names in lists.items()}

    @cached_property
    def diameter(self) -> int:
        """The largest number of hops between two nodes; 0 for a single node.

        Raises
        ------
        DisconnectedGraphError
            Some nodes cannot reach each other.
        """
        self.check_connected()
        index = {node: i for i, node in enumerate(self.nodes)}
        near = [[index[name] for name in self._neighbours[node]] for node in self.nodes]
        # A node's reach is one integer, bit i for node i: a hop of all nodes is a few ORs each.
        everything = (1 << len(self.nodes)) - 1
        reach = [1 << i for i in range(len(self.nodes))]
        hops = 0
        while any(bits != everything for bits in reach):
            reach = [_union(reach, i, near[i]) for i in range(len(reach))]
            hops += 1
        return hops

    def components(self) -> tuple[tuple[NodeId, ...], ...]:
        """Give the sets of nodes that reach each other, each sorted, by their first node.

        >>> Graph.of("abcd", [("d", "a"), ("b", "c")]).components()
        (('a', 'd'), ('b', 'c'))
        """
        left = set(self.nodes)
        found = []
        for start in self.nodes:
            if start not in left:
                continue
            left.discard(start)
            component, frontier = [start], [start]
            while frontier:
                fresh = [n for n in self._neighbours[frontier.pop()] if n in left]
                left.difference_update(fresh)
                component += fresh
                frontier += fresh
            found.append(tuple(sorted(component)))
        return tuple(found)

    def check_connected(self) -> None:
        """Refuse a graph in which some nodes never hear of each other.

        Raises
        ------
        IsolatedNodeError
            Nodes without any neighbour, in a graph of more than one node.
        DisconnectedGraphError
            The graph falls into parts.
        """
        if len(self.nodes) == 1:
            return
        isolated = [node for node in self.nodes if not self._neighbours[node]]
        if isolated:
            raise IsolatedNodeError(
                f"no neighbour at all: {_some(isolated)} of {len(self.nodes)} nodes; every node "
                "needs an edge, or leave it out of the network"
            )
        parts = self.components()
        if len(parts) > 1:
            shown = "; ".join(f"{{{_some(part)}}}" for part in parts[:5])
            more = f"; and {len(parts) - 5} more" if len(parts) > 5 else ""
            raise DisconnectedGraphError(
                f"the graph falls into {len(parts)} parts that cannot reach each other: "
                f"{shown}{more}; join them by an edge, or run them as separate jobs"
            )

    def induced(self, present: Collection[NodeId]) -> "Graph":
        """Give the graph of some of the nodes and the edges between them.

        Raises
        ------
        UnknownNodeError
            A name in `present` is not a node of this graph.
        NetworkError
            `present` is empty.
        """
        kept = frozenset(present)
        for node in sorted(kept):
            self.neighbours(node)
        return Graph.of(kept, [(a, b) for a, b in self.edges if a in kept and b in kept])

    def hash(self) -> str:
        """Give 16 hexadecimal digits that are the same for the same nodes and edges only."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        # JSON quotes the names, so no two graphs are written alike whatever the names hold.
        text = json.dumps([self.nodes, self.edges], separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


def _union(reach: list[int], own: int, others: list[int]) -> int:
    bits = reach[own]
    for other in others:
        bits |= reach[other]
    return bits


def _checked_names(nodes: Iterable[NodeId]) -> tuple[NodeId, ...]:
    names = sorted(nodes)
    if not names:
        raise NetworkError("the network has no node: it needs one at least")
    if not names[0]:
        raise NetworkError("a node's name is empty: names need one character at least")
    for first, second in pairwise(names):
        if first == second:
            raise NetworkError(f"node {first!r} is named twice: every node needs its own name")
    return tuple(names)


def _check_edge(
    first: NodeId, second: NodeId, names: tuple[NodeId, ...], known: frozenset[NodeId]
) -> None:
    for name in (first, second):
        if name not in known:
            raise UnknownNodeError(f"edge {first!r} - {second!r}: {_unknown(name, names)}")
    if first == second:
        raise SelfLoopError(
            f"edge {first!r} - {second!r} joins a node to itself: leave it out, a node's own "
            "weight follows from the rule of the weights"
        )


def _unknown(name: NodeId, names: tuple[NodeId, ...]) -> str:
    close = get_close_matches(name, names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"unknown node {name!r}{hint} (the network's nodes: {_some(names)})"


def _some(names: Collection[NodeId], limit: int = 10) -> str:
    """List names for a message, cut where a large network would fill the screen."""
    shown = ", ".join(list(names)[:limit])
    return f"{shown}, ... {len(names)} in all" if len(names) > limit else shown
