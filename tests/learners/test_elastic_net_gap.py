"""The gap is never less than what the objective exceeds the optimum by, and falls to 0."""

from math import isinf
from typing import Any

import numpy as np
import pytest

from anabranch.features.frame import Frame
from anabranch.learners import make
from anabranch.learners.elastic_net_gap import answer_of, duality_gap
from anabranch.learners.elastic_net_moments import CoMoments
from anabranch.learners.elastic_net_settings import ElasticNetSettings
from anabranch.learners.elastic_net_system import System
from anabranch.network import build_graph, node_names, star
from anabranch.protocol import Array
from tests.learners.elastic_network import Net, boyd, lossy, objective, present, reference

PENALTIES = [(0.01, 0.01), (0.1, 0.0), (0.05, 1e-4), (1e-6, 0.5)]


def optimum(X: Array, y: Array, u1: float, u2: float) -> float:
    return objective(*reference(X, y, u1, u2), X, y, u1, u2)


def answers(X: Array, y: Array, parts: list[Any], theta: Array) -> Array:
    """The sum of the nodes' answers, in the units of the fields."""
    total = np.zeros(2 * theta.size + 1)
    for part in parts:
        system, moments = System(theta.size), CoMoments(theta.size - 1)
        moments.observe(X[part], y[part])
        system.update(moments, Frame.plain(1, theta.size), float(len(y)))
        total = total + answer_of(system, theta)
    return total


@pytest.mark.parametrize(("u1", "u2"), PENALTIES)
def test_it_bounds_the_excess_from_anywhere(u1: float, u2: float) -> None:
    X, y = boyd(3, 120, 6)
    X, y = X + 0.5, y + 3.0
    best, (w, b) = optimum(X, y, u1, u2), reference(X, y, u1, u2)
    parts = np.array_split(np.arange(120), 4)
    l1, l2 = (np.append(np.full(6, u), 0.0) for u in (u1, u2))
    rng = np.random.default_rng(0)
    for away in (10.0, 1.0, 1e-2, 1e-4, 0.0):
        theta = np.append(w, b) + away * rng.normal(size=7)
        found, gap = duality_gap(theta, answers(X, y, parts, theta), l1, l2)
        assert found == pytest.approx(objective(theta[:-1], theta[-1], X, y, u1, u2))
        assert gap >= found - best - 1e-12 * found
    assert gap <= 1e-6 * best


def test_without_a_penalty_nothing_is_known() -> None:
    X, y = boyd(3, 60, 3)
    theta, none = np.ones(4), np.zeros(4)
    found, gap = duality_gap(theta, answers(X, y, [slice(0, 60)], theta), none, none)
    assert found > 0.0
    assert isinf(gap)
    node = make("elastic-net-batch", 3, 0, u1=0, u2=0)
    node.learn(X, y)
    node.combine(0, {}, {})
    restored = type(node).restore(node.export())
    assert "gap" not in node.measures()  # type: ignore[attr-defined]
    assert restored.measures() == node.measures()  # type: ignore[attr-defined]


FAULTS = {"none": None, "lost": lossy(0.3, seed=2), "away": present(0.7, seed=1)}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("u1", "u2"), PENALTIES[:2])
def test_the_server_tells_an_honest_gap(u1: float, u2: float, fault: str) -> None:
    X, y = boyd(1, 600, 9)
    net = Net.star(8, 9, scaling="none", u1=u1, u2=u2)
    if FAULTS[fault]:
        net.arrives = FAULTS[fault]
    net.deal(X, y)
    best, told = optimum(X, y, u1, u2), []
    hub, before, asked = net.learners["hub"], None, 0
    for _ in range(400):
        number = hub.part.certificate.asked
        if number not in (0, asked):
            asked = number
            at = objective(hub.coefficients, hub.intercept, X, y, u1, u2)
        net.round()
        gap = hub.measures().get("gap")
        if gap is not None and gap != before:
            assert gap >= (at - best) / at - 1e-12
            told.append(gap)
            before = gap
    assert len(told) >= (5 if fault == "none" else 1)
    assert told[-1] < 1e-3
    if fault == "none":
        assert told[-1] < 1e-6
        assert hub.measures()["objective"] == pytest.approx(best, rel=1e-9)


def test_a_node_alone_is_at_the_optimum() -> None:
    X, y = boyd(2, 200, 9)
    for options in ({}, {"scaling": "none"}):
        node = make("elastic-net-batch", 9, 0, u1=0.05, u2=0.01, **options)
        node.learn(X, y)
        node.combine(0, {}, {})
        told = node.measures()  # type: ignore[attr-defined]
        assert told["gap"] < 1e-12
    assert told["objective"] == pytest.approx(optimum(X, y, 0.05, 0.01), rel=1e-12)


def test_asking_ends_when_nothing_moves() -> None:
    X, y = boyd(1, 600, 9)
    net = Net.star(8, 9, "elastic-net", u1=0.01, u2=0.01)
    net.deal(X, y)
    net.rounds(300)
    before = net.messages
    net.rounds(50)
    assert net.messages == before


def test_whole_numbers_are_penalties_too() -> None:
    settings = ElasticNetSettings.restore(make("elastic-net", 2, 0, u1=0).settings.as_dict())  # type: ignore[attr-defined]
    assert settings.penalty(Frame.plain(1, 3))[0].tolist() == [0.0] * 3


@pytest.mark.parametrize("lost", [0.0, 0.2])
@pytest.mark.parametrize("kind", ["grid", "random"])
def test_the_hub_of_a_graph_tells_an_honest_gap(kind: str, lost: float) -> None:
    X, y = boyd(1, 400, 6)
    options: dict[str, Any] = {"degree": 4, "seed": 1} if kind == "random" else {}
    graph = build_graph(kind, node_names(12), **options)
    net = Net.over(graph, "n00", 6, shape="graph", scaling="none", u1=0.02, u2=0.01)
    net.arrives = lossy(lost, seed=3)
    net.deal(X, y)
    best, told = optimum(X, y, 0.02, 0.01), []
    for _ in range(200):
        net.round()
        measures = net.learners["n00"].measures()
        if "gap" in measures:
            excess = measures["objective"] - best
            assert measures["gap"] * measures["objective"] >= excess - 1e-12 * best
            told.append(measures["gap"])
    assert told[-1] < 1e-6
    assert measures["objective"] == pytest.approx(best, rel=1e-6)
    assert all("gap" not in net.learners[name].measures() for name in graph.nodes[1:])
    before = net.messages
    net.rounds(30)
    assert net.messages == before or lost


def test_a_question_goes_on_where_it_was() -> None:
    X, y = boyd(1, 120, 4)
    for shape, hub in (("server", "hub"), ("graph", "n00")):
        ends = []
        for stop in (0, 21, 25):
            ring = build_graph("ring", node_names(6))
            graph = star(["hub", *node_names(4)]) if shape == "server" else ring
            net = Net.over(graph, hub, 4, shape=shape, u1=0.02)
            net.deal(X, y)
            for t in range(60):
                if t == stop:
                    for name, node in net.learners.items():
                        net.learners[name] = type(node).restore(node.export())
                net.round()
            ends.append(net.learners[hub].measures())
        assert ends[0] == ends[1] == ends[2]
        assert "gap" in ends[0]
