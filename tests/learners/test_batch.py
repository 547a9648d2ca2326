"""Batch dSVOR: the algorithm, its optimum, and the values known for the paper's sets."""

from itertools import pairwise
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from anabranch.learners import make
from anabranch.protocol import Array, Learner
from anabranch.synthetic import OrdinalStream, linear, nonlinear
from tests.learners.small_network import exchange, mean_absolute_error, random_weights


def objective(w: Array, b: Array, X: Array, y: Array, lam: float, alpha: float) -> float:
    side = np.where(y[:, None] <= np.arange(1, b.size + 1), 1.0, -1.0)
    hinge = np.maximum(0.0, 1.0 + side * ((X @ w)[:, None] - b)).sum(axis=1).mean()
    return float(lam * ((1 - alpha) / 2 * w @ w + alpha * np.abs(w).sum()) + hinge)


def optimum(X: Array, y: Array, ranks: int, lam: float, alpha: float) -> float:
    w, b = cp.Variable(X.shape[1]), cp.Variable(ranks - 1)
    side = np.where(y[:, None] <= np.arange(1, ranks), 1.0, -1.0)
    hinges = [cp.sum(cp.pos(1 + cp.multiply(side[:, q], X @ w - b[q]))) for q in range(ranks - 1)]
    penalty = lam * ((1 - alpha) / 2 * cp.sum_squares(w) + alpha * cp.norm1(w))
    problem = cp.Problem(cp.Minimize(penalty + sum(hinges) / len(X)))
    return float(problem.solve())


def small_problem() -> tuple[Array, Array]:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 6))
    latent = X @ [1.0, -1.0, 0.5, 0.0, 0.0, 0.0] + 0.5 * rng.normal(size=60)
    return X, np.digitize(latent, [-1.0, 0.0, 1.0]) + 1.0


OPTIONS: dict[str, Any] = {"kernel": "linear", "scaling": "none", "lam": 0.02, "alpha": 0.5}


def gap(nodes: list[Learner], X: Array, y: Array, best: float) -> float:
    values = []
    for node in nodes:
        theta = node.parameters()
        values.append(objective(theta[:6], theta[6:], X, y, 0.02, 0.5))
    return max(values) - best


def test_converges_to_the_optimum() -> None:
    X, y = small_problem()
    best = optimum(X, y, 4, 0.02, 0.5)
    node = make("dsvor-batch", 6, 4, **OPTIONS)
    node.learn(X, y)
    gaps = []
    for t in range(30_000):
        node.combine(t, {}, {})
        if t + 1 in (300, 3000, 30_000):
            gaps.append(gap([node], X, y, best))
    assert -1e-6 < gaps[2] < gaps[1] < gaps[0]
    assert gaps[2] < 2e-3 * best


@pytest.mark.parametrize("sizes", [[15, 15, 15, 15], [30, 20, 7, 3]])
def test_network_converges_to_the_same_optimum(sizes: list[int]) -> None:
    X, y = small_problem()
    best = optimum(X, y, 4, 0.02, 0.5)
    ends = np.cumsum([0, *sizes])
    nodes = [make("dsvor-batch", 6, 4, prune=0.0, **OPTIONS) for _ in sizes]
    for m, node in enumerate(nodes):
        node.learn(X[ends[m] : ends[m + 1]], y[ends[m] : ends[m + 1]])
    weights = random_weights(4, 2, 0)
    for t in range(10_000):
        exchange(nodes, weights, t)
    assert gap(nodes, X, y, best) < 0.02 * best


def test_single_node_is_algorithm_1() -> None:
    X, y = small_problem()
    node = make("dsvor-batch", 6, 4, warm_up=3, kernel="linear")
    node.learn(X, y)
    Z = (X - X.mean(0)) / X.std(0)
    side = np.where(y[:, None] <= np.arange(1, 4), 1.0, -1.0)
    w, b = np.zeros(6), np.zeros(3)
    for t in range(3):
        node.combine(t, {}, {})
    for k in range(60):
        node.combine(3 + k, {}, {})
        eta = 5.0 / (1.0 + 0.01 * k)
        h = np.where(side * ((Z @ w)[:, None] - b) > -1.0, side, 0.0)
        w = w * (1 - eta * 1e-4) - eta * (h.sum(1) @ Z) / len(Z)
        w = np.sign(w) * np.maximum(np.abs(w) - eta * 9e-4, 0.0)
        b = np.maximum.accumulate(b + eta * h.mean(0))
        np.testing.assert_allclose(node.parameters(), [*w, *b], atol=1e-9)


def run(stream: OrdinalStream, kernel: str, sizes: list[int]) -> tuple[float, float, float]:
    """MAE of the network at k = 500, of the nodes alone, and of all data in one place."""
    X, y = stream.block(0, sum(sizes))
    ends = np.cumsum([0, *sizes])
    fresh = stream.block(10**6, 2000)

    def nodes(parts: list[tuple[int, int]]) -> list[Learner]:
        made = [make("dsvor-batch", stream.features, 4, kernel=kernel) for _ in parts]
        for node, (start, end) in zip(made, parts, strict=True):
            node.learn(X[start:end], y[start:end])
        return made

    parts = list(pairwise(ends))
    together, alone, central = nodes(parts), nodes(parts[::2]), nodes([(0, len(X))])
    weights = random_weights(len(parts), 4, 0)
    for t in range(20 + 500):
        exchange(together, weights, t)
        for node in (*alone, *central):
            node.combine(t, {}, {})
    together_error, alone_error, central_error = (
        mean_absolute_error(group, *fresh) for group in (together, alone, central)
    )
    return together_error, alone_error, central_error


def test_second_set_has_the_known_values() -> None:
    errors = [run(nonlinear(seed=seed), "gaussian", [50] * 20) for seed in range(3)]
    together, alone, central = np.mean(errors, axis=0)
    assert central == pytest.approx(0.125, abs=0.014)
    assert together == pytest.approx(0.127, abs=0.014)
    assert alone == pytest.approx(0.198, abs=0.028)
    assert together - central < 0.01
    assert alone - together > 0.04


def test_first_set_has_the_known_values() -> None:
    errors = [run(linear(seed=seed), "linear", [50] * 20) for seed in range(3)]
    together, alone, central = np.mean(errors, axis=0)
    assert central == pytest.approx(0.314, abs=0.027)
    assert together == pytest.approx(0.322, abs=0.027)
    assert alone == pytest.approx(0.337, abs=0.027)
    assert together - central < 0.015


def test_uneven_shards_lose_little() -> None:
    sizes = [10] * 10 + [90] * 10
    together, alone, central = run(nonlinear(seed=5), "gaussian", sizes)
    assert together - central < 0.02
    assert alone > together


def test_rows_that_come_later_are_used() -> None:
    X, y = small_problem()
    early, late = (make("dsvor-batch", 6, 4, **OPTIONS) for _ in range(2))
    early.learn(X, y)
    late.learn(X[:20], y[:20])
    late.combine(0, {}, {})
    late.learn(X[20:], y[20:])
    assert np.array_equal(late.export()["X"], early.export()["X"])
    for t in range(2000):
        early.combine(t, {}, {})
        late.combine(t + 1, {}, {})
    np.testing.assert_allclose(early.parameters(), late.parameters(), atol=0.15)
