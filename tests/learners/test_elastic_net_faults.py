"""Losses, absence, joining and leaving: where the elastic net ends, and how soon."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from anabranch.learners import make
from anabranch.network import node_names
from anabranch.network.builders import build_graph
from anabranch.protocol import Array
from tests.learners.elastic_network import (
    Arrives,
    Net,
    boyd,
    lossy,
    objective,
    present,
    reference,
    scores_of,
)

U = 0.01


def diabetes() -> tuple[Array, Array]:
    X, y = load_diabetes(return_X_y=True)
    return scores_of(X), scores_of(y)


def cycles(net: Net, X: Array, y: Array, most: int) -> int:
    best = objective(*reference(X, y, U, U), X, y, U, U)
    for cycle in range(most):
        net.rounds(2)
        hub = net.learners["hub"]
        if objective(hub.coefficients, hub.intercept, X, y, U, U) < best * (1 + 1e-6):
            return cycle
    return most


@pytest.mark.parametrize(
    ("arrives", "most"),
    [
        (lambda seed: present(0.9, seed), 55),
        (lambda seed: present(0.5, seed), 96),
        (lambda seed: present(0.2, seed), 300),
        (lambda seed: lossy(0.1, seed, up_only=True), 47),
        (lambda seed: lossy(0.3, seed, up_only=True), 47),
        (lambda seed: lossy(0.5, seed, up_only=True), 50),
        (lambda seed: lossy(0.3, seed), 80),
    ],
    ids=["present .9", "present .5", "present .2", "up .1", "up .3", "up .5", "both .3"],
)
def test_rounds_with_silent_nodes(arrives: Callable[[int], Arrives], most: int) -> None:
    X, y = diabetes()
    counts = []
    for seed in range(5):
        net = Net.star(20, 10, scaling="none", quorum=0.0, timeout=0)
        net.arrives = arrives(seed)
        net.deal(X, y)
        counts.append(cycles(net, X, y, 600))
    assert np.median(counts) <= most


@pytest.mark.parametrize("loss", [0.1, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_a_graph_that_loses_messages_ends_at_the_optimum_in_silence(loss: float, seed: int) -> None:
    X, y = map(scores_of, boyd(0, 400))
    graph = build_graph("random", node_names(20), degree=7.5, seed=1)
    net = Net.over(graph, "n00", 9, shape="graph", scaling="none")
    net.arrives = lossy(loss, seed)
    net.deal(X, y)
    assert net.rounds(250).gap(X, y, U, U) < 1e-12
    before = net.messages
    net.rounds(50)
    assert net.messages - before < 20 * len(graph.edges)


def test_with_a_quorum_the_server_waits_for_it_and_no_longer_than_the_timeout() -> None:
    X, y = map(scores_of, boyd(1, 100))
    for quorum, timeout, answered in ((0.5, 50, True), (0.8, 50, False), (0.8, 1, True)):
        net = Net.star(10, 9, quorum=quorum, timeout=timeout)
        net.deal(X, y)
        away = net.nodes[:4]
        net.rounds(6, gone=away)
        assert (net.learners["n009"].part.frame is not None) == answered


def test_silent_nodes_go_on_counting() -> None:
    X, y = map(scores_of, boyd(2, 200))
    net = Net.star(10, 9, scaling="none", u1=U, u2=U)
    net.deal(X, y)
    net.rounds(100)
    net.rounds(300, gone=net.nodes[:3])
    assert net.gap(X, y, U, U) < 1e-12


@pytest.mark.parametrize("way", ["leave", "ttl"])
def test_after_a_node_is_gone_the_others_have_their_own_optimum(way: str) -> None:
    X, y = map(scores_of, boyd(2, 200))
    net = Net.star(10, 9, scaling="none", u1=U, u2=U, ttl=20 if way == "ttl" else 0)
    net.deal(X, y)
    net.rounds(60)
    gone = net.nodes[0]
    if way == "leave":
        net.learners[gone].leave()
        net.rounds(200)
    else:
        net.rounds(200, gone=[gone])
    assert net.gap(X[20:], y[20:], U, U, names=net.nodes[1:]) < 1e-12


def test_a_node_that_was_taken_out_brings_its_samples_back() -> None:
    X, y = map(scores_of, boyd(2, 200))
    net = Net.star(10, 9, scaling="none", u1=U, u2=U, ttl=20)
    net.deal(X, y)
    net.rounds(60)
    net.rounds(60, gone=net.nodes[:1])
    assert net.gap(X[20:], y[20:], U, U, names=net.nodes[1:]) < 1e-6
    net.rounds(200)
    assert net.gap(X, y, U, U) < 1e-12
    for _ in range(50):  # all is said, and yet nobody is taken for absent
        net.round()
        hub = net.learners["hub"].part.export()
        assert hub["surveyed"] == hub["names"] == net.nodes


def test_a_server_that_alone_has_samples_goes_on_to_the_optimum() -> None:
    X, y = map(scores_of, boyd(4, 100))
    options = {"u1": U, "u2": U, "absolute": 0.0, "relative": 1e-9}
    net = Net.star(3, 9, kind="elastic-net", scaling="none", **options)
    net.learners["hub"].learn(X, y)
    net.rounds(300)
    assert net.gap(X, y, U, U) < 1e-12
    assert not net.learners["hub"].acts(0)


def test_a_node_that_joins_brings_its_samples() -> None:
    X, y = map(scores_of, boyd(3, 200))
    net = Net.star(10, 9, scaling="none", u1=U, u2=U)
    net.deal(X, y)
    late = net.nodes[:2]
    net.rounds(100, gone=late)
    assert net.gap(X[40:], y[40:], U, U, names=net.nodes[2:]) < 1e-12
    net.rounds(200)
    assert net.gap(X, y, U, U) < 1e-12


@pytest.mark.parametrize("who", ["hub", "n003"])
@pytest.mark.parametrize("shape", ["server", "graph"])
def test_one_that_comes_back_with_an_old_state_catches_up(shape: str, who: str) -> None:
    X, y = map(scores_of, boyd(4, 200))
    net = Net.star(8, 9, scaling="none", u1=U, u2=U, shape=shape)
    shards = np.array_split(np.arange(200), 8)
    net.learn({n: (X[p], y[p]) for n, p in zip(net.nodes, shards, strict=True)})
    net.rounds(9)
    old = net.learners[who].export()
    net.rounds(60)
    net.learners[who] = type(net.learners[who]).restore(old)
    net.rounds(400)
    assert net.gap(X, y, U, U) < 1e-9


@pytest.mark.parametrize("kind", ["elastic-net", "elastic-net-batch"])
@pytest.mark.parametrize("shape", ["server", "graph"])
def test_restored_in_the_middle_it_goes_on_bit_for_bit(kind: str, shape: str) -> None:
    """Every node of one of two equal networks is rebuilt after every round."""
    X, y = boyd(5, 600, 4)
    options: dict[str, Any] = {"shape": shape} | ({"decay": 0.99} if kind == "elastic-net" else {})
    one, two = (Net.star(5, 4, kind, **options) for _ in range(2))
    for net in (one, two):
        net.arrives = lossy(0.2, 7)
    for t in range(60):
        rows = slice(10 * t, 10 * t + 10)
        for net in (one, two):
            net.deal(X[rows], y[rows])
            net.round()
        two.learners = {n: type(own).restore(own.export()) for n, own in two.learners.items()}
    for name, own in one.learners.items():
        other = two.learners[name].export()
        for key, value in own.export().items():
            np.testing.assert_array_equal(value, other[key], err_msg=f"{name} {key}")


def test_learns_where_the_server_has_samples_too() -> None:
    X, y = map(scores_of, boyd(6, 200))
    net = Net.star(4, 9, scaling="none", u1=U, u2=U)
    parts = np.array_split(np.arange(200), 5)
    names = ["hub", *net.nodes]
    net.learn({n: (X[p], y[p]) for n, p in zip(names, parts, strict=True)})
    net.rounds(200)
    assert net.gap(X, y, U, U) < 1e-12


def test_only_moments_are_ever_sent() -> None:
    """No number in any message is a number of a sample."""
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60.0) + 0.123
    seen = np.round(np.concatenate([X.ravel(), y]), 9)
    nodes = {
        n: make("elastic-net", 3, 0, role="hub" if n == "hub" else "node") for n in ("hub", "a")
    }
    nodes["a"].learn(X, y)
    for t in range(20):
        for name, other in (("a", "hub"), ("hub", "a")):
            if nodes[name].acts(t):
                for message in nodes[name].messages(t):
                    for array in message.arrays.values():
                        assert not np.isin(np.round(array, 9), seen).any()
                    nodes[other].combine(t, {name: message}, {name: 1.0})
