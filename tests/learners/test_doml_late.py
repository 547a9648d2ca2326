"""DOML where messages are late or lost, and nodes asleep, gone or new."""

from collections.abc import Callable

import numpy as np
import pytest

from anabranch.learners.doml import DOML
from anabranch.learners.doml_damping import Delay
from anabranch.learners.doml_watch import Watch
from tests.learners.doml_network import (
    Mesh,
    edges_of,
    farthest,
    name,
    optimum,
    plain_nodes,
    samples,
    shares_of,
)

N = 8
DATA = samples(N)
P = optimum(DATA, 1.0)
Late = Callable[[int, int, int], int | None]
kinds = pytest.mark.parametrize("kind", ["ring", "random"])


def nodes_of(*, damped: bool = True) -> list[DOML]:
    return plain_nodes(DATA, ridge=1.0, predictor="linear", damped=damped)


def errors(mesh: Mesh, rounds: int, times: int = 2) -> list[float]:
    """Errors after so many rounds, so many times."""
    found = []
    for _ in range(times):
        mesh.run(rounds)
        found.append(farthest(list(mesh.nodes.values()), P))
    return found


def test_in_time_nothing_is_damped_and_steps_are_the_same() -> None:
    damped, plain = nodes_of(), nodes_of(damped=False)
    for nodes in (damped, plain):
        Mesh(nodes, edges_of("random", N)).run(50)
    for one, other in zip(damped, plain, strict=True):
        np.testing.assert_array_equal(one.coefficients, other.coefficients)
        assert one.measures()["damping"] == 1.0
        assert one.measures()["delay"] == 0.0


@pytest.mark.parametrize(
    ("kind", "delay"), [("ring", 1), ("random", 1), ("random", 4), ("ring", 10)]
)
def test_constant_delay_is_observed_and_converges(kind: str, delay: int) -> None:
    mesh = Mesh(nodes_of(), edges_of(kind, N), lambda i, j, t: delay)
    first, second = errors(mesh, 100 + 15 * delay)
    for node in mesh.nodes.values():
        assert node.measures()["delay"] == pytest.approx(delay)
        assert node.measures()["damping"] == pytest.approx(1.0 / (1.0 + delay))
        assert not node.measures()["diverging"]
    assert second < 0.8 * first < 0.2


@kinds
def test_one_round_of_delay_blows_the_undamped_steps_up(kind: str) -> None:
    nodes = nodes_of(damped=False)
    Mesh(nodes, edges_of(kind, N), lambda i, j, t: 1).run(500 if kind == "ring" else 750)
    assert farthest(nodes, P) > 1e30
    assert all(node.measures()["diverging"] for node in nodes)
    assert all(np.isfinite(list(node.measures().values())).all() for node in nodes)


@pytest.mark.parametrize("delay", [1, 4])
def test_the_watch_alone_keeps_it_bounded(delay: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Delay, "observe", lambda self, step, echoes: None)
    nodes = plain_nodes(DATA[:5], ridge=1.0, predictor="linear")
    mesh = Mesh(nodes, edges_of("ring", 5), lambda i, j, t: delay)
    alarms = []
    for _ in range(30):
        mesh.run(20)
        alarms.append(any(node.measures()["diverging"] for node in nodes))
        assert farthest(nodes, optimum(DATA[:5], 1.0)) < 2000.0
    assert any(alarms)


def test_what_is_not_finite_is_not_sent() -> None:
    nodes = plain_nodes(DATA[:4], ridge=1.0, damped=False, dtype="float32")
    mesh = Mesh(nodes, edges_of("ring", 4), lambda i, j, t: 1)
    with np.errstate(over="ignore", invalid="ignore"):
        mesh.run(800)
    sent = [message for node in nodes for message in node.messages(0)]
    assert not sent


def test_a_node_that_lost_its_numbers_begins_anew() -> None:
    mesh = Mesh(nodes_of(), edges_of("complete", N))
    mesh.run(20)
    state = mesh.nodes[0].export()
    state["P"][:], state["diverged"] = np.nan, True
    mesh.nodes[0] = DOML.restore(state)
    mesh.round()
    assert mesh.nodes[0].measures()["diverging"]
    mesh.run(250)
    assert farthest(list(mesh.nodes.values()), P) < 1e-4


def random_delay(rng: np.random.Generator) -> Late:
    return lambda i, j, t: int(rng.integers(0, 11))


