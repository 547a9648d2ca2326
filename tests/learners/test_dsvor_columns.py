"""Features that are given up: neither computed, stored nor sent, and what that changes."""

from typing import Any

import numpy as np
import pytest

from anabranch.errors import ConfigurationError, ModelError, SampleError
from anabranch.exchange import wire_size
from anabranch.features import FourierMap
from anabranch.learners import make
from anabranch.learners.columns import Columns
from anabranch.network import Weights, combination_weights, node_names, ring
from anabranch.protocol import Array
from anabranch.simulate import Tick, simulate
from anabranch.synthetic import nonlinear, wide

NODES = 6


def weights() -> Weights:
    return combination_weights(ring(node_names(NODES)))


def tick(start: int, rows: int) -> Tick:
    X, y = nonlinear(seed=1).block(start, rows * NODES)
    return {node: (X[i::NODES], y[i::NODES]) for i, node in enumerate(node_names(NODES))}


def network(kind: str, **options: Any) -> dict[str, Any]:
    return {node: make(kind, 2, 4, **options) for node in node_names(NODES)}


def error(learners: dict[str, Any]) -> float:
    X, y = nonlinear(seed=1).block(10**6, 1000)
    return float(np.mean([np.abs(one.predict(X) - y).mean() for one in learners.values()]))


def bytes_of(learners: dict[str, Any]) -> float:
    return float(np.mean([wire_size(one.messages(0)[0]) for one in learners.values()]))


def test_batch_loses_nothing_and_sends_half() -> None:
    found = {}
    for drop in (0, 20):
        learners = network("dsvor-batch", drop=drop)
        simulate(learners, weights(), [tick(0, 100)], final_rounds=600)
        found[drop] = learners
    assert error(found[20]) == pytest.approx(error(found[0]), abs=0.006)
    for one in found[20].values():
        told = one.measures()
        assert 0.3 < told["dropped"] <= told["zeros"] + 1 / 16
        assert one.model()["w"].shape == (2, round(200 * (1.0 - told["dropped"])))
        assert one.parameters().shape == (203,)
        assert (one.parameters()[:200] == 0.0).mean() >= told["dropped"]
    assert {one.measures()["dropped"] for one in found[0].values()} == {0.0}
    assert bytes_of(found[20]) <= 1.02 * bytes_of(found[0]) < 0.95 * 8 * 203


def test_streams_lose_little_and_send_less() -> None:
    found = {}
    for drop in (0, 10):
        learners = network("dsvor", drop=drop, prune=0.03)
        simulate(learners, weights(), [tick(60 * t, 10) for t in range(200)])
        found[drop] = learners
    assert error(found[10]) < error(found[0]) + 0.012
    assert min(one.measures()["dropped"] for one in found[10].values()) > 0.3
    assert bytes_of(found[10]) <= bytes_of(found[0]) < 0.75 * 8 * 203


def test_a_feature_comes_back_when_a_neighbour_uses_it() -> None:
    columns = Columns(FourierMap.draw(["a"], 32, gamma=1.0), patience=3)
    used = (np.arange(32) < 16).astype(np.float64)
    assert [columns.note([used]) for _ in range(3)] == [False, False, True]
    assert columns.map.columns.tolist() == list(range(16))
    other = np.isin(np.arange(32), [20, 25]).astype(np.float64)
    assert columns.note([used, other])
    assert columns.map.columns.tolist() == [*range(16), 20, 25]
    assert [columns.note([used]) for _ in range(3)] == [False, False, True]
    assert columns.spread(np.ones(16)).tolist() == [1.0] * 16 + [0.0] * 16


def test_few_idle_features_are_not_worth_the_move() -> None:
    columns = Columns(FourierMap.draw(["a"], 64, gamma=1.0), patience=1)
    assert not columns.note([1.0 * (np.arange(64) < 61)])
    assert columns.note([1.0 * (np.arange(64) < 60)])
    assert not columns.note([np.zeros(64)])
    assert columns.map.dimension == 60


