"""Online dSVOR: the algorithm, and the values known for the paper's second set."""

from typing import Any

import numpy as np
import pytest
from sklearn.isotonic import isotonic_regression

from anabranch.errors import ConfigurationError, ModelError
from anabranch.learners import LEARNERS, make
from anabranch.protocol import Array, Learner
from anabranch.synthetic import OrdinalStream, drifting, nonlinear, wide
from tests.learners.small_network import Weights, exchange, mean_absolute_error, random_weights


def plain_online(
    X: Array, y: Array, ranks: int, cache: int, lam: float = 1e-3, alpha: float = 0.9
) -> tuple[Array, Array, Array, Array]:
    """The online specification in numpy, for one node without neighbours."""
    w, b = np.zeros(X.shape[1]), np.zeros(ranks - 1)
    served_w, served_b = w.copy(), b.copy()
    for k in range(len(X)):
        rows, labels = X[max(0, k + 1 - cache) : k + 1], y[max(0, k + 1 - cache) : k + 1]
        side = np.where(labels[:, None] <= np.arange(1, ranks), 1.0, -1.0)
        h = np.where(side * ((rows @ w)[:, None] - b) > -1.0, side, 0.0)
        eta = max(0.5, 5.0 / (1.0 + 0.01 * k))
        w = w * (1 - eta * lam * (1 - alpha)) - eta * (h.sum(1) @ rows) / len(rows)
        w = np.sign(w) * np.maximum(np.abs(w) - eta * lam * alpha, 0.0)
        b = isotonic_regression(b + eta * h.mean(0))
        weight = max(1.0 / (k + 1), 0.01)
        served_w, served_b = served_w + weight * (w - served_w), served_b + weight * (b - served_b)
    return w, b, served_w, served_b