def loss(rng: np.random.Generator) -> Late:
    return lambda i, j, t: 0 if rng.random() < 0.5 else None


def one_way(rng: np.random.Generator) -> Late:
    return lambda i, j, t: 5 if i < j else 0


def slow_node(rng: np.random.Generator) -> Late:
    return lambda i, j, t: 10 if 0 in (i, j) else 0


def both(rng: np.random.Generator) -> Late:
    return lambda i, j, t: int(rng.integers(0, 6)) if rng.random() < 0.5 else None


@kinds
@pytest.mark.parametrize("late", [random_delay, loss, one_way, slow_node, both])
def test_whatever_is_late_or_lost_it_converges(kind: str, late: Callable[..., Late]) -> None:
    mesh = Mesh(nodes_of(), edges_of(kind, N), late(np.random.default_rng(1)))
    first, second = errors(mesh, 150)
    assert second < 0.8 * first < 0.2


@kinds
def test_nodes_that_act_in_a_tenth_of_the_rounds_converge(kind: str) -> None:
    rng = np.random.default_rng(2)
    mesh = Mesh(nodes_of(), edges_of(kind, N), awake=lambda i, t: rng.random() < 0.1)
    first, second = errors(mesh, 1000)
    assert second < 0.8 * first < 0.2


def test_delay_that_comes_and_goes() -> None:
    mesh = Mesh(nodes_of(), edges_of("random", N), lambda i, j, t: 6 if 100 <= t < 250 else 0)
    mesh.run(400)
    assert farthest(list(mesh.nodes.values()), P) < 0.02
    assert all(node.measures()["damping"] > 0.9 for node in mesh.nodes.values())


def test_a_node_that_leaves_takes_its_samples_along() -> None:
    mesh = Mesh(nodes_of(), edges_of("complete", N))
    mesh.run(50)
    mesh.nodes[0].leave()
    mesh.run(150)
    stay = list(mesh.nodes.values())
    expected = optimum(DATA[1:], 8.0 / 7.0)  # its ridge stays
    assert farthest(stay, expected) < 1e-5


def test_a_node_that_is_no_neighbour_any_more_is_forgotten() -> None:
    mesh = Mesh(nodes_of(), edges_of("complete", N))
    mesh.run(50)
    mesh.connect({(i, j) for i, j in edges_of("complete", N) if i > 0})
    mesh.run(150)
    assert farthest(list(mesh.nodes.values())[1:], optimum(DATA[1:], 1.0)) < 1e-5
    assert farthest([mesh.nodes[0]], optimum(DATA[:1], 1.0)) < 1e-6


def test_a_node_that_joins_late_is_taken_in() -> None:
    mesh = Mesh(nodes_of(), {(i, j) for i, j in edges_of("complete", N) if i > 0})
    mesh.run(60)
    assert farthest(list(mesh.nodes.values())[1:], P) > 1e-3
    mesh.connect(edges_of("complete", N))
    mesh.run(150)
    assert farthest(list(mesh.nodes.values()), P) < 1e-5


def test_a_neighbour_never_heard_is_no_hindrance() -> None:
    nodes = nodes_of()[:3]
    shares = [{**row, "n99": 0.1} for row in shares_of(edges_of("complete", 3), 3)]
    for t in range(200):
        sent = {name(i): node.messages(t)[0] for i, node in enumerate(nodes)}
        for i, node in enumerate(nodes):
            node.combine(t, {j: sent[j] for j in sent if j != name(i)}, shares[i])
    assert farthest(nodes, optimum(DATA[:3], 1.0)) < 1e-4


def test_the_watch_damps_growth_and_lets_go() -> None:
    watch = Watch()
    for t in range(100):
        watch.observe(1.1**t, 1.1**t, 1.0)
    assert watch.diverging
    assert watch.share < 0.25
    for t in range(800):
        watch.observe(1.1 ** (100 - t), 1.1**-t, 1.0)
    assert not watch.diverging
    assert watch.share == 1.0


def test_a_growing_cache_is_no_divergence() -> None:
    data = samples(4, rows=200)
    nodes = plain_nodes([(X[:0], y[:0]) for X, y in data])
    mesh = Mesh(nodes, edges_of("ring", 4))
    for t in range(200):
        for node, (X, y) in zip(nodes, data, strict=True):
            node.learn(X[t : t + 1], y[t : t + 1])
        mesh.round()
        assert not any(node.measures()["diverging"] for node in nodes)
