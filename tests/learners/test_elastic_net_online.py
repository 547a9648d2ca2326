"""Online elastic net: as good as the batch optimum, and after a drift again."""

from typing import Any

import numpy as np
import pytest

from anabranch.errors import ConfigurationError
from anabranch.learners import make
from anabranch.network import combination_weights, node_names, star
from anabranch.network.builders import build_graph
from anabranch.protocol import Array
from anabranch.simulate import simulate
from tests.learners.elastic_network import NOISE, Net, pooled, rmse, stream


def errors(net: Net, X: Array, y: Array) -> Array:
    """Errors (ticks, nodes) of predictions before each row was learned."""
    made = np.empty(y.shape)
    for t in range(len(X)):
        for i, name in enumerate(net.nodes):
            row = X[t, i : i + 1], y[t, i : i + 1]
            made[t, i] = net.learners[name].predict_then_learn(*row)[0]
        net.round()
    return made - y


def test_with_a_server_it_is_as_good_as_the_batch_optimum() -> None:
    X, y = stream(1000)
    net = Net.star(20, 9, "elastic-net")
    found, best = errors(net, X, y), pooled(X, y)
    assert rmse(found[10:]) <= 1.001 * rmse(best[10:])
    assert rmse(found[300:]) == pytest.approx(rmse(best[300:]), rel=5e-3)
    assert net.messages < 0.5 * 20 * 1000  # a message a tick each way would be 20,000


@pytest.mark.parametrize("kind", ["ring", "random"])
def test_over_a_graph_too_once_the_news_went_round(kind: str) -> None:
    X, y = stream(400)
    graph = build_graph(kind, node_names(20), degree=4, seed=1)
    found = errors(Net.over(graph, "n00", 9, "elastic-net", shape="graph"), X, y)
    assert rmse(found[60:]) <= 1.01 * rmse(pooled(X, y)[60:])


@pytest.mark.parametrize("shape", ["server", "graph"])
@pytest.mark.parametrize(
    ("options", "most"), [({"decay": 0.98}, 198), ({"decay": 0.9}, 52), ({"window": 50}, 60)]
)
def test_recovers_from_a_drift(shape: str, options: dict[str, Any], most: int) -> None:
    X, y = stream(800, drift=500)
    graph = build_graph("random", node_names(20), degree=4, seed=1)
    if shape == "server":
        net = Net.star(20, 9, "elastic-net", **options)
    else:
        net = Net.over(graph, "n00", 9, "elastic-net", shape="graph", **options)
    found = errors(net, X, y)
    assert rmse(found[400:500]) < 1.15 * NOISE
    assert rmse(found[500:510]) > 3.0 * NOISE
    assert rmse(found[500 + most : 500 + most + 20]) < 1.2 * NOISE


def test_without_forgetting_it_does_not() -> None:
    X, y = stream(800, drift=500)
    assert rmse(errors(Net.star(20, 9, "elastic-net"), X, y)[-10:]) > 2.0 * NOISE


def test_units_follow_the_stream() -> None:
    X, y = stream(200)
    X[100:] = 50.0 * X[100:] + 1000.0
    net = Net.star(20, 9, "elastic-net", decay=0.9)
    errors(net, X, y)
    frame = net.learners["n003"].part.frame
    assert frame.epoch > 2
    np.testing.assert_allclose(frame.centre[:-1], 1000.0, atol=20.0)
    np.testing.assert_allclose(frame.scale[:-1], 50.0, rtol=0.3)


def test_before_anything_is_known_it_predicts_the_mean_target() -> None:
    node = make("elastic-net", 2, 0)
    X = np.zeros((4, 2))
    assert node.predict(X).tolist() == [0.0] * 4
    node.learn(X, np.array([1.0, 2.0, 3.0, 6.0]))
    node.combine(0, {}, {"hub": 0.5})
    assert node.predict(X).tolist() == [3.0] * 4


