"""Graphs by shape, at random and from text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.errors import (
    ConfigurationError,
    DuplicateEdgeError,
    IsolatedNodeError,
    NetworkError,
    SelfLoopError,
    UnknownNodeError,
)
from anabranch.network import (
    GRAPHS,
    Graph,
    build_graph,
    complete,
    from_edges,
    grid,
    node_names,
    path,
    random_by_connectivity,
    random_by_degree,
    ring,
    star,
)


def degrees(graph: Graph) -> list[int]:
    return [graph.degree(node) for node in graph.nodes]


def test_names_sort_in_order() -> None:
    assert node_names(1) == ("n00",)
    assert node_names(100)[-1] == "n99"
    assert node_names(101)[7] == "n007"
    assert list(node_names(1000)) == sorted(node_names(1000))
    with pytest.raises(ConfigurationError, match=r"network\.nodes = 0 is too few"):
        node_names(0)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 9, 12, 13])
def test_shapes(count: int) -> None:
    names = node_names(count)
    assert len(complete(names).edges) == count * (count - 1) // 2
    assert len(path(names).edges) == count - 1
    assert degrees(star(names))[0] == count - 1
    assert len(star(names).edges) == count - 1
    assert max(degrees(grid(names))) <= 4
    if count > 2:
        assert degrees(ring(names)) == [2] * count
    for shape in (complete, path, ring, star, grid):
        shape(names).check_connected()


def test_grid_is_a_grid() -> None:
    assert len(grid(node_names(9)).edges) == 12
    assert sorted(degrees(grid(node_names(9)))) == [2, 2, 2, 2, 3, 3, 3, 3, 4]
    assert grid(node_names(16)).diameter == 6


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 30), st.floats(0, 1), st.integers(0, 2**32))
def test_random_graphs_are_connected_and_of_the_stated_size(
    count: int, share: float, seed: int
) -> None:
    names = node_names(count)
    pairs = count * (count - 1) // 2
    edges = count - 1 + round(share * (pairs - count + 1))
    by_degree = random_by_degree(names, 2 * edges / count, seed)
    by_degree.check_connected()
    assert len(by_degree.edges) == edges
    if pairs:
        by_share = random_by_connectivity(names, 100 * edges / pairs, seed)
        assert by_share == by_degree


def test_mean_degree_and_connectivity() -> None:
    names = node_names(50)
    assert sum(degrees(random_by_degree(names, 6, seed=3))) / 50 == 6
    assert len(random_by_connectivity(names, 20, seed=3).edges) == 245
    assert random_by_connectivity(names, 100, seed=3) == complete(names)


def test_random_graphs_repeat_by_seed_only() -> None:
    names = node_names(20)
    drawn = {random_by_degree(names, 4, seed).hash() for seed in range(20)}
    assert len(drawn) == 20
    assert random_by_degree(names, 4, 7) == random_by_degree(names, 4, 7)


def test_random_graphs_are_the_same_on_every_machine_and_version() -> None:
    assert random_by_degree(node_names(20), 4, seed=7).hash() == "d90f53b5110c7acf"


def test_trees_are_drawn_with_equal_chance() -> None:
    # Four labelled nodes have 16 trees; each should come up 100 times in 1,600, sd 9.7.
    counts: dict[str, int] = {}
    for seed in range(1600):
        tree = random_by_degree(node_names(4), 1.5, seed)
        counts[tree.hash()] = counts.get(tree.hash(), 0) + 1
    assert len(counts) == 16
    assert all(60 < count < 140 for count in counts.values())


@pytest.mark.parametrize("degree", [1, 1.8, 20, -1])
def test_impossible_degree(degree: float) -> None:
    with pytest.raises(ConfigurationError, match=r"network\.degree = .*allowed: 1\.9 .* to 19"):
        random_by_degree(node_names(20), degree, 0)


@pytest.mark.parametrize("percent", [5, 101, 0])
def test_impossible_connectivity(percent: float) -> None:
    with pytest.raises(ConfigurationError, match=r"network\.connectivity = .*allowed: 10 .*to 100"):
        random_by_connectivity(node_names(20), percent, 0)


def test_negative_seed() -> None:
    with pytest.raises(ConfigurationError, match=r"network\.seed = -1"):
        random_by_degree(node_names(5), 2, seed=-1)


def test_edge_list_text() -> None:
    lines = ["# a comment", "", "a b", "b,c  # to the south", "c ,\td\r\n", "\ta  d"]
    graph = from_edges(lines)
    assert graph == ring(["a", "b", "c", "d"])
    assert from_edges(["\ufeffa b"]) == path(["a", "b"])
    assert from_edges(["north pole, south pole"]).nodes == ("north pole", "south pole")


@pytest.mark.parametrize("line", ["a/b?c#d x", "a/b?c#d, x", "a/b?c#d x # why", "a/b?c#d,x\t#"])
def test_a_name_may_hold_what_begins_a_comment_elsewhere(line: str) -> None:
    assert from_edges(["\ufeff# of #2", "  # x y", line]).edges == (("a/b?c#d", "x"),)


def test_edge_list_single_name_is_a_node() -> None:
    assert from_edges(["alone"]).nodes == ("alone",)
    graph = from_edges(["a b", "c"])
    assert graph.nodes == ("a", "b", "c")
    with pytest.raises(IsolatedNodeError, match="c of 3 nodes"):
        graph.check_connected()
    from_edges(["c", "a b", "b c"]).check_connected()


@pytest.mark.parametrize("line", ["a b c", "a,b,c", "a,", ",b", ","])
def test_edge_list_bad_line_is_numbered(line: str) -> None:
    with pytest.raises(NetworkError, match=r"line 2 of the edge list is .*allowed: two node names"):
        from_edges(["a b", line])


def test_edge_list_errors_of_their_own() -> None:
    with pytest.raises(NetworkError, match="the edge list is empty"):
        from_edges(["# nothing"])
    with pytest.raises(SelfLoopError):
        from_edges(["a a"])
    with pytest.raises(DuplicateEdgeError):
        from_edges(["a b", "b a"])
    for line in ("a x", "x"):
        with pytest.raises(UnknownNodeError, match="unknown node 'x'"):
            from_edges(["a b", line], names=["a", "b"])


def test_edge_list_with_names_keeps_nodes_without_a_line() -> None:
    assert from_edges(["a b"], names=["a", "b", "c"]).nodes == ("a", "b", "c")


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("count", [2, 3, 20])
def test_every_kind_is_built_by_name(kind: str, count: int) -> None:
    names = node_names(count)
    lines = [f"{a} {b}" for a, b in path(names).edges] if kind == "edges" else None
    graph = build_graph(kind, names, edges=lines)
    graph.check_connected()
    assert graph.nodes == names


def test_build_graph_passes_settings_on() -> None:
    names = node_names(20)
    assert build_graph("random", names, degree=6, seed=5) == random_by_degree(names, 6, 5)
    by_share = build_graph("random", names, connectivity=30, seed=5)
    assert by_share == random_by_connectivity(names, 30, 5)
    assert build_graph("edges", (), edges=["a b"]) == path(["a", "b"])


def test_default_degree_works_in_small_networks_but_others_are_refused() -> None:
    assert build_graph("random", node_names(3)) == complete(node_names(3))
    assert build_graph("random", node_names(1)).diameter == 0
    with pytest.raises(ConfigurationError, match=r"network\.degree = 5"):
        build_graph("random", node_names(3), degree=5)


def test_unknown_kind_and_missing_edges() -> None:
    with pytest.raises(ConfigurationError, match=r"network\.graph = 'rnig'.*mean 'ring'") as e:
        build_graph("rnig", node_names(3))
    assert all(kind in str(e.value) for kind in GRAPHS)
    with pytest.raises(ConfigurationError, match=r"needs network\.edges"):
        build_graph("edges", ())


@pytest.mark.parametrize("kind", [kind for kind in GRAPHS if kind != "edges"])
def test_shapes_without_nodes_are_refused(kind: str) -> None:
    with pytest.raises(NetworkError, match="no node"):
        build_graph(kind, ())
