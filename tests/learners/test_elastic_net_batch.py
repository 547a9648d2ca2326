"""Batch elastic net: scikit-learn's optimum, in how many rounds, on whatever data."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from anabranch.learners import make
from anabranch.network import Graph, combination_weights, node_names, star
from anabranch.network.builders import build_graph
from anabranch.protocol import Array
from anabranch.simulate import simulate
from tests.learners.elastic_network import Net, boyd, objective, reference, scores_of

U = 0.01
Data = tuple[Array, Array]


def shuffled(seed: int) -> Data:
    X, y = boyd(seed)
    rows = np.random.default_rng(seed + 100).permutation(1500)[:1050]
    return X[rows], y[rows]


def diabetes(seed: int) -> Data:
    X, y = load_diabetes(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(442)
    return X[rows], y[rows]


def standard(data: Data) -> Data:
    return scores_of(data[0]), scores_of(data[1])


SETS: dict[str, tuple[Callable[[int], Data], int]] = {
    "syn z": (lambda seed: standard(shuffled(seed)), 10),
    "syn raw": (shuffled, 22),
    "diabetes z": (lambda seed: standard(diabetes(seed)), 56),
    "diabetes shipped": (diabetes, 52),
}


def rounds_to(net: Net, X: Array, y: Array, most: int) -> int:
    """Count cycles of two rounds until the server is within 1e-6 of scikit-learn."""
    best = objective(*reference(X, y, U, U), X, y, U, U)
    for cycle in range(most):
        net.rounds(2)
        hub = net.learners["hub"]
        if objective(hub.coefficients, hub.intercept, X, y, U, U) < best * (1 + 1e-6):
            return cycle
    return most


@pytest.mark.parametrize("name", SETS)
def test_rounds_to_a_gap_of_a_millionth(name: str) -> None:
    make_set, allowed = SETS[name]
    counts = []
    for seed in range(20):
        X, y = make_set(seed)
        net = Net.star(20, X.shape[1], scaling="none", u1=U, u2=U)
        net.deal(X, y)
        counts.append(rounds_to(net, X, y, allowed + 20))
    assert np.median(counts) <= allowed


def test_consensus_scaling_is_scikit_learn_on_z_scores() -> None:
    X, y = boyd(3, 300, 5)
    X = X * [1.0, 5.0, 0.1, 1.0, 9.0] + 3.0
    net = Net.star(6, 5, u1=0.05, u2=0.02)
    net.deal(X, y)
    net.rounds(200)
    w, b = reference(scores_of(X), scores_of(y), 0.05, 0.02)
    expected = (scores_of(X) @ w + b) * y.std() + y.mean()
    for name in net.nodes:
        np.testing.assert_allclose(net.learners[name].predict(X), expected, atol=1e-10)


def constant_and_twice(X: Array) -> Array:
    X = X.copy()
    X[:, 3], X[:, 4], X[:, 5] = 5.0, 0.0, X[:, 6]
    return X


def few(rows: int, features: int) -> Data:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, features))
    return X, X[:, :5].sum(axis=1) + 0.1 * rng.normal(size=rows)


BASE = boyd(0, 400, 9)
HARD: dict[str, tuple[Data, int, Sequence[Any] | None]] = {
    "plain": (BASE, 20, None),
    "fewer samples than features at a node": ((BASE[0][:60], BASE[1][:60]), 20, None),
    "one sample a node": ((BASE[0][:20], BASE[1][:20]), 20, None),
    "empty nodes": (BASE, 20, [*np.array_split(np.arange(400), 4), *[np.arange(0)] * 16]),
    "constant and doubled": ((constant_and_twice(BASE[0]), BASE[1]), 20, None),
    "scales": ((BASE[0] * [1e9, 1e-9, *[1.0] * 7], BASE[1]), 20, None),
    "large target": ((BASE[0], 1e9 * BASE[1]), 20, None),
    "sorted": ((BASE[0][np.argsort(BASE[1])], np.sort(BASE[1])), 20, None),
    "more features than samples": (few(60, 120), 6, None),
}


def shards(data: Data, count: int, split: Sequence[Any] | None) -> list[Data]:
    X, y = data
    return [(X[part], y[part]) for part in split or np.array_split(np.arange(len(y)), count)]


@pytest.mark.filterwarnings("ignore:Objective did not converge")
@pytest.mark.parametrize("shape", ["server", "graph"])
@pytest.mark.parametrize("name", HARD)
def test_hard_data_ends_at_scikit_learns_predictions(name: str, shape: str) -> None:
    data, count, split = HARD[name]
    X, y = data
    options = {"scaling": "none", "u1": U, "u2": U}
    if shape == "server":
        net = Net.star(count, X.shape[1], **options)
    else:
        graph = build_graph("random", node_names(count), degree=4, seed=1)
        net = Net.over(graph, "n00", X.shape[1], shape="graph", **options)
    net.learn(dict(zip(net.nodes, shards(data, count, split), strict=True)))
    net.rounds(1500)
    w, b = reference(X, y, U, U)
    for node in net.nodes:
        error = np.abs(net.learners[node].predict(X) - (X @ w + b)).max()
        assert error <= 2e-11 * y.std()


@pytest.mark.parametrize("name", HARD)
@pytest.mark.filterwarnings("ignore:Objective did not converge")
def test_a_node_alone_is_scikit_learn(name: str) -> None:
    X, y = HARD[name][0]
    node = make("elastic-net-batch", X.shape[1], 0, scaling="none", u1=U, u2=U)
    node.learn(X, y)
    node.combine(0, {}, {})
    w, b = reference(X, y, U, U)
    assert np.abs(node.predict(X) - (X @ w + b)).max() <= 2e-11 * y.std()


def test_far_from_zero_it_loses_no_more_than_the_data_did() -> None:
    X, y = np.round(BASE[0], 6) + 1e8, BASE[1]
    net = Net.star(20, 9, scaling="none", u1=U, u2=U)
    net.deal(X, y)
    net.rounds(300)
    w, b = reference(X - 1e8, y, U, U)
    for node in net.nodes:
        error = np.abs(net.learners[node].predict(X) - ((X - 1e8) @ w + b)).max()
        assert error <= 4e-8 * y.std()


GRAPHS: dict[str, tuple[Callable[[], Graph], int]] = {
    "ring": (lambda: build_graph("ring", node_names(20)), 76),
    "grid": (lambda: build_graph("grid", node_names(20)), 41),
    "degree 4": (lambda: build_graph("random", node_names(20), degree=4, seed=1), 54),
    "degree 7.5": (lambda: build_graph("random", node_names(20), degree=7.5, seed=1), 30),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_every_node_of_a_graph_reaches_the_optimum(name: str) -> None:
    graph, allowed = GRAPHS[name][0](), GRAPHS[name][1]
    X, y = standard(shuffled(0))
    net = Net.over(graph, "n00", 9, shape="graph", scaling="none", u1=U, u2=U)
    net.deal(X, y)
    assert net.rounds(allowed).gap(X, y, U, U) < 1e-6
    assert net.rounds(100).gap(X, y, U, U) < 1e-10
    before = net.messages
    net.rounds(100)
    assert net.messages - before <= 40 * len(graph.edges)


def test_the_papers_settings_take_as_long_as_the_paper_says() -> None:
    X, y = standard(shuffled(0))
    slow = Net.star(20, 9, scaling="none", rho=1.0, relax=1.0, u1=U, u2=U)
    quick = Net.star(20, 9, scaling="none", rho=1.0, relax=1.6, u1=U, u2=U)
    for net in (slow, quick):
        net.deal(X, y)
    assert 140 <= rounds_to(slow, X, y, 300) <= 210
    assert 85 <= rounds_to(quick, X, y, 300) <= 130


def test_conjugate_gradients_take_the_same_way() -> None:
    X, y = standard(diabetes(0))
    nets = [
        Net.star(5, 10, scaling="none", rho=1.0, relax=1.0, u1=U, u2=U, solver=solver)
        for solver in ("cholesky", "prp")
    ]
    for net in nets:
        net.deal(X, y)
        net.rounds(40)
    one, two = (net.learners["hub"].coefficients for net in nets)
    np.testing.assert_allclose(one, two, atol=1e-9)


def test_weights_that_are_zero_are_zero_at_every_node() -> None:
    X, y = standard(shuffled(1))
    for shape in ("server", "graph"):
        graph = star(["hub", *node_names(5)])
        net = Net.over(graph, "hub", 9, shape=shape, scaling="none", u1=0.2, u2=U)
        net.deal(X, y)
        net.rounds(200)
        zero = reference(X, y, 0.2, U)[0] == 0.0
        assert 0 < zero.sum() < 9
        for name in net.nodes:
            own = net.learners[name].coefficients
            assert (own[zero] == 0.0).all() if shape == "server" else abs(own[zero]).max() < 1e-12
            assert (own[~zero] != 0.0).all()


def test_rows_may_come_tick_by_tick_and_in_any_cut() -> None:
    X, y = boyd(4, 240, 3)
    ends = []
    for cut in (240, 60, 7):
        net = Net.star(4, 3, scaling="none", u1=U, u2=U)
        for start in range(0, 240, cut):
            net.deal(X[start : start + cut], y[start : start + cut])
            net.round()
        ends.append(net.rounds(200).learners["n000"].coefficients)
    np.testing.assert_allclose(ends[1:], [ends[0]] * 2, atol=1e-10)


def test_names_make_the_order_of_columns_irrelevant() -> None:
    X, y = boyd(5, 90, 3)
    orders = [[0, 1, 2], [2, 0, 1]]
    learners = {"hub": make("elastic-net-batch", 3, 0, role="hub", names=["a", "b", "c"])}
    for name, order in zip("pq", orders, strict=True):
        names = ["abc"[i] for i in order]
        learners[name] = make("elastic-net-batch", 3, 0, names=names)
    tick = {name: (X[:, order], y) for name, order in zip("pq", orders, strict=True)}
    simulate(learners, combination_weights(star(["hub", "p", "q"])), [tick], final_rounds=80)
    p, q = learners["p"], learners["q"]
    np.testing.assert_array_equal(p.parameters(), q.parameters())
    np.testing.assert_array_equal(p.predict(X), q.predict(X[:, orders[1]]))
    np.testing.assert_array_equal(p.coefficients[[2, 0, 1]], q.coefficients)  # type: ignore[attr-defined]
