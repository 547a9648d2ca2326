"""Random connected graphs: a uniform random tree, and random further edges up to a number."""

import heapq
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.random import PCG64

from anabranch.errors import ConfigurationError
from anabranch.network.graph import Graph
from anabranch.protocol import NodeId

__all__ = ["random_by_connectivity", "random_by_degree"]


def random_by_degree(names: Sequence[NodeId], degree: float, seed: int) -> Graph:
    """Draw a connected graph whose nodes have `degree` neighbours on average.

    It has round(M * degree / 2) edges, for M nodes. Single nodes differ in degree.

    Parameters
    ----------
    names : the nodes; the same names in another order give another graph
    degree : from 2 (M - 1) / M (a tree) to M - 1 (complete)
    seed : 0 or more; the same seed gives the same graph on every machine

    Raises
    ------
    ConfigurationError
        The degree cannot be had with this number of nodes, or the seed is negative.

    Examples
    --------
    >>> graph = random_by_degree(["a", "b", "c", "d", "e"], degree=2.4, seed=1)
    >>> len(graph.edges), len(graph.components())
    (6, 1)
    """
    count = len(names)
    edges = round(count * degree / 2)
    if count > 1 and not count - 1 <= edges <= count * (count - 1) // 2:
        raise ConfigurationError(
            f"network.degree = {degree:g} cannot be had in a connected graph of {count} nodes; "
            f"allowed: {2 * (count - 1) / count:g} (a tree) to {count - 1} (complete)"
        )
    return _random_connected(names, edges, seed)


def random_by_connectivity(names: Sequence[NodeId], percent: float, seed: int) -> Graph:
    """Draw a connected graph with `percent` per cent of the complete graph's edges.

    Parameters
    ----------
    names : the nodes; the same names in another order give another graph
    percent : from 200 / M (a tree) to 100 (complete), for M nodes
    seed : 0 or more; the same seed gives the same graph on every machine

    Raises
    ------
    ConfigurationError
        The share cannot be had with this number of nodes, or the seed is negative.

    Examples
    --------
    >>> len(random_by_connectivity(["a", "b", "c", "d", "e"], percent=50, seed=1).edges)
    5
    """
    count = len(names)
    pairs = count * (count - 1) // 2
    edges = round(pairs * percent / 100)
    if count > 1 and not count - 1 <= edges <= pairs:
        raise ConfigurationError(
            f"network.connectivity = {percent:g} per cent cannot be had in a connected graph of "
            f"{count} nodes; allowed: {200 / count:g} (a tree) to 100 (complete)"
        )
    return _random_connected(names, edges, seed)


def _random_connected(names: Sequence[NodeId], edges: int, seed: int) -> Graph:
    if seed < 0:
        raise ConfigurationError(f"network.seed = {seed} is negative; allowed: 0 or more")
    count = len(names)
    # Raw draws only: numpy keeps these, but not `choice` or `permutation`, from version to
    # version, and all sites of a network must draw the same graph.
    bits = PCG64(seed)
    chosen = _random_tree(count, bits)
    rest = [pair for pair in combinations(range(count), 2) if pair not in chosen]
    order = np.argsort(bits.random_raw(len(rest)), kind="stable")
    chosen |= {rest[i] for i in order[: max(edges - len(chosen), 0)]}
    return Graph.of(names, [(names[i], names[j]) for i, j in chosen])


def _random_tree(count: int, bits: PCG64) -> set[tuple[int, int]]:
    """Draw each labelled tree with equal chance, by decoding a random Pruefer sequence."""
    if count < 2:
        return set()
    code = [int(draw) % count for draw in bits.random_raw(count - 2)]
    missing = [1] * count
    for node in code:
        missing[node] += 1
    leaves = [node for node in range(count) if missing[node] == 1]
    edges = set()
    for node in code:
        leaf = heapq.heappop(leaves)
        edges.add((min(leaf, node), max(leaf, node)))
        missing[node] -= 1
        if missing[node] == 1:
            heapq.heappush(leaves, node)
    edges.add((heapq.heappop(leaves), heapq.heappop(leaves)))
    return edges
