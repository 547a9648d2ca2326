"""DOML's coordinates and labels: how a network comes to the same ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anabranch.learners.doml import DOML
from anabranch.learners.doml_frame import Coordinates
from anabranch.protocol import Array
from tests.learners.doml_network import Mesh, edges_of, exchange, samples, shares_of
from tests.learners.multilabel_sets import train_and_test


def raw_samples(nodes: int, rows: int = 60) -> list[tuple[Array, Array]]:
    """Fields far from 0 and of unequal scales, and one of 0 and 1."""
    blocks = []
    for X, y in samples(nodes, rows):
        fields = 1000.0 + X * np.array([1e-3, 1.0, 50.0, 1e3, 1.0, 1.0])
        fields[:, 5] = X[:, 5] > 0.0
        blocks.append((fields, y))
    return blocks


def stream(
    nodes: list[DOML], data: list[tuple[Array, Array]], mesh: Mesh, rows: int, ticks: int
) -> None:
    for t in range(ticks):
        for node, (X, y) in zip(nodes, data, strict=True):
            node.learn(X[rows * t : rows * (t + 1)], y[rows * t : rows * (t + 1)])
        mesh.round()


def scaled_optimum(nodes: list[DOML], data: list[tuple[Array, Array]]) -> Array:
    """The pooled ridge solution in the nodes' coordinates, for fields as they are."""
    state = nodes[0].export()
    frame = Coordinates.read(1.0, *state["frame"], bias=True)
    ridge = sum(node.measures()["ridge"] for node in nodes)
    X, y = (np.concatenate(parts) for parts in zip(*data, strict=True))
    Z = frame.rows(X)
    right = Z.T @ y
    right[-1] += sum(
        node.measures()["ridge"] * y.mean(axis=0) for node, (_, y) in zip(nodes, data, strict=True)
    )
    P = np.linalg.solve(Z.T @ Z + ridge * np.eye(Z.shape[1]), right)
    return frame.carry(P, Coordinates.plain(X.shape[1], bias=True))


@pytest.mark.parametrize("cache", [500, 0])
def test_all_nodes_take_up_the_same_coordinates(cache: int) -> None:
    data = raw_samples(5)
    nodes = [DOML(6, labels=3, warm_up=6, cache=cache) for _ in data]
    mesh = Mesh(nodes, edges_of("ring", 5))
    stream(nodes, data, mesh, 6, 10)
    mesh.run(400)
    frames = [node.export()["frame"] for node in nodes]
    for frame in frames[1:]:
        np.testing.assert_array_equal(frame, frames[0])
    np.testing.assert_array_equal(frames[0][:, 5], [0.0, 1.0])
    P = scaled_optimum(nodes, data)
    X = np.concatenate([X for X, _ in data])
    for node in nodes:
        scores = X @ node.coefficients + node.intercepts
        np.testing.assert_allclose(scores, X @ P[:6] + P[6], atol=1e-3)


def test_a_node_learns_alone_while_it_warms_up() -> None:
    data = raw_samples(3)
    nodes = [DOML(6, labels=3, predictor="linear") for _ in data]
    mesh = Mesh(nodes, edges_of("ring", 3))
    stream(nodes, data, mesh, 6, 10)
    for node, (X, y) in zip(nodes, data, strict=True):
        assert not node.export()["fixed"]
        assert "P" not in node.messages(10)[0].arrays
        assert np.mean(node.predict(X) != y) < 0.25


def test_moments_of_two_samples_are_not_told() -> None:
    node = DOML(6, labels=3)
    node.learn(*(part[:2] for part in raw_samples(1)[0]))
    arrays = node.messages(0)[0].arrays
    assert float(arrays["n"][0]) == 0.0
    assert not arrays["mean"].any()
    assert set(arrays) == {"state", "n", "mean", "M2", "rounds", "varied"}


def test_a_node_that_joins_late_takes_over_coordinates() -> None:
    data = raw_samples(4)
    nodes = [DOML(6, labels=3, warm_up=5) for _ in data]
    mesh = Mesh(nodes, {(1, 2), (2, 3), (1, 3)})
    stream(nodes, data, mesh, 6, 10)
    mesh.run(20)
    before = nodes[1].export()["frame"]
    mesh.connect(edges_of("complete", 4))
    mesh.run(3)
    np.testing.assert_array_equal(nodes[0].export()["frame"], before)
    assert nodes[0].measures()["w"] > 0.0


def test_coordinates_change_nothing_but_units() -> None:
    rng = np.random.default_rng(0)
    X, P, slope = rng.normal(size=(5, 3)), rng.normal(size=(4, 2)), rng.normal(size=(4, 2))
    one, other = (
        Coordinates.read(1.0, rng.normal(size=3), rng.uniform(0.1, 9.0, size=3), bias=True)
        for _ in range(2)
    )
    np.testing.assert_allclose(other.rows(X) @ one.carry(P, other), one.rows(X) @ P)
    np.testing.assert_allclose(one.recast(one.rows(X), other), other.rows(X))
    moved = one.carry_slope(slope, other)  # a derivative: <slope, P> is the same number
    np.testing.assert_allclose((moved * one.carry(P, other)).sum(), (slope * P).sum())


