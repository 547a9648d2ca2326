"""The loops of the elastic net against numpy and scikit-learn."""

import numpy as np
import pytest

from anabranch.features.frame import Frame
from anabranch.kernels.elastic import merge, observe
from anabranch.kernels.elastic_fold import fold
from anabranch.kernels.elastic_solve import (
    conjugate_gradients,
    descend,
    factorise,
    polish,
    solve,
)
from anabranch.learners.elastic_net_half import carry_pull
from anabranch.learners.elastic_net_moments import CoMoments
from anabranch.protocol import Array
from tests.learners.elastic_network import boyd, objective, reference


def moments_of(X: Array, y: Array, weights: Array | None = None) -> tuple[float, Array, Array]:
    Z = np.column_stack([X, y])
    weights = np.ones(len(y)) if weights is None else weights
    mean = weights @ Z / weights.sum()
    return weights.sum(), mean, np.tril((weights[:, None] * (Z - mean)).T @ (Z - mean))


def empty(features: int) -> tuple[Array, Array]:
    return np.zeros(features + 1), np.zeros((features + 1, features + 1))


@pytest.mark.parametrize("decay", [1.0, 0.9])
def test_observed_moments_are_the_weighted_ones(decay: float) -> None:
    X, y = boyd(0, 60, 4)
    mean, S = empty(4)
    count = observe(X + 10.0, y, decay, 0.0, mean, S)
    n, expected, T = moments_of(X + 10.0, y, decay ** np.arange(59, -1, -1.0))
    assert count == pytest.approx(n)
    np.testing.assert_allclose(mean, expected, rtol=1e-12)
    np.testing.assert_allclose(np.tril(S), T, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("features", [1, 9, 63, 130])
@pytest.mark.parametrize("rows", [1, 63, 64, 200, 1023, 2100])
def test_folded_moments_are_the_observed_ones(features: int, rows: int) -> None:
    X, y = boyd(1, rows, features)
    mean, S = empty(features)
    count = fold(X[: rows // 2], y[: rows // 2], 0.0, mean, S)
    count = fold(X[rows // 2 :] + 3.0, y[rows // 2 :], count, mean, S)
    X = np.concatenate([X[: rows // 2], X[rows // 2 :] + 3.0])
    n, expected, T = moments_of(X, y)
    assert count == n
    np.testing.assert_allclose(mean, expected, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(np.tril(S), T, rtol=1e-9, atol=1e-9)


def test_moments_keep_their_digits_far_from_zero() -> None:
    X, y = boyd(2, 500, 3)
    X = np.round(X, 3)
    mean, S = empty(3)
    observe(X + 1e8, y, 1.0, 0.0, mean, S)
    exact = moments_of((X + 1e8) - 1e8, y)[2]
    assert np.abs(np.tril(S) - exact).max() / 500 < 6e-9


def test_merged_moments_are_those_of_all_rows() -> None:
    X, y = boyd(3, 90, 5)
    mean, S = empty(5)
    count = 0.0
    for a, b in ((0, 10), (10, 10), (10, 60), (60, 90)):
        part_mean, part = empty(5)
        n = observe(X[a:b], y[a:b], 1.0, 0.0, part_mean, part)
        count = merge(count, mean, S, n, part_mean, part)
    np.testing.assert_allclose(np.tril(S), moments_of(X, y)[2], rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("rows", [0, 3, 49, 50, 51, 137, 400])
def test_a_window_holds_the_newest_panes(rows: int) -> None:
    X, y = boyd(4, 400, 2)
    moments = CoMoments(2, window=50, panes=5)
    moments.observe(X[:rows], y[:rows])
    kept = min(rows, 40 + (rows - 1) % 10 + 1) if rows else 0
    count, mean, S = moments.total()
    assert count == moments.count == kept
    if kept:
        _, expected, T = moments_of(X[rows - kept : rows], y[rows - kept : rows])
        np.testing.assert_allclose(mean, expected, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(np.tril(S), T, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("size", [1, 5, 64, 65, 150, 200])
def test_the_tiled_factor_solves(size: int) -> None:
    rng = np.random.default_rng(size)
    B = rng.normal(size=(size, size + 3))
    A, extra, right = B @ B.T, rng.uniform(0.1, 1.0, size), rng.normal(size=size)
    L, out = np.zeros((size, size)), np.zeros(size)
    assert factorise(A, extra, L)
    solve(L, right, out)
    np.testing.assert_allclose(out, np.linalg.solve(A + np.diag(extra), right), rtol=1e-7)
    assert not factorise(-A, extra * 0.0, L)


def test_conjugate_gradients_solve() -> None:
    rng = np.random.default_rng(0)
    B = rng.normal(size=(9, 20))
    A, right, out = B @ B.T / 20, rng.normal(size=9), np.zeros(9)
    assert conjugate_gradients(A, 0.5, right, out, 100) < 100
    np.testing.assert_allclose(out, np.linalg.solve(A + 0.5 * np.eye(9), right), rtol=1e-9)


@pytest.mark.parametrize("u1", [0.0001, 0.05, 0.5])
def test_descent_and_polish_are_scikit_learns_optimum(u1: float) -> None:
    X, y = boyd(5, 40, 12)
    X, y = X - X.mean(axis=0), y - y.mean()
    l1, l2, theta = np.full(12, u1), np.full(12, 0.01), np.zeros(12)
    A, c = X.T @ X / 40, X.T @ y / 40
    descend(A, c, l1, l2, theta, 1e-6, 1000)
    assert polish(A, c, l1, l2, theta)
    w, b = reference(X, y, u1, 0.01)
    np.testing.assert_allclose(theta, w, atol=1e-9)
    best = objective(w, b, X, y, u1, 0.01)
    assert objective(theta, b, X, y, u1, 0.01) <= best * (1 + 1e-12)


def test_polish_refuses_what_is_not_the_optimum() -> None:
    A, c, l1, l2 = np.eye(3), np.array([2.0, 0.1, -1.0]), np.full(3, 0.5), np.zeros(3)
    for start in ([1.0, 0.0, 0.0], [-1.0, 0.0, -1.0], [1.0, 1.0, -1.0]):
        theta = np.array(start)
        assert not polish(A, c, l1, l2, theta)
        assert theta.tolist() == start


def test_frames_carry_functions_and_gradients() -> None:
    rng = np.random.default_rng(6)
    old = Frame(1, rng.normal(size=4), rng.uniform(0.5, 2.0, 4))
    new = Frame(2, rng.normal(size=4), rng.uniform(0.5, 2.0, 4))
    theta, x = rng.normal(size=4), rng.normal(size=3)

    def value(frame: Frame, theta: Array) -> float:
        weights, level = frame.raw(theta)
        return level + float(weights @ (x - frame.centre[:3]))

    def loss(frame: Frame, theta: Array) -> float:
        return 0.5 * (value(frame, theta) - 1.0) ** 2 / frame.scale[-1] ** 2

    def slope(frame: Frame, theta: Array) -> Array:
        steps = 1e-6 * np.eye(4)
        return np.array([loss(frame, theta + d) - loss(frame, theta - d) for d in steps]) / 2e-6

    carried = old.carry(theta, new)
    assert value(new, carried) == pytest.approx(value(old, theta))
    np.testing.assert_allclose(
        old.carry_slope(slope(old, theta), new), slope(new, carried), rtol=1e-5, atol=1e-8
    )
    m = 0.3 * theta + slope(old, theta)
    np.testing.assert_allclose(
        carry_pull(m, 0.3, theta, old, new), 0.3 * carried + slope(new, carried), atol=1e-6
    )
