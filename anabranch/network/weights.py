"""Combination weights: how much each neighbour's parameters count in a node's average."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import eigsh

from anabranch.errors import ConfigurationError, WeightsError, nearest
from anabranch.network.graph import Graph
from anabranch.protocol import Array, NodeId

__all__ = ["RULES", "Weights", "combination_weights", "restrict"]

_DENSE_LIMIT = 256
_SHIFT = 1e-3


def _metropolis(own: int, other: int, largest: int) -> float:
    """1 / max(d_m, d_n): the rule of the dSVOR paper."""
    return 1.0 / max(own, other)


def _metropolis_hastings(own: int, other: int, largest: int) -> float:
    """1 / (1 + max(d_m, d_n)): leaves every node a weight of its own."""
    return 1.0 / (1 + max(own, other))


def _laplacian(own: int, other: int, largest: int) -> float:
    """1 / (1 + d_max), so that C = I - L / (1 + d_max) with the graph's Laplacian L."""
    return 1.0 / (1 + largest)


RULES: dict[str, Callable[[int, int, int], float]] = {
    "metropolis-hastings": _metropolis_hastings,
    "metropolis": _metropolis,
    "laplacian": _laplacian,
}
"""Name of a rule -> weight of an edge from its ends' degrees and the graph's largest degree."""


@dataclass(frozen=True)
class Weights:
    """A symmetric, doubly stochastic matrix C over a graph; see `combination_weights`.

    Examples
    --------
    >>> from anabranch.network import path
    >>> weights = combination_weights(path(["a", "b", "c"]), "metropolis-hastings")
    >>> weights.of("a"), round(weights.own("a"), 3), round(weights.spectral_gap, 3)
    ({'b': 0.3333333333333333}, 0.667, 0.333)
    """

    graph: Graph
    rule: str

    def of(self, node: NodeId) -> dict[NodeId, float]:
        """Give neighbour -> weight in this node's average, in sorted order of names.

        Raises
        ------
        UnknownNodeError
            The graph has no such node.
        """
        rule, graph = RULES[self.rule], self.graph
        own = graph.degree(node)
        return {
            other: rule(own, graph.degree(other), self._largest) for other in graph.neighbours(node)
        }

    def own(self, node: NodeId) -> float:
        """Give what a node's own parameters count: what its neighbours leave of 1."""
        return 1.0 - fsum(self.of(node).values())

    @cached_property
    def _largest(self) -> int:
        return max(self.graph.degree(node) for node in self.graph.nodes)

    def matrix(self) -> Array:
        """Give C as (M, M) float64, nodes in sorted order, each node's own weight included."""
        dense: Array = self._sparse().toarray()
        return dense

    def _sparse(self) -> Any:
        index = {node: i for i, node in enumerate(self.graph.nodes)}
        rows, columns, values = [], [], []
        for node, row in index.items():
            weights = self.of(node)
            rows += [row] * (len(weights) + 1)
            columns += [row, *(index[other] for other in weights)]
            values += [1.0 - fsum(weights.values()), *weights.values()]
        size = len(index)
        return csr_array((np.array(values), (rows, columns)), shape=(size, size))

    @cached_property
    def spectral_radius(self) -> float:
        """The spectral radius of C - 11'/M: disagreement shrinks by it, or faster, each round."""
        if len(self.graph.components()) > 1:
            return 1.0
        return _spectral_radius(self._sparse())

    @property
    def spectral_gap(self) -> float:
        """1 - `spectral_radius`; 1 is agreement in a single round, 0 is never."""
        return 1.0 - self.spectral_radius


