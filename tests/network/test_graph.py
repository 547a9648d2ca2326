"""The graph itself: its checks, its distances, its parts, its hash."""

import pickle
import re
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components, shortest_path

from anabranch.errors import (
    DisconnectedGraphError,
    DuplicateEdgeError,
    IsolatedNodeError,
    NetworkError,
    SelfLoopError,
    UnknownNodeError,
)
from anabranch.network import Graph, complete, grid, node_names, path, ring, star
from anabranch.protocol import Array

Edges = list[tuple[str, str]]


def adjacency(graph: Graph) -> Array:
    index = {node: i for i, node in enumerate(graph.nodes)}
    dense = np.zeros((len(index), len(index)))
    for first, second in graph.edges:
        dense[index[first], index[second]] = dense[index[second], index[first]] = 1
    return dense


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Any graph of up to 12 nodes, connected or not."""
    names = node_names(draw(st.integers(1, 12)))
    pairs = [(a, b) for a in names for b in names if a < b]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return Graph.of(names, edges)


def test_nodes_and_edges_are_put_in_order() -> None:
    graph = Graph.of(["b", "c", "a"], [("c", "b"), ("b", "a")])
    assert graph.nodes == ("a", "b", "c")
    assert graph.edges == (("a", "b"), ("b", "c"))
    assert graph.neighbours("b") == ("a", "c")
    assert [graph.degree(node) for node in graph.nodes] == [1, 2, 1]


def test_single_node_is_a_valid_graph() -> None:
    graph = Graph.of(["only"], [])
    graph.check_connected()
    assert graph.diameter == 0
    assert graph.neighbours("only") == ()
    assert graph.components() == (("only",),)


def test_unknown_node_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownNodeError, match=r"edge 'left' - 'rihgt': unknown node 'rihgt'") as e:
        Graph.of(["left", "right"], [("left", "rihgt")])
    assert "did you mean 'right'?" in str(e.value)
    with pytest.raises(UnknownNodeError, match="unknown node 'zz'"):
        path(["a", "b"]).neighbours("zz")


def test_unknown_node_message_stays_short_in_a_large_network() -> None:
    with pytest.raises(UnknownNodeError, match=r"1000 in all") as e:
        path(node_names(1000)).degree("elsewhere")
    assert len(str(e.value)) < 200


@pytest.mark.parametrize("again", [("a", "b"), ("b", "a")])
def test_duplicate_edge(again: tuple[str, str]) -> None:
    expected = f"edge {again[0]!r} - {again[1]!r} is given twice"
    with pytest.raises(DuplicateEdgeError, match=re.escape(expected)):
        Graph.of("abc", [("a", "b"), ("b", "c"), again])


def test_self_loop() -> None:
    with pytest.raises(SelfLoopError, match=r"edge 'b' - 'b' joins a node to itself"):
        Graph.of("ab", [("b", "b")])


def test_isolated_nodes_are_named() -> None:
    graph = Graph.of("abcd", [("a", "b")])
    with pytest.raises(IsolatedNodeError, match=r"no neighbour at all: c, d of 4 nodes"):
        graph.check_connected()


def test_disconnected_parts_are_named() -> None:
    graph = Graph.of("abcd", [("a", "d"), ("c", "b")])
    with pytest.raises(DisconnectedGraphError, match=r"2 parts .*\{a, d\}; \{b, c\}") as e:
        graph.check_connected()
    assert not isinstance(e.value, IsolatedNodeError)
    with pytest.raises(DisconnectedGraphError):
        _ = graph.diameter


@pytest.mark.parametrize(
    ("names", "message"), [([], "no node"), (["a", ""], "empty"), (["a", "b", "a"], "'a' is named")]
)
def test_bad_names(names: list[str], message: str) -> None:
    with pytest.raises(NetworkError, match=message):
        Graph.of(names, [])


@pytest.mark.parametrize(
    ("graph", "diameter"),
    [
        (complete(node_names(7)), 1),
        (path(node_names(7)), 6),
        (ring(node_names(7)), 3),
        (ring(node_names(8)), 4),
        (star(node_names(7)), 2),
        (grid(node_names(12)), 5),
        (path(node_names(2)), 1),
    ],
)
def test_diameters_of_known_graphs(graph: Graph, diameter: int) -> None:
    assert graph.diameter == diameter == shortest_path(adjacency(graph), unweighted=True).max()


@settings(deadline=None, max_examples=60)
@given(graphs())
def test_distances_and_parts_agree_with_scipy(graph: Graph) -> None:
    count, labels = connected_components(adjacency(graph), directed=False)
    parts = graph.components()
    assert len(parts) == count
    assert sorted(node for part in parts for node in part) == list(graph.nodes)
    for part in parts:
        assert len({labels[graph.nodes.index(node)] for node in part}) == 1
    if count == 1:
        assert graph.diameter == shortest_path(adjacency(graph), unweighted=True).max()


@settings(deadline=None, max_examples=60)
@given(graphs(), st.randoms(use_true_random=False))
def test_hash_does_not_depend_on_order(graph: Graph, random: Random) -> None:
    nodes, edges = list(graph.nodes), [e if i % 2 else e[::-1] for i, e in enumerate(graph.edges)]
    random.shuffle(nodes)
    random.shuffle(edges)
    again = Graph.of(nodes, edges)
    assert again == graph
    assert again.hash() == graph.hash()
    assert re.fullmatch("[0-9a-f]{16}", graph.hash())


@settings(deadline=None, max_examples=30)
@given(graphs())
def test_hash_changes_with_any_edge_and_any_node(graph: Graph) -> None:
    nodes, edges = graph.nodes, set(graph.edges)
    pairs = [(a, b) for a in nodes for b in nodes if a < b]
    others = [Graph.of(nodes, edges ^ {pair}).hash() for pair in pairs]
    others.append(Graph.of([*nodes, "extra"], edges).hash())
    assert len({graph.hash(), *others}) == len(others) + 1


def test_hash_cannot_be_confused_by_names() -> None:
    tricky = [["a,b", "c"], ["a", "b,c"], ['a","b', "c"], ["ab", "c"], ["a", "bc"]]
    assert len({path(names).hash() for names in tricky}) == len(tricky)


def test_hash_is_the_same_on_every_machine_and_version() -> None:
    assert ring(node_names(4)).hash() == "ebced85b82bb3427"


@settings(deadline=None, max_examples=40)
@given(graphs(), st.data())
def test_induced_keeps_just_the_edges_between_kept_nodes(graph: Graph, data: st.DataObject) -> None:
    kept = data.draw(st.sets(st.sampled_from(graph.nodes), min_size=1))
    part = graph.induced(kept)
    assert part.nodes == tuple(sorted(kept))
    assert part.edges == tuple(e for e in graph.edges if kept.issuperset(e))


def test_induced_refuses_strangers_and_nothing() -> None:
    with pytest.raises(UnknownNodeError, match="unknown node 'x'"):
        path(["a", "b"]).induced(["a", "x"])
    with pytest.raises(NetworkError, match="no node"):
        path(["a", "b"]).induced([])


def test_graphs_survive_pickling_and_print_short() -> None:
    graph = grid(node_names(400))
    assert graph.diameter == 38
    again = pickle.loads(pickle.dumps(graph))
    assert again == graph
    assert hash(again) == hash(graph)
    assert repr(graph) == f"<Graph {graph.hash()}: 400 nodes, 760 edges>"
