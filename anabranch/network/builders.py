"""Graphs of the usual shapes, and the choice between them by name."""

from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from math import isqrt

from anabranch.errors import ConfigurationError, nearest
from anabranch.network.edge_list import from_edges
from anabranch.network.graph import Graph
from anabranch.network.random_graphs import random_by_connectivity, random_by_degree
from anabranch.protocol import NodeId

__all__ = ["GRAPHS", "build_graph", "complete", "grid", "node_names", "path", "ring", "star"]

DEFAULT_DEGREE = 4


def node_names(count: int) -> tuple[NodeId, ...]:
    """Give names for a number of nodes, padded so that they sort in order.

    Raises
    ------
    ConfigurationError
        The number is below 1.

    Examples
    --------
    >>> node_names(3)
    ('n00', 'n01', 'n02')
    """
    if count < 1:
        raise ConfigurationError(f"network.nodes = {count} is too few; allowed: 1 or more")
    width = max(2, len(str(count - 1)))
    return tuple(f"n{number:0{width}d}" for number in range(count))


def complete(names: Sequence[NodeId]) -> Graph:
    """Join every pair of nodes.

    >>> len(complete(["a", "b", "c", "d"]).edges)
    6
    """
    return Graph.of(names, combinations(names, 2))


def path(names: Sequence[NodeId]) -> Graph:
    """Join the nodes in a line, in the order given.

    >>> path(["a", "b", "c"]).diameter
    2
    """
    return Graph.of(names, pairwise(names))


def ring(names: Sequence[NodeId]) -> Graph:
    """Join the nodes in a circle, in the order given; two nodes have one edge.

    >>> ring(["a", "b", "c", "d"]).neighbours("a")
    ('b', 'd')
    """
    closing = [(names[-1], names[0])] if len(names) > 2 else []
    return Graph.of(names, [*pairwise(names), *closing])


def star(names: Sequence[NodeId]) -> Graph:
    """Join every node to the first, and to no other.

    >>> star(["hub", "a", "b"]).degree("hub")
    2
    """
    return Graph.of(names, [(names[0], name) for name in names[1:]])


def grid(names: Sequence[NodeId]) -> Graph:
    """Join neighbours in a nearly square grid, filled row by row; the last row may be short.

    >>> grid(["a", "b", "c", "d", "e"]).edges  # a b c over d e
    (('a', 'b'), ('a', 'd'), ('b', 'c'), ('b', 'e'), ('d', 'e'))
    """
    width = isqrt(len(names) - 1) + 1 if names else 0
    across = [pair for i, pair in enumerate(pairwise(names)) if (i + 1) % width]
    return Graph.of(names, [*across, *zip(names, names[width:], strict=False)])


_SHAPES = {"complete": complete, "grid": grid, "path": path, "ring": ring, "star": star}

GRAPHS = (*sorted(_SHAPES), "random", "edges")
"""The names `build_graph` takes."""


def build_graph(
    kind: str,
    names: Sequence[NodeId],
    *,
    degree: float = DEFAULT_DEGREE,
    connectivity: float | None = None,
    seed: int = 0,
    edges: Iterable[str] | None = None,
) -> Graph:
    """Build a graph of a kind chosen by name.

    Parameters
    ----------
    kind : one of `GRAPHS`
    names : the nodes; for "edges" may be empty, and then the lines name them
    degree : for "random": neighbours a node has on average; the default of 4 means all
        others in a network of fewer than five nodes
    connectivity : for "random", instead of `degree`: per cent of the complete graph's edges
    seed : for "random"
    edges : for "edges": lines as `from_edges` takes them

    Raises
    ------
    ConfigurationError
        The kind is unknown, "edges" comes without lines, or a number cannot be had.
    NetworkError
        As `Graph.of` and `from_edges`. Connectedness is not checked here.

    Examples
    --------
    >>> build_graph("ring", node_names(20)).diameter
    10
    """
    if kind in _SHAPES:
        return _SHAPES[kind](names)
    if kind == "random":
        return _random(names, degree, connectivity, seed)
    if kind != "edges":
        raise ConfigurationError(
            f"network.graph = {kind!r} is not known{nearest(kind, list(GRAPHS))}"
        )
    if edges is None:
        raise ConfigurationError(
            "network.graph = 'edges' needs network.edges, a file of two node names a line"
        )
    return from_edges(edges, names)


def _random(names: Sequence[NodeId], degree: float, connectivity: float | None, seed: int) -> Graph:
    if connectivity is not None:
        return random_by_connectivity(names, connectivity, seed)
    if degree == DEFAULT_DEGREE:
        # The default must work in any network; another degree was asked for and is refused.
        degree = min(degree, max(len(names) - 1, 0))
    return random_by_degree(names, degree, seed)