@pytest.mark.parametrize("cache", [1, 30])
def test_single_node_is_the_specification(cache: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = np.digitize(X @ rng.normal(size=5) + 0.3 * rng.normal(size=400), [-2.0, 0.0, 2.0]) + 1
    node = make("dsvor", 5, 4, kernel="linear", scaling="none", cache=cache)
    node.learn(X, y)
    state = node.export()
    w, b, served_w, served_b = plain_online(X, y, 4, cache)
    np.testing.assert_allclose(state["w"], [w, served_w], atol=1e-9)
    np.testing.assert_allclose(state["b"], [b, served_b], atol=1e-9)


def stream_over(
    learners: list[Learner], weights: Weights, stream: OrdinalStream, rounds: int
) -> None:
    """One row a node a round."""
    count = len(learners)
    X, y = stream.block(0, rounds * count)
    for t in range(rounds):
        for m, learner in enumerate(learners):
            row = slice(t * count + m, t * count + m + 1)
            learner.learn(X[row], y[row])
        exchange(learners, weights, t)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_second_set_online_is_as_good_as_batch(seed: int) -> None:
    stream = nonlinear(seed=seed)
    X, y = stream.block(10**6, 10_000)
    weights = random_weights(20, 4, seed)
    nodes = [make("dsvor", 2, 4, seed=seed) for _ in range(20)]
    alone = [make("dsvor", 2, 4, seed=seed) for _ in range(20)]
    early: list[float] = []
    stream_over(nodes, weights, stream, 1000)
    samples, labels = stream.block(0, 2000)
    for m, node in enumerate(alone):
        node.learn(samples[m::20], labels[m::20])
        early.append(float(np.abs(node.predict(X) - y).mean()))
    assert mean_absolute_error(nodes, X, y) == pytest.approx(0.121, abs=0.012)
    assert np.mean(early) > 0.19
    b = np.array([node.export()["b"] for node in nodes])
    assert (np.diff(b[:, 0]) >= 0).all()


def test_one_class_a_node_learns_all_classes() -> None:
    X, y = nonlinear(seed=7).block(0, 60_000)
    pools = [np.flatnonzero(y == 1 + m % 4)[m // 4 :: 5] for m in range(20)]
    nodes = [make("dsvor", 2, 4, serve="last") for _ in range(20)]
    weights = random_weights(20, 4, 0)
    for t in range(700):
        for node, pool in zip(nodes, pools, strict=True):
            node.learn(X[pool[t : t + 1]], y[pool[t : t + 1]])
        exchange(nodes, weights, t)
    alone = make("dsvor", 2, 4, serve="last")
    alone.learn(X[pools[0]], y[pools[0]])
    fresh = nonlinear(seed=7).block(10**6, 2000)
    assert mean_absolute_error(nodes, *fresh) < 0.19
    assert mean_absolute_error([alone], *fresh) > 1.0


def test_unseen_top_rank_parks_and_comes_down() -> None:
    stream = nonlinear(seed=3)
    node = make("dsvor", 2, 6)
    node.learn(*stream.block(0, 3000))
    fresh, labels = stream.block(10**6, 2000)
    assert node.predict(fresh).max() == 4
    b = node.export()["b"]
    assert (np.diff(b) >= 0).all()
    assert (b[:, 3] == b[:, 4]).all()
    X, y = stream.block(3000, 3000)
    node.learn(X, np.where(y == 4, 5, y))
    assert (node.predict(fresh[labels == 4]) == 5).mean() > 0.8


@pytest.mark.parametrize("kind", ["sudden", "gradual"])
def test_the_floor_recovers_from_a_drift(kind: str) -> None:
    errors = {}
    stream = drifting(kind=kind, period=400_000, ramp=200, seed=1)
    weights = random_weights(20, 4, 1)
    settled, recent = stream.block(399_000, 1000), stream.block(403_000, 2000)
    for name, options in {
        "floor": {},
        "no floor": {"floor": 0.0},
        "plain average": {"averaging": 0.0},
    }.items():
        nodes = [make("dsvor", 2, 4, dimension=100, **options) for _ in range(20)]
        for t in range(100):
            X, y = stream.block(4000 * t, 4000)
            for m, node in enumerate(nodes):
                node.learn(X[m::20], y[m::20])
            exchange(nodes, weights, t)
        before = mean_absolute_error(nodes, *settled)
        for t in range(100, 250):
            X, y = stream.block(400_000 + 20 * (t - 100), 20)
            for m, node in enumerate(nodes):
                node.learn(X[m::20], y[m::20])
            exchange(nodes, weights, t)
        errors[name] = mean_absolute_error(nodes, *recent)
        assert before < 0.2
    assert errors["floor"] < 0.25
    assert errors["no floor"] > errors["floor"] + 0.1
    assert errors["plain average"] > errors["floor"] + 0.1


def test_silent_neighbours_weight_goes_to_the_node() -> None:
    nodes = [make("dsvor", 3, 3, kernel="linear", scaling="none", prune=0.0) for _ in range(3)]
    stream = wide(3, 3)
    for m, node in enumerate(nodes):
        node.learn(*stream.block(100 * m, 50))
    theta = [node.parameters() for node in nodes]
    inbox = {"b": nodes[1].messages(0)[0]}
    nodes[0].combine(0, inbox, {"b": 0.3, "c": 0.4})
    np.testing.assert_allclose(nodes[0].parameters(), 0.7 * theta[0] + 0.3 * theta[1], atol=1e-14)


def test_only_what_is_sent_is_pruned() -> None:
    node = make("dsvor", 40, 3, kernel="linear", prune=0.5, lam=0.0)
    node.learn(*wide(40, 3).block(0, 300))
    own, sent = node.parameters(), node.messages(0)[0].arrays
    keep = np.abs(own[:40]) >= 0.5 * np.abs(own[:40]).max()
    assert (own[:40] != 0.0).all()
    assert 0 < keep.sum() < 40
    assert (sent["w"] == np.where(keep, own[:40], 0.0)).all()
    assert (sent["b"] == own[40:]).all()


def test_regulariser_gives_exact_zeros() -> None:
    node = make("dsvor", 2, 4, alpha=1.0, lam=0.02)
    node.learn(*nonlinear().block(0, 3000))
    w = node.parameters()[:200]
    assert 0.02 < (w == 0.0).mean() < 1.0


def test_node_without_samples_serves_what_it_hears() -> None:
    idle = make("dsvor", 2, 4)
    busy = make("dsvor", 2, 4)
    stream = nonlinear(seed=2)
    for t in range(300):
        busy.learn(*stream.block(10 * t, 10))
        sent = busy.messages(t)[0], idle.messages(t)[0]
        idle.combine(t, {"a": sent[0]}, {"a": 0.5})
        busy.combine(t, {"b": sent[1]}, {"b": 0.5})
    assert mean_absolute_error([idle], *stream.block(10**6, 1000)) < 0.2


def test_scores_agree_with_predictions() -> None:
    node = make("dsvor", 2, 4)
    X, y = nonlinear().block(0, 500)
    node.learn(X, y)
    scores = node.scores(X)  # type: ignore[attr-defined]
    assert scores.shape == (500, 3)
    assert (1 + (scores > 0).sum(axis=1) == node.predict(X)).all()


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "cubic"}, {"alpha": 1.5}, {"lam": -1.0}, {"step": 0.0}, {"cache": 0},
        {"gamma": 0.0}, {"warm_up": 0}, {"serve": "first"}, {"dimension": 0}, {"nmaes": 1},
        {"names": ["a"]}, {"averaging": 2.0}, {"prune": float("nan")}, {"seed": -1},
        {"seed": 1 << 63}, {"cache": 2.0}, {"cache": "two"}, {"warm_up": True}, {"alpha": "half"},
        {"gamma": "wide"}, {"dimension": float("inf")}, {"step": 5.0, "lam": 1.0, "alpha": 0.5},
        {"floor": 3.0, "lam": 1.0, "alpha": 0.5, "step": 0.1},
    ],
)  # fmt: skip
def test_wrong_settings_are_named(options: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        make("dsvor", 2, 3, **options)


@pytest.mark.parametrize(("features", "ranks"), [(0, 3), (2, 1), (1.5, 3), (2, 3.0), ("2", 3)])
def test_wrong_sizes_are_refused(features: Any, ranks: Any) -> None:
    for kind in (kind for kind, learner in LEARNERS.items() if learner.task == "ordinal"):
        with pytest.raises(ConfigurationError):
            make(kind, features, ranks)


def test_unknown_learner_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'dsvor'"):
        make("dsvr", 2, 3)


@pytest.mark.parametrize("kind", ["dsvor", "dsvor-batch"])
def test_damaged_states_of_dsvor_are_refused(kind: str) -> None:
    node = make(kind, 2, 4, dimension=20)
    node.learn(*nonlinear(seed=0).block(0, 30))
    state = node.export()
    for change in (
        {"w": state["w"][:, 1:]}, {"w": state["w"][0]},
        {"config": {}}, {"config": {**state["config"], "ranks": 1}}, {"config": None},
        {"config": {**state["config"], "extra": 1}}, {"warm_up_rounds": 21},
        {"warm_up_rounds": "two"}, {"progress": -state["progress"]}, {"mean": "none"},
    ):  # fmt: skip
        with pytest.raises(ModelError):
            type(node).restore({**state, **change})
