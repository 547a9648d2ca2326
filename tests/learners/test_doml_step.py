"""DOML's step: equal to the paper's system, and to the optimum of all samples together."""

from pathlib import Path

import numpy as np
import pytest

from anabranch.protocol import Array
from tests.learners.doml_network import (
    Mesh,
    edges_of,
    exchange,
    farthest,
    least_squares,
    name,
    optimum,
    plain_nodes,
    samples,
    shares_of,
)
from tests.learners.multilabel_sets import train_and_test

GRAPHS = ("path", "ring", "star", "grid", "random", "complete")


def whole_step(
    P: Array, beta: Array, near: list[tuple[Array, Array]], X: Array, y: Array, w: float, lam: float
) -> tuple[Array, Array]:
    """Eq. 9-12 as one system of 2d equations in (P+, beta+)."""
    d, k = X.shape[1], 1.0 / (w * len(near))
    S_P, S_b = (k * w * sum(part[i] for part in near) for i in (0, 1))
    one = np.eye(d)
    upper = np.hstack([one + k * (lam * one + X.T @ X), one])
    lower = np.hstack([-one, one])
    right = np.vstack([P + S_b + k * X.T @ y, beta - S_P])
    both = np.linalg.solve(np.vstack([upper, lower]), right)
    return both[:d], both[d:]


@pytest.mark.parametrize("form", ["primal", "dual", "sparse"])
def test_equals_the_whole_system_while_samples_come_and_go(form: str) -> None:
    w, lam, cache = 2.0, 0.5, 5
    data = samples(4, rows=40)
    nodes = plain_nodes(
        [(X[:0], y[:0]) for X, y in data], literal=True, w=w, ridge=lam, cache=cache, form=form
    )
    shares = shares_of(edges_of("ring", 4), 4)
    state = [(np.zeros((6, 3)), np.zeros((6, 3))) for _ in data]
    for t in range(40):
        for node, (X, y) in zip(nodes, data, strict=True):
            node.learn(X[t : t + 1], y[t : t + 1])
        exchange(nodes, shares, t)
        first = max(0, t + 1 - cache)
        state = [
            whole_step(
                *state[i], [state[int(j[1:])] for j in shares[i]],
                X[first : t + 1], y[first : t + 1], w, lam,
            )
            for i, (X, y) in enumerate(data)
        ]  # fmt: skip
        for node, (P, _) in zip(nodes, state, strict=True):
            np.testing.assert_allclose(node.coefficients, P, atol=1e-10)


@pytest.mark.parametrize("kind", GRAPHS)
def test_finds_the_optimum_of_all_samples_on_every_graph(kind: str) -> None:
    data, edges = samples(10), edges_of(kind, 10)
    nodes = plain_nodes(data, literal=True, w=100.0 / len(edges), ridge=2.0)
    Mesh(nodes, edges).run(60 if kind == "complete" else 400)
    bound = {"path": 0.25, "ring": 0.03, "grid": 0.01}.get(kind, 1e-3)
    assert farthest(nodes, optimum(data, 2.0)) < bound


def test_weight_of_edges_does_not_move_the_optimum() -> None:
    data = samples(6)
    for options in ({"w": 2.0}, {"w": 6.0}, {}):
        nodes = plain_nodes(data, ridge=1.0, **options)
        Mesh(nodes, edges_of("complete", 6)).run(200)
        assert farthest(nodes, optimum(data, 1.0)) < 1e-4


def test_ridges_of_the_nodes_add_up_with_a_bias_pulled_to_the_frequency() -> None:
    data = samples(5)
    nodes = plain_nodes(data, ridge=3.0, bias=True)
    Mesh(nodes, edges_of("complete", 5)).run(300)
    X, y = (np.concatenate(parts) for parts in zip(*data, strict=True))
    wide = np.column_stack([X, np.ones(len(X))])
    right = wide.T @ y
    right[-1] += 15.0 * y.mean(axis=0)  # nodes have equally many rows
    P = np.linalg.solve(wide.T @ wide + 15.0 * np.eye(7), right)
    for node in nodes:
        np.testing.assert_allclose(node.coefficients, P[:6], atol=1e-8)
        np.testing.assert_allclose(node.intercepts, P[6], atol=1e-8)


def test_ridge_not_given_is_a_share_of_the_mean_eigenvalue() -> None:
    data = samples(5)
    nodes = plain_nodes(data)
    Mesh(nodes, edges_of("complete", 5)).run(300)
    traces = [float(np.square(X).sum()) / 6 for X, _ in data]
    for node, trace in zip(nodes, traces, strict=True):
        assert node.measures()["ridge"] == pytest.approx(0.3 * trace)
    X, y = (np.concatenate(parts) for parts in zip(*data, strict=True))
    assert farthest(nodes, least_squares(X, y, 0.3 * sum(traces))) < 1e-8


