"""Graphs of nodes and the weights with which neighbours' parameters are combined."""

from anabranch.network.builders import (
    GRAPHS,
    build_graph,
    complete,
    grid,
    node_names,
    path,
    ring,
    star,
)
from anabranch.network.edge_list import from_edges
from anabranch.network.eras import Eras
from anabranch.network.graph import Graph
from anabranch.network.random_graphs import random_by_connectivity, random_by_degree
from anabranch.network.weights import RULES, Weights, combination_weights, restrict

__all__ = [
    "GRAPHS",
    "RULES",
    "Eras",
    "Graph",
    "Weights",
    "build_graph",
    "combination_weights",
    "complete",
    "from_edges",
    "grid",
    "node_names",
    "path",
    "random_by_connectivity",
    "random_by_degree",
    "restrict",
    "ring",
    "star",
]
