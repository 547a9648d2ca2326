"""The network of batch learners as one matrix: the same rounds as the reference loop's."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from anabranch.errors import ConfigurationError, SampleError, UnknownNodeError
from anabranch.learners import BatchDSVOR, make
from anabranch.learners.batch_network import BatchNetwork
from anabranch.network import Weights, build_graph, combination_weights, node_names
from anabranch.protocol import Array
from anabranch.simulate import simulate
from anabranch.synthetic import nonlinear

NODES = 12
Shards = Mapping[str, tuple[Array, Array]]


def network() -> Weights:
    return combination_weights(build_graph("random", node_names(NODES), degree=3.0, seed=1))


def shards_of(sizes: list[int]) -> Shards:
    X, y = nonlinear(seed=2).block(0, sum(sizes))
    ends = np.cumsum([0, *sizes])
    names = node_names(len(sizes))
    return {n: (X[a:b], y[a:b]) for n, a, b in zip(names, ends, ends[1:], strict=False)}


def reference(shards: Shards, weights: Weights, rounds: int, **options: Any) -> Array:
    learners = {node: make("dsvor-batch", 2, 4, **options) for node in shards}
    final = rounds - 1 - weights.graph.diameter
    simulate(learners, weights, [shards], final_rounds=final)
    return np.array([learners[node].parameters() for node in sorted(learners)])


UNEVEN = [1, 40, 17, 0, 8, 33, 25, 2, 9, 16, 64, 5]
OPTIONS: list[dict[str, Any]] = [
    {"dimension": 20},
    {"kernel": "linear", "scaling": "none", "prune": 0.3, "alpha": 0.2},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("sizes", [[25] * NODES, UNEVEN])
def test_rounds_are_those_of_the_reference_loop(sizes: list[int], options: dict[str, Any]) -> None:
    weights, shards = network(), shards_of(sizes)
    net = BatchNetwork.of(shards, 4, weights, **options)
    net.advance(25)
    net.advance(35)
    expected = reference(shards, weights, net.warm_up_rounds + 60, **options)
    np.testing.assert_allclose(net.parameters(), expected, rtol=0, atol=1e-12)
    X = nonlinear(seed=2).block(10**6, 50)[0]
    assert net.predict(X).shape == (NODES, 50)


def test_without_a_graph_each_node_is_alone() -> None:
    shards = shards_of([30, 0, 12, *[9] * 30])
    net = BatchNetwork.of(shards, 4, dimension=20)
    net.advance(40)
    for node, theta in zip(shards, net.parameters(), strict=True):
        learner = make("dsvor-batch", 2, 4, dimension=20)
        learner.learn(*shards[node])
        for t in range(20 + 40):
            learner.combine(t, {}, {})
        np.testing.assert_allclose(theta, learner.parameters(), rtol=0, atol=1e-12)


def test_threads_change_nothing_and_singles_little() -> None:
    weights, shards = network(), shards_of([25] * NODES)
    found = {}
    for dtype, threads in (("float64", 1), ("float32", 1), ("float32", 3), ("float16", 1)):
        net = BatchNetwork.of(shards, 4, weights, dimension=50, dtype=dtype, threads=threads)
        net.advance(200)
        found[dtype, threads] = net
    single, many = found["float32", 1].parameters(), found["float32", 3].parameters()
    assert single.tobytes() == many.tobytes()
    X, y = nonlinear(seed=2).block(10**6, 1000)
    errors = {key: np.abs(net.predict(X) - y).mean() for key, net in found.items()}
    assert max(errors.values()) - min(errors.values()) < 0.01
    assert errors["float64", 1] < 0.2


def test_wrong_networks_are_refused() -> None:
    shards = shards_of([5, 5])
    with pytest.raises(UnknownNodeError, match="a learner for each"):
        BatchNetwork.of(shards, 4, network())
    with pytest.raises(ConfigurationError, match="dtype='float8'; allowed: float64"):
        BatchNetwork.of(shards, 4, dtype="float8")
    large = {node: (1e6 * X, y) for node, (X, y) in shards.items()}
    with pytest.raises(ConfigurationError, match="too large: dtype='float16'"):
        BatchNetwork.of(large, 4, dtype="float16", kernel="linear", scaling="none")
    with pytest.raises(ConfigurationError, match="given up node by node: drop=3; allowed: 0"):
        BatchNetwork.of(shards, 4, drop=3)
    mixed = {"a": BatchDSVOR(2, 4, alpha=0.5), "b": BatchDSVOR(2, 4)}
    with pytest.raises(ConfigurationError, match="differ in settings"):
        BatchNetwork(mixed)
    with pytest.raises(ConfigurationError, match="no learner"):
        BatchNetwork({})


def test_rows_of_another_shape_are_refused() -> None:
    X, y = nonlinear(seed=2).block(0, 10)
    with pytest.raises(SampleError, match=r"X of 'a' has \(10,\); allowed: \(n, features\)"):
        BatchNetwork.of({"a": (X[:, 0], y)}, 4)
