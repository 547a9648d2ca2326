"""Laws of the combination weights, and the refusal of those that never agree."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.errors import (
    ConfigurationError,
    DisconnectedGraphError,
    IsolatedNodeError,
    UnknownNodeError,
    WeightsError,
)
from anabranch.network import (
    RULES,
    Graph,
    Weights,
    build_graph,
    combination_weights,
    complete,
    grid,
    node_names,
    path,
    random_by_connectivity,
    random_by_degree,
    restrict,
    ring,
    star,
)

SAFE_RULES = ["metropolis-hastings", "laplacian"]


@st.composite
def connected(draw: st.DrawFn, largest: int = 25) -> Graph:
    """Any kind of connected graph: a random one, or one of the usual shapes."""
    names = node_names(draw(st.integers(1, largest)))
    shape = draw(st.sampled_from([complete, path, ring, star, grid, None]))
    if shape is not None:
        return shape(names)
    tree = 200 / max(len(names), 2)
    percent = draw(st.floats(min(tree, 100), 100))
    return random_by_connectivity(names, percent, draw(st.integers(0, 1000)))


def cube(dimensions: int) -> Graph:
    """A hypercube: regular and bipartite."""
    names = node_names(2**dimensions)
    pairs = [(i, i ^ (1 << bit)) for i in range(len(names)) for bit in range(dimensions)]
    return Graph.of(names, [(names[i], names[j]) for i, j in pairs if i < j])


def two_sides(count: int) -> Graph:
    """A complete bipartite graph of twice `count` nodes."""
    names = node_names(2 * count)
    return Graph.of(names, [(a, b) for a in names[:count] for b in names[count:]])


@pytest.mark.parametrize("rule", RULES)
@settings(deadline=None, max_examples=50)
@given(graph=connected())
def test_matrix_is_symmetric_and_doubly_stochastic(rule: str, graph: Graph) -> None:
    matrix = combination_weights(graph, rule, check=False).matrix()
    assert matrix.shape == (len(graph.nodes),) * 2
    assert matrix.dtype == np.float64
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_allclose(matrix.sum(axis=0), 1, rtol=0, atol=1e-14)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=0, atol=1e-14)
    assert matrix.min() > -1e-15


@pytest.mark.parametrize("rule", RULES)
@settings(deadline=None, max_examples=30)
@given(graph=connected())
def test_matrix_has_the_nodes_weights_and_nothing_else(rule: str, graph: Graph) -> None:
    weights = combination_weights(graph, rule, check=False)
    expected = np.zeros((len(graph.nodes),) * 2)
    for i, node in enumerate(graph.nodes):
        assert tuple(weights.of(node)) == graph.neighbours(node)
        expected[i, i] = weights.own(node)
        for other, weight in weights.of(node).items():
            expected[i, graph.nodes.index(other)] = weight
    np.testing.assert_array_equal(weights.matrix(), expected)


@pytest.mark.parametrize("rule", SAFE_RULES)
@settings(deadline=None, max_examples=50)
@given(graph=connected())
def test_safe_rules_reach_consensus_on_every_connected_graph(rule: str, graph: Graph) -> None:
    weights = combination_weights(graph, rule)
    size = len(graph.nodes)
    values = np.linalg.eigvalsh(weights.matrix() - np.full((size, size), 1 / size))
    assert weights.spectral_radius == pytest.approx(np.abs(values).max(), abs=1e-12)
    assert 0 <= weights.spectral_radius < 1
    assert weights.spectral_gap == 1 - weights.spectral_radius


@settings(deadline=None, max_examples=25)
@given(connected(largest=8), st.sampled_from(SAFE_RULES), st.integers(0, 99))
def test_averaging_agrees_on_the_mean_at_the_stated_rate(
    graph: Graph, rule: str, seed: int
) -> None:
    weights = combination_weights(graph, rule)
    values = np.random.default_rng(seed).normal(size=len(graph.nodes))
    apart = values - values.mean()
    power = np.linalg.matrix_power(weights.matrix(), 30) @ values
    bound = weights.spectral_radius**30 * np.linalg.norm(apart)
    assert np.linalg.norm(power - values.mean()) <= bound + 1e-12


@pytest.mark.parametrize(
    "graph",
    [ring(node_names(20)), path(node_names(2)), cube(3), two_sides(3), ring(node_names(1000))],
    ids=["even ring", "pair", "cube", "two sides", "large even ring"],
)
def test_papers_rule_is_refused_on_bipartite_regular_graphs(graph: Graph) -> None:
    with pytest.raises(WeightsError) as e:
        combination_weights(graph, "metropolis")
    message = str(e.value)
    assert message.startswith("network.weights = 'metropolis' does not lead to consensus")
    assert "bipartite regular graphs" in message
    assert "rings of an even number" in message
    assert "'metropolis-hastings', 'laplacian'" in message
    unchecked = combination_weights(graph, "metropolis", check=False)
    assert unchecked.spectral_radius == pytest.approx(1, abs=1e-12)
    for rule in SAFE_RULES:
        combination_weights(graph, rule)


@pytest.mark.parametrize(
    "graph",
    [
        ring(node_names(21)),
        path(node_names(20)),
        star(node_names(20)),
        grid(node_names(20)),
        complete(node_names(20)),
        random_by_degree(node_names(20), 4, seed=0),
        Graph.of(["only"], []),
    ],
    ids=["odd ring", "path", "star", "grid", "complete", "random", "single"],
)
def test_papers_rule_is_accepted_elsewhere(graph: Graph) -> None:
    assert combination_weights(graph, "metropolis").spectral_radius < 1


@settings(deadline=None, max_examples=60)
@given(connected(largest=12))
def test_papers_rule_is_refused_just_on_bipartite_regular_graphs(graph: Graph) -> None:
    degrees = {graph.degree(node) for node in graph.nodes}
    side = {graph.nodes[0]: 0}
    for node in graph.nodes * len(graph.nodes):
        if node in side:
            side.update({n: 1 - side[node] for n in graph.neighbours(node) if n not in side})
    bipartite = all(side[a] != side[b] for a, b in graph.edges)
    if bipartite and len(degrees) == 1 and graph.edges:
        with pytest.raises(WeightsError):
            combination_weights(graph, "metropolis")
    else:
        combination_weights(graph, "metropolis")


def test_values_of_the_rules() -> None:
    graph = star(["hub", "a", "b", "c"])
    assert combination_weights(graph, "metropolis").of("a") == {"hub": 1 / 3}
    assert combination_weights(graph, "metropolis-hastings").of("a") == {"hub": 1 / 4}
    mixed = path(["a", "b", "c", "d"])
    assert combination_weights(mixed, "laplacian").of("b") == {"a": 1 / 3, "c": 1 / 3}
    assert combination_weights(mixed).rule == "metropolis-hastings"
    one_round = combination_weights(complete(node_names(20)))
    assert one_round.spectral_gap == pytest.approx(1, abs=1e-12)


def test_a_single_node_keeps_everything() -> None:
    for rule in RULES:
        weights = combination_weights(Graph.of(["only"], []), rule)
        assert weights.of("only") == {}
        assert weights.own("only") == 1
        assert weights.matrix().tolist() == [[1]]
        assert weights.spectral_radius == 0


def test_unknown_rule_and_node() -> None:
    with pytest.raises(ConfigurationError, match=r"network\.weights = 'metropolsi'.*'metropolis'"):
        combination_weights(path(["a", "b"]), "metropolsi")
    with pytest.raises(UnknownNodeError, match="unknown node 'x'"):
        combination_weights(path(["a", "b"])).of("x")


@pytest.mark.parametrize("size", [2, 300])
def test_unconnected_graphs_are_refused_before_their_weights(size: int) -> None:
    names = node_names(2 * size)
    halves = Graph.of(names, [*path(names[:size]).edges, *path(names[size:]).edges])
    with pytest.raises(DisconnectedGraphError):
        combination_weights(halves)
    with pytest.raises(IsolatedNodeError):
        combination_weights(Graph.of("abc", [("a", "b")]))
    assert combination_weights(halves, check=False).spectral_radius == 1


@settings(deadline=None, max_examples=40)
@given(connected(largest=12), st.sampled_from(list(RULES)), st.data())
def test_restricted_weights_follow_the_degrees_in_use(
    graph: Graph, rule: str, data: st.DataObject
) -> None:
    present = data.draw(st.sets(st.sampled_from(graph.nodes), min_size=1))
    part = restrict(combination_weights(graph, rule, check=False), present)
    assert part == Weights(graph.induced(present), rule)
    matrix = part.matrix()
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=0, atol=1e-14)
    everyone = combination_weights(graph, rule, check=False)
    assert restrict(everyone, graph.nodes) == everyone


def test_restriction_may_split_the_network_unless_checked() -> None:
    weights = combination_weights(path(["a", "b", "c", "d", "e"]))
    split = restrict(weights, ["a", "b", "d", "e"])
    assert split.of("b") == {"a": 0.5}
    with pytest.raises(DisconnectedGraphError):
        restrict(weights, ["a", "b", "d", "e"], check=True)
    with pytest.raises(UnknownNodeError):
        restrict(weights, ["a", "z"])


@pytest.mark.parametrize("kind", ["path", "ring", "grid", "star", "random"])
@pytest.mark.parametrize("rule", SAFE_RULES)
def test_a_thousand_nodes_have_the_radius_of_the_dense_matrix(kind: str, rule: str) -> None:
    names = node_names(300 if kind != "random" else 1000)
    weights = combination_weights(build_graph(kind, names, seed=1), rule)
    values = np.linalg.eigvalsh(weights.matrix())
    expected = max(values[-2], -values[0])
    assert weights.spectral_radius == pytest.approx(expected, abs=1e-12)
    assert weights.spectral_radius == combination_weights(weights.graph, rule).spectral_radius


def test_rings_of_a_thousand_have_the_known_gap() -> None:
    weights = combination_weights(ring(node_names(1000)))
    expected = 2 / 3 * (1 - np.cos(2 * np.pi / 1000))
    assert weights.spectral_gap == pytest.approx(expected, abs=1e-12)
    assert weights.graph.diameter == 500