def combination_weights(
    graph: Graph, rule: str = "metropolis-hastings", check: bool = True
) -> Weights:
    """Give the weights of a rule on a graph.

    ===================== ========================== ====================================
    rule                  c_mn for neighbours m, n   leads to consensus on
    ===================== ========================== ====================================
    metropolis-hastings   1 / (1 + max(d_m, d_n))    every connected graph
    laplacian             1 / (1 + largest degree)   every connected graph, often slower
    metropolis            1 / max(d_m, d_n)          connected graphs, bipartite regular
                                                     ones (even rings, pairs) excepted
    ===================== ========================== ====================================

    A node's own weight is what is left of 1.

    Parameters
    ----------
    graph : need not be connected when `check` is off
    rule : one of `RULES`
    check : refuse weights that do not lead to consensus

    Raises
    ------
    ConfigurationError
        The rule is unknown.
    IsolatedNodeError, DisconnectedGraphError
        The graph is not connected.
    WeightsError
        The spectral radius of C - 11'/M is not below 1.

    Examples
    --------
    >>> from anabranch.network import ring
    >>> combination_weights(ring(["a", "b", "c", "d"]), "laplacian").of("a")
    {'b': 0.3333333333333333, 'd': 0.3333333333333333}
    """
    if rule not in RULES:
        raise ConfigurationError(
            f"network.weights = {rule!r} is not known{nearest(rule, list(RULES))}"
        )
    weights = Weights(graph, rule)
    if check:
        graph.check_connected()
        _check_consensus(weights)
    return weights


def restrict(weights: Weights, present: Collection[NodeId], check: bool = False) -> Weights:
    """Recompute weights for the nodes in use, by the same rule from the degrees among them.

    This is for nodes known by all to have left. A neighbour that is merely silent in a
    round needs no new weights: a node leaving its weight to itself, and the other doing
    the same, keeps C symmetric and doubly stochastic without either knowing the other's
    degree.

    Parameters
    ----------
    weights : of the whole graph
    present : the nodes in use
    check : off, since a network that is split for a while goes on in its parts

    Raises
    ------
    UnknownNodeError, NetworkError
        A name is not in the graph, or `present` is empty.
    WeightsError, DisconnectedGraphError
        Only when `check` is on; as `combination_weights`.

    Examples
    --------
    >>> from anabranch.network import complete
    >>> restrict(combination_weights(complete(["a", "b", "c"])), ["a", "b"]).of("a")
    {'b': 0.5}
    """
    return combination_weights(weights.graph.induced(present), weights.rule, check)


def _check_consensus(weights: Weights) -> None:
    radius = weights.spectral_radius
    if radius < 1 - 1e-12:
        return
    raise WeightsError(
        f"network.weights = {weights.rule!r} does not lead to consensus on this graph: the "
        f"spectral radius of C - 11'/M is {radius:.12g}, and must be below 1. The rule "
        "1/max(d_m, d_n) fails on bipartite regular graphs (two nodes, rings of an even number "
        "of nodes, hypercubes): no node keeps a weight of its own there, and the two sides swap "
        "their parameters for ever; allowed on every connected graph: 'metropolis-hastings', "
        "'laplacian'"
    )


def _spectral_radius(matrix: Any) -> float:
    """Find the largest |eigenvalue| of C - 11'/M, for the C of a connected graph.

    C is symmetric and its rows sum to 1. Its eigenvalues lie in [-1, 1]; the single 1
    belongs to the vector of ones, and taking 11'/M from C turns just that one into 0.
    """
    size = matrix.shape[0]
    if size <= _DENSE_LIMIT or matrix.nnz > 0.1 * size * size:
        values = np.linalg.eigvalsh(matrix.toarray())
        return float(max(values[-2], -values[0], 0.0)) if size > 1 else 0.0
    # Inverted about points just outside [-1, 1], the ends of the spectrum stand apart, where
    # plain Lanczos hardly converges on long paths and rings. A fixed start repeats the result.
    start = np.random.default_rng(0).standard_normal(size)
    options = {"which": "LM", "v0": start, "return_eigenvectors": False}
    columns = matrix.tocsc()
    upper = eigsh(columns, k=2, sigma=1.0 + _SHIFT, **options)
    lower = eigsh(columns, k=1, sigma=-1.0 - _SHIFT, **options)
    return float(max(upper.min(), -lower.min(), 0.0))