@pytest.mark.parametrize("options", [{}, {"wire": "half"}, {"predictor": "per-label"}])
def test_labels_spread_through_the_network(options: dict[str, Any]) -> None:
    data = samples(4)
    nodes = [DOML(6, labels=["m"], scaling="none", **options) for _ in data]
    known = [["m", "a"], ["m", "z"], ["m"], ["m", "k"]]
    for node, (X, y), names in zip(nodes, data, known, strict=True):
        node.admit(names)
        node.learn(X, y[:, : len(names)])
    Mesh(nodes, edges_of("ring", 4)).run(300)
    for node in nodes:
        assert node.labels == ("m", "a", "k", "z")
        assert node.coefficients.any(axis=0).all()
    full = [
        (X, np.column_stack([y[:, 0], *(y[:, 1] * (name in names) for name in "akz")]))
        for (X, y), names in zip(data, known, strict=True)
    ]
    other = [DOML(6, labels=["m", "a", "k", "z"], scaling="none", **options) for _ in data]
    for node, block in zip(other, full, strict=True):
        node.learn(*block)
    Mesh(other, edges_of("ring", 4)).run(300)
    np.testing.assert_allclose(nodes[0].coefficients, other[0].coefficients, atol=2e-2)


def test_labels_may_begin_with_none() -> None:
    [(X, y)] = samples(1)
    node = DOML(6, scaling="none")
    assert node.predict(X).shape == (40, 0)
    node.learn(X, y[:, :0])
    node.combine(0, {}, {})
    node.admit(["b", "a"])
    node.learn(X, y[:, :2])
    node.combine(1, {}, {})
    assert node.labels == ("a", "b")
    twin = DOML.restore(node.export())
    np.testing.assert_array_equal(twin.scores(X), node.scores(X))


def test_a_model_goes_on_from_what_it_was() -> None:
    [(X, y)] = samples(1, rows=300)
    node = DOML(6, labels=3, predictor="linear")
    node.learn(X[:200], y[:200])
    node.combine(0, {}, {})
    twin = DOML.restore(node.model())
    np.testing.assert_array_equal(twin.scores(X), node.scores(X))
    twin.learn(X[200:205], y[200:205])
    twin.combine(1, {}, {})
    assert np.mean(twin.predict(X) != node.predict(X)) < 0.05
    assert np.mean(twin.predict(X[200:]) != y[200:]) < 0.25


def test_nearest_samples_count_in_the_projected_space() -> None:
    [(X, y)] = samples(1, rows=200)
    node = DOML(6, labels=3, predictor="mlknn", neighbours=5)
    empty = node.predict(X[:3])
    assert not empty.any()
    node.learn(X[:3], y[:3])  # fewer than k
    node.combine(0, {}, {})
    assert node.predict(X).shape == y.shape
    node.learn(X[3:100], y[3:100])
    node.combine(1, {}, {})
    assert np.mean(node.predict(X[100:]) != y[100:]) < 0.3


@pytest.mark.parametrize(("name", "micro"), [("emotions", 0.63), ("yeast", 0.635)])
def test_micro_f1_on_three_nodes(name: str, micro: float, shared: Path) -> None:
    X, y, test_X, test_y = train_and_test(shared, name)
    order = np.random.default_rng(0).permutation(len(X))
    data = [(X[part], y[part]) for part in np.array_split(order, 3)]
    nodes = [DOML(X.shape[1], labels=y.shape[1]) for _ in data]
    mesh = Mesh(nodes, edges_of("ring", 3))
    stream(nodes, data, mesh, 3, 1 + len(X) // 9)
    mesh.run(30)
    for node in nodes:
        predicted = node.predict(test_X)
        right = (predicted * test_y).sum()
        assert 2.0 * right / (predicted.sum() + test_y.sum()) > micro


def drifting(count: int, seed: int) -> tuple[Array, Array]:
    """Fields that are nearly still at first, then of very unlike scales."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(count, 3))
    y = (Z[:, :2] > 0.0).astype(float)
    X = Z * [1.0, 1e6, 1e3] + [0.0, 1e7, 0.0]
    early = min(count, 100)
    X[:early] = 1e-3 * Z[:early]
    return X, y


@pytest.mark.parametrize("kind", ["ring", "complete"])
def test_coordinates_widen_where_samples_stray_from_them(kind: str) -> None:
    """All nodes come to the same ones, and learn on as the network that saw them first."""
    data = [drifting(400, seed) for seed in range(5)]
    nodes = [DOML(3, labels=2, predictor="linear", cache=150) for _ in data]
    mesh, right = shares_of(edges_of(kind, 5), 5), 0
    for t in range(400):
        for node, (X, y) in zip(nodes, data, strict=True):
            predicted = node.predict_then_learn(X[t : t + 1], y[t : t + 1])
            right += int(t >= 300) * int((predicted == y[t]).sum())
        exchange(nodes, mesh, t)
    assert right / (100 * 5 * 2) > 0.85  # a half, with the old ones
    frames = [node.export()["frame"] for node in nodes]
    assert all(np.array_equal(frame, frames[0]) for frame in frames)
    assert (frames[0][1] > [0.3, 3e5, 3e2]).all()


def test_an_outlier_does_not_widen_them() -> None:
    nodes = [DOML(2, labels=1, warm_up=4) for _ in range(3)]
    mesh, rng = shares_of(edges_of("complete", 3), 3), np.random.default_rng(0)
    for t in range(120):
        for node in nodes:
            X = rng.normal(size=(1, 2)) * (1e6 if t == 60 else 1.0)
            node.learn(X, (X[:, :1] > 0.0).astype(float))
        exchange(nodes, mesh, t)
        if t == 40:
            before = nodes[0].export()["frame"]
    assert np.array_equal(nodes[0].export()["frame"], before)


def test_sums_of_few_samples_are_in_no_model() -> None:
    nodes = [DOML(2, labels=1, warm_up=4) for _ in range(3)]
    mesh, rng = shares_of(edges_of("complete", 3), 3), np.random.default_rng(0)
    for t in range(31):
        for node in nodes:
            node.learn(rng.normal(size=(1, 2)), np.ones((1, 1)))
        exchange(nodes, mesh, t)
    assert nodes[0].export()["strays"].any()
    assert "strays" not in nodes[0].model()
