"""Which node of a graph is the hub of an elastic net."""

from collections import deque

from anabranch.errors import ConfigurationError
from anabranch.network import Graph
from anabranch.protocol import NodeId

__all__ = ["elastic_net_roles", "hub_of"]


def elastic_net_roles(graph: Graph, shape: str, hub: NodeId | None = None) -> dict[NodeId, str]:
    """Give each node its `role`: "hub" for one of them, else "node".

    Parameters
    ----------
    shape : "server", for which the graph must be a star around the hub, or "graph"
    hub : its name; by default the middle of the star, or the node with the shortest way to
        the farthest other one, the first by name

    Raises
    ------
    ConfigurationError
        The graph is no star, or has no such node.

    Examples
    --------
    >>> from anabranch.network import ring, star
    >>> elastic_net_roles(star(["s", "a", "b"]), "server")
    {'a': 'node', 'b': 'node', 's': 'hub'}
    >>> elastic_net_roles(ring(["a", "b", "c", "d"]), "graph", hub="c")["c"]
    'hub'
    """
    if hub is not None and hub not in graph.nodes:
        raise ConfigurationError(
            f"no such node: hub={hub!r}; allowed: {', '.join(graph.nodes[:10])}"
        )
    if hub is None:
        hub = hub_of(graph)
    others = [node for node in graph.nodes if node != hub]
    star = all(graph.neighbours(node) == (hub,) for node in others)
    if shape == "server" and not star:
        raise ConfigurationError(
            f"no star around {hub!r}: {graph!r}; allowed with shape='server': every other node "
            "joined to the hub alone"
        )
    return {node: "hub" if node == hub else "node" for node in graph.nodes}


def hub_of(graph: Graph) -> NodeId:
    """Give the node from which the way to the farthest other is shortest, the first by name.

    >>> from anabranch.network import path
    >>> hub_of(path("abcde"))
    'c'
    """
    farthest = {node: _farthest(graph, node) for node in graph.nodes}
    return min(graph.nodes, key=lambda node: (farthest[node], -graph.degree(node), node))


def _farthest(graph: Graph, start: NodeId) -> int:
    """Count the hops to the farthest node that can be reached."""
    hops, queue = {start: 0}, deque([start])
    while queue:
        node = queue.popleft()
        for other in graph.neighbours(node):
            if other not in hops:
                hops[other] = hops[node] + 1
                queue.append(other)
    return max(hops.values())