def sparse_fields(seed: int = 0) -> tuple[Array, Array]:
    """Four hundred fields, of which three tell the rank."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 400))
    return X, np.digitize(X[:, :3].sum(axis=1), [-1.0, 1.0]) + 1


@pytest.mark.parametrize("scaling", ["consensus", "none"])
def test_a_linear_model_reads_the_fields_it_uses(scaling: str) -> None:
    X, y = sparse_fields()
    options = {"kernel": "linear", "lam": 0.05, "prune": 0.1, "scaling": scaling}
    node: Any = make("dsvor-batch", 400, 3, drop=10, **options)
    plain: Any = make("dsvor-batch", 400, 3, **options)
    for one in (node, plain):
        one.learn(X, y)
        for t in range(400):
            one.combine(t, {}, {})
    assert node.measures()["dropped"] > 0.9
    fresh, truth = sparse_fields(seed=1)
    assert (node.predict(fresh) == truth).mean() >= (plain.predict(fresh) == truth).mean() - 0.01
    blind = X.copy()
    blind[:, 3:] = np.where(node.parameters()[3:400] == 0.0, 0.0, X[:, 3:])
    assert (node.scores(blind) == node.scores(X)).all()
    with pytest.raises(SampleError, match=r"X\[0, 399\]=nan"):
        node.predict(np.where(np.arange(400) == 399, np.nan, X[:1]))
    online: Any = make("dsvor", 400, 3, drop=1, warm_up=1, **{**options, "prune": 0.5})
    for t in range(20):
        online.learn(X[20 * t : 20 * t + 20], y[20 * t : 20 * t + 20])
        online.combine(t, {}, {})
    assert online.measures()["dropped"] > 0.9
    with pytest.raises(SampleError, match=r"X\[0, 399\]=inf"):
        online.learn(np.where(np.arange(400) == 399, np.inf, X[:1]), y[:1])


def test_damaged_columns_are_refused() -> None:
    node = make("dsvor", 2, 4, dimension=20, drop=1)
    node.learn(*nonlinear(seed=1).block(0, 50))
    state = node.export()
    for columns in ([], [3, 3], [-1, 2], [5, 20]):
        with pytest.raises(ModelError, match="columns are no features; allowed: of 0 to 19"):
            type(node).restore({**state, "columns": np.array(columns)})


@pytest.mark.parametrize(
    ("kernel", "positive"),
    [
        ("laplacian", False), ("cauchy", False), ("hellinger", True), ("chi-squared", True),
        ("intersection", True), ("jensen-shannon", True),
    ],
)  # fmt: skip
def test_each_kernel_learns(kernel: str, positive: bool) -> None:
    X, y = wide(4, 4, seed=3).block(0, 3000)
    X = np.exp(X) if positive else X
    node: Any = make("dsvor", 4, 4, kernel=kernel)
    node.learn(X[:2500], y[:2500])
    guess = np.abs(np.median(y) - y[2500:]).mean()
    assert np.abs(node.predict(X[2500:]) - y[2500:]).mean() < 0.6 * guess


def test_additive_kernels_take_no_negative_values_and_no_units() -> None:
    X, y = wide(4, 4, seed=3).block(0, 400)
    X = np.exp(X)
    one, other = (make("dsvor", 4, 4, kernel="intersection") for _ in range(2))
    one.learn(X, y)
    other.learn(X * [1.0, 1e3, 1e-6, 7.0], y)
    np.testing.assert_allclose(one.parameters(), other.parameters(), rtol=0, atol=1e-9)
    for call in (one.predict, lambda rows: one.learn(rows, y[:1])):
        with pytest.raises(SampleError, match=r"X\[0, 2\]=-1.0 with kernel='intersection'"):
            call(np.array([[1.0, 0.0, -1.0, 2.0]]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "chi-squared", "dimension": 5}, "allowed: >= 6"),
        ({"kernel": "laplacian", "orthogonal": True}, "no orthogonal frequencies"),
        ({"kernel": "linear", "orthogonal": True}, "no orthogonal frequencies: kernel='linear'"),
        ({"kernel": "hellinger", "orthogonal": True}, "no orthogonal frequencies"),
        ({"orthogonal": 1}, "not a truth: orthogonal=1"),
        ({"drop": -1}, "drop=-1"),
    ],
)
def test_settings_that_do_not_fit_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make("dsvor", 2, 4, **options)
