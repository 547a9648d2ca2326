"""Shards at one place: threads change no bit, and the optimum is scikit-learn's."""

import numpy as np
import pytest

from anabranch.features.frame import Frame
from anabranch.learners import BatchElasticNet
from anabranch.learners.elastic_net_moments import CoMoments
from anabranch.learners.elastic_net_shards import fold_shards, solve_shards
from anabranch.protocol import Array
from tests.learners.elastic_network import boyd, reference


def shards_of(rows: int, features: int, count: int) -> list[tuple[Array, Array]]:
    X, y = boyd(0, rows, features)
    parts = np.array_split(np.arange(rows), count)
    return [(X[part] + 2.0, y[part]) for part in parts]


@pytest.mark.parametrize("features", [9, 70, 260])
def test_threads_change_no_bit(features: int) -> None:
    shards = shards_of(700, features, 5)
    settings = BatchElasticNet(features, scaling="none").settings
    ends = []
    for threads in (1, 2, 4):
        moments = fold_shards(features, shards, threads)
        frame, theta, taken = solve_shards(settings, moments, 60, threads)
        arrays = [part for one in moments for part in one.total()[1:]]
        ends.append([a.tobytes() for a in (*arrays, frame.scale, theta)] + [bytes([taken])])
    assert ends[0] == ends[1] == ends[2]


def test_it_ends_at_scikit_learns_optimum() -> None:
    shards = shards_of(400, 20, 7)
    X, y = (np.concatenate(part) for part in zip(*shards, strict=True))
    settings = BatchElasticNet(20, u1=0.02, u2=0.01, scaling="none").settings
    frame, theta, taken = solve_shards(settings, fold_shards(20, shards), 500)
    weights, level = frame.raw(theta)
    w, b = reference(X, y, 0.02, 0.01)
    np.testing.assert_allclose(weights, w, atol=1e-10)
    assert level - weights @ frame.centre[:-1] == pytest.approx(b, abs=1e-10)
    assert taken < 500


def test_no_more_rounds_than_allowed() -> None:
    settings = BatchElasticNet(9).settings
    assert solve_shards(settings, fold_shards(9, shards_of(100, 9, 4)), 3)[2] == 3


def test_one_product_of_a_shard_has_the_moments_of_its_rows() -> None:
    ((X, y),) = shards_of(50, 6, 1)
    begun, folded = CoMoments(6), CoMoments(6)
    begun.begin(X, y)
    folded.fold(X, y)
    (n, mean, S), (count, middle, T) = begun.total(), folded.total()
    assert (n, begun.rows) == (count, folded.rows)
    np.testing.assert_allclose(mean, middle, rtol=1e-12)
    np.testing.assert_allclose(np.tril(S), np.tril(T), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("alike", [0.0, 3e-3])
def test_rough_factors_end_where_exact_ones_do(
    alike: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    base = rng.normal(size=(900, 1))
    X = alike * rng.normal(size=(900, 270)) + base if alike else rng.normal(size=(900, 270))
    y = X[:, :3].sum(axis=1) + rng.normal(size=900)
    moments = fold_shards(270, list(zip(np.split(X, 3), np.split(y, 3), strict=True)))
    far = 1e-4 if alike else 1e-10  # fields so alike take a thousand times as many rounds
    settings = BatchElasticNet(270, u1=0.01, u2=0.01, scaling="none", relative=far).settings
    rough = solve_shards(settings, moments, 4000)
    monkeypatch.setattr("anabranch.learners.elastic_net_factors.WIDEST", 1000)
    exact = solve_shards(settings, moments, 4000)
    losses = [objective(*frame.raw(theta), frame, X, y) for frame, theta, _ in (rough, exact)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-9)
    np.testing.assert_allclose(rough[1], exact[1], atol=1e-5 if alike else 1e-9)
    assert exact[2] < rough[2] < 4000


def objective(w: Array, level: float, frame: Frame, X: Array, y: Array) -> float:
    error = (X - frame.centre[:-1]) @ w + level - y
    return float(0.5 * np.mean(error**2) + 0.01 * np.abs(w).sum() + 0.005 * (w @ w))


def test_shards_too_near_singular_for_single_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.repeat(np.random.default_rng(4).normal(size=(300, 1)), 270, axis=1)
    moments = fold_shards(270, [(X[:100], X[:100, 0]), (X[100:], X[100:, 0])])
    settings = BatchElasticNet(270, scaling="none", kappa=1e-9).settings
    rough = solve_shards(settings, moments, 50)
    monkeypatch.setattr("anabranch.learners.elastic_net_factors.WIDEST", 1000)
    assert rough[1].tobytes() == solve_shards(settings, moments, 50)[1].tobytes()