def test_invariant() -> None:
    data = samples(6)
    nodes = plain_nodes(data, literal=True, w=2.0)
    edges = edges_of("random", 6)
    shares = shares_of(edges, 6)
    for t in range(200):
        exchange(nodes, shares, t)
        states = [node.export() for node in nodes]
        drift = sum(
            2.0 * len(row) * (state["beta"] - state["P"])
            for row, state in zip(shares, states, strict=True)
        )
        assert np.abs(drift).max() < 3e-11


def test_single_precision_is_as_good() -> None:
    data = samples(6)
    for form in ("primal", "dual"):
        double, single = (
            plain_nodes(data, ridge=1.0, form=form, dtype=dtype) for dtype in ("float64", "float32")
        )
        for nodes in (double, single):
            Mesh(nodes, edges_of("complete", 6)).run(100)
        for one, other in zip(single, double, strict=True):
            assert farthest([one], other.coefficients) < 2e-5


def test_weights_follow_the_samples_alike_at_both_ends() -> None:
    data = samples(6, rows=100)
    nodes = plain_nodes(data)
    mesh = Mesh(nodes, edges_of("ring", 6))
    mesh.run(60)
    wish = np.mean([float(np.square(X).sum()) / 6 / 2 / 2 for X, _ in data])
    states = [node.export() for node in nodes]
    scales = {name(i): float(state["level"][2]) for i, state in enumerate(states)}
    for i, node in enumerate(nodes):
        ends = [(scales[name(i)] + scales[j]) / 2.0 for j in mesh.shares[i]]
        assert node.measures()["w"] == pytest.approx(np.mean(ends))
        assert wish / 2.0 <= node.measures()["w"] <= 2.0 * wish


def test_alone_it_is_the_optimum_at_once() -> None:
    [(X, y)] = samples(1)
    [node] = plain_nodes([(X, y)], ridge=2.0)
    node.combine(0, {}, {})
    np.testing.assert_allclose(node.coefficients, least_squares(X, y, 2.0), atol=1e-12)


def test_alone_without_ridge_it_tends_to_the_optimum() -> None:
    [(X, y)] = samples(1)
    [node] = plain_nodes([(X, y)], literal=True)
    for t in range(200):
        node.combine(t, {}, {})
    np.testing.assert_allclose(node.coefficients, least_squares(X, y, 0.0), atol=1e-9)


def test_parts_that_cannot_reach_each_other_find_their_own() -> None:
    data = samples(6)
    nodes = plain_nodes(data, ridge=1.0)
    Mesh(nodes, {(0, 1), (1, 2), (0, 2), (3, 4)}).run(300)
    assert farthest(nodes[:3], optimum(data[:3], 1.0)) < 1e-6
    assert farthest(nodes[3:5], optimum(data[3:5], 1.0)) < 1e-6
    assert farthest(nodes[5:], optimum(data[5:], 1.0)) < 1e-9


def test_rounds_without_exchange_take_samples_in_but_do_not_drift() -> None:
    data = samples(5)
    nodes = plain_nodes(data, ridge=1.0)
    mesh = Mesh(nodes, edges_of("complete", 5))
    mesh.run(10)
    before = nodes[0].coefficients
    for t in range(20):
        nodes[0].combine(t, {}, mesh.shares[0])
    np.testing.assert_array_equal(nodes[0].coefficients, before)
    nodes[0].learn(*data[1])
    nodes[0].combine(20, {}, mesh.shares[0])
    assert not np.array_equal(nodes[0].coefficients, before)


def test_new_samples_are_followed_by_all() -> None:
    data, late = samples(5), samples(5, seed=1)
    nodes = plain_nodes(data, ridge=1.0, cache=40)
    mesh = Mesh(nodes, edges_of("complete", 5))
    mesh.run(100)
    for node, (X, y) in zip(nodes, late, strict=True):
        node.learn(X, y)
    mesh.run(400)
    assert farthest(nodes, optimum(late, 1.0)) < 1e-8


RATES = [  # w as it is or for mean eigenvalues of 2, largest relative error after 1000 rounds
    ("ring", False, 0.16), ("ring", True, 0.025), ("star", True, 2e-6),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "tuned", "error"), RATES)
def test_rates_on_emotions(kind: str, tuned: bool, error: float, shared: Path) -> None:
    a, b, c, d = train_and_test(shared, "emotions")
    X, y = np.vstack([a, c]), np.vstack([b, d])
    X = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(X))])
    order = np.random.default_rng(0).permutation(len(X))
    data = [(X[part], y[part]) for part in np.array_split(order, 10)]
    shares = shares_of(edges_of(kind, 10), 10)
    wishes = [
        np.square(Xi).mean() * len(Xi) / (2 * len(row))
        for (Xi, _), row in zip(data, shares, strict=True)
    ]
    w = float(np.mean(wishes)) if tuned else 1.0
    nodes = plain_nodes(data, literal=True, w=w, ridge=1.0, cache=0)
    for t in range(1000):
        exchange(nodes, shares, t)
    assert farthest(nodes, least_squares(X, y, 10.0)) < error