def test_measures_tell_residuals_and_objective() -> None:
    X, y = stream(60)
    net = Net.star(20, 9, "elastic-net")
    errors(net, X, y)
    hub = net.learners["hub"].measures()
    alone = make("elastic-net", 9, 0, growth=0.0)
    alone.learn(X.reshape(-1, 9), y.ravel())
    alone.combine(0, {}, {})
    best = alone.measures()["objective"]  # type: ignore[attr-defined]
    assert hub["objective"] == pytest.approx(best, rel=0.2)
    assert 0.0 <= hub["primal"] < 0.5
    assert set(net.learners["n000"].measures()) == {"primal", "dual", "loss"}


def test_simulate_runs_both_shapes() -> None:
    X, y = stream(40)
    for shape in ("server", "graph"):
        graph = star(["hub", *node_names(20)])
        nodes = {
            n: make("elastic-net", 9, 0, shape=shape, role="hub" if n == "hub" else "node")
            for n in graph.nodes
        }
        ticks = [
            {n: (X[t, i : i + 1], y[t, i : i + 1]) for i, n in enumerate(node_names(20))}
            for t in range(40)
        ]
        run = simulate(nodes, combination_weights(graph), ticks, final_rounds=20)
        assert run.scores(ranks=0)["R2"] > 0.5
        assert rmse(nodes["n05"].predict(X[0]) - y[0]) < 1.3 * NOISE


@pytest.mark.parametrize(
    "options",
    [
        {"u1": -1.0}, {"u2": float("nan")}, {"shape": "ring"}, {"role": "server"}, {"rho": 0.0},
        {"relax": 2.0}, {"decay": 0.0}, {"decay": 1.5}, {"window": -1}, {"window": 5},
        {"window": 50, "decay": 0.9}, {"panes": 1}, {"quorum": 1.5}, {"solver": "lbfgs"},
        {"scaling": "robust"}, {"names": ["a", "a"]}, {"names": ["a"]}, {"timeout": True},
    ],
)  # fmt: skip
def test_wrong_settings_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="allowed"):
        make("elastic-net", 2, 0, **options)


@pytest.mark.parametrize("shape", ["server", "graph"])
def test_units_that_move_far_every_round_do_no_harm(shape: str) -> None:
    """Rows in order of the hour, which the target follows; most are forgotten by the next tick."""
    rng = np.random.default_rng(0)
    graph = star(["hub", *node_names(3)])
    options: dict[str, Any] = {"shape": shape, "decay": 0.99, "u1": 1e-4, "u2": 1e-4}
    net, worst = Net.over(graph, "hub", 3, "elastic-net", **options), []
    for t in range(200):
        hour = 5.0 + 4.0 * (t % 5)
        for name in net.nodes:
            X = rng.normal(size=(60, 3))
            X[:, 0] = hour + rng.uniform(0.0, 3.0, 60)
            X[:, 1] = 100.0 * X[:, 0] + 5.0 * X[:, 1]
            y = 2.0 * X[:, 2] + 0.5 * X[:, 0] + 5.0 * np.sin(hour) + rng.normal(size=60)
            worst.append(np.abs(net.learners[name].predict_then_learn(X, y) - y).max())
        net.round()
    assert max(worst[60:]) < 20.0  # the target is within -5 and 25


@pytest.mark.parametrize("nodes", [0, 3])
def test_a_field_that_stood_still_may_move_again(nodes: int) -> None:
    rng = np.random.default_rng(1)
    net = Net.star(max(1, nodes), 2, "elastic-net", decay=0.9, u1=1e-4, u2=1e-4)
    worst = 0.0
    for t in range(120):
        for name in net.nodes:
            X = rng.normal(size=(5, 2))
            X[:, 1] = X[:, 1] if t < 10 or t >= 100 else 1.0 + 1e-9 * X[:, 1]
            y = X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=5)
            predicted = net.learners[name].predict_then_learn(X, y)
            worst = max(worst, np.abs(predicted - y).max() if t == 100 else 0.0)
            if not nodes:
                net.learners[name].combine(t, {}, {})
        if nodes:
            net.round()
    assert worst < 10.0


def test_what_is_not_finite_is_not_sent() -> None:
    node = make("elastic-net", 2, 0)
    node.learn(np.ones((1, 2)), np.ones(1))
    node.part.half.m[:] = 1e120  # type: ignore[attr-defined]
    assert list(node.messages(0)) == []
