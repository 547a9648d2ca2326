"""The compiled pieces against plain formulas and other libraries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from sklearn.isotonic import isotonic_regression

from anabranch.errors import ConfigurationError
from anabranch.features import FourierMap
from anabranch.kernels.checks import LIMIT, bounded
from anabranch.kernels.counters import fill_normals, fill_uniforms, mix
from anabranch.kernels.lanes import dot, dots, padded
from anabranch.kernels.moments import M2, MEAN, add_row, refresh
from anabranch.kernels.ordinal import adapt, mean_subgradient, project
from anabranch.protocol import Array


@njit
def both_dots(a: Array, b: Array, z: Array) -> tuple[float, float, float]:
    one, two = dots(a, b, z, z.size)
    return one, two, dot(a, z, z.size)


def test_dots_sum_lane_by_lane() -> None:
    a, b, z = np.random.default_rng(0).normal(size=(3, 40))
    one, two, single = both_dots(a, b, z)
    lanes = np.zeros(8)
    for start in range(0, 40, 8):
        lanes = lanes + a[start : start + 8] * z[start : start + 8]
    while lanes.size > 1:
        lanes = lanes[: lanes.size // 2] + lanes[lanes.size // 2 :]
    assert one == single == lanes[0]
    assert two == pytest.approx(b @ z, rel=1e-12)


@settings(deadline=None)
@given(st.lists(st.integers(-6, 6), min_size=1, max_size=9))
def test_projection_is_isotonic_regression(values: list[int]) -> None:
    theta = np.array([9.0, -9.0, *map(float, values)])
    njit_project(theta, 2)
    assert (theta[:2] == [9.0, -9.0]).all()
    assert (np.diff(theta[2:]) >= 0).all()
    np.testing.assert_allclose(theta[2:], isotonic_regression(np.array(values, float)), atol=1e-12)


@njit
def njit_project(theta: Array, offset: int) -> None:
    project(theta, offset)


def test_adapt_is_the_proximal_step() -> None:
    rng = np.random.default_rng(1)
    theta, g = rng.normal(size=19), rng.normal(size=16)
    moved = theta[:16] * (1 - 0.5 * 0.1) - 0.5 * 2.0 * g
    expected = np.sign(moved) * np.maximum(np.abs(moved) - 0.5 * 0.8, 0.0)
    before = theta[16:].copy()
    adapt(theta, 16, g, 2.0, 0.5, 0.1, 0.8)
    np.testing.assert_allclose(theta[:16], expected, atol=1e-15)
    assert (theta[:16] == 0.0).any()
    assert (theta[16:] == before).all()


def test_subgradient_is_the_slope_of_the_mean_hinge() -> None:
    rng = np.random.default_rng(2)
    rows = np.column_stack([rng.normal(size=(30, 8)), rng.integers(1, 5, 30)])
    theta = np.concatenate([rng.normal(size=8), np.sort(rng.normal(size=3))])

    def loss(theta: Array) -> float:
        margin = (rows[:, :8] @ theta[:8])[:, None] - theta[8:]
        side = np.where(rows[:, 8:] <= np.arange(1, 4), 1.0, -1.0)
        return float(np.maximum(0.0, 1.0 + side * margin).sum(axis=1).mean())

    gradient = np.empty(11)
    mean_subgradient(rows, 30, theta, 8, gradient)
    steps = 1e-7 * np.eye(11)
    numeric = [(loss(theta + e) - loss(theta - e)) / 2e-7 for e in steps]
    np.testing.assert_allclose(gradient, numeric, atol=1e-6)


def test_fourier_features_are_the_cosines() -> None:
    drawn = FourierMap.draw(["a", "b", "c", "d", "e"], 37, gamma=0.7, seed=3)
    X = 50.0 * np.random.default_rng(0).normal(size=(20, 5))
    phase = 2.0 * np.pi * (X @ drawn.turns + drawn.offsets)[:, :37]
    np.testing.assert_allclose(drawn.transform(X), np.sqrt(2 / 37) * np.cos(phase), atol=1e-12)


def test_kernel_error_falls_with_the_root_of_the_dimension() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    exact = np.exp(-0.4 * ((X[:, None] - X[None]) ** 2).sum(-1))
    errors = []
    for dimension in (50, 200, 800, 3200):
        maps = [
            FourierMap.draw("xyz", dimension, gamma=0.4, seed=seed).transform(X)
            for seed in range(12)
        ]
        errors.append(np.sqrt(np.mean([(z @ z.T - exact) ** 2 for z in maps])))
    slope = np.polyfit(np.log([50, 200, 800, 3200]), np.log(errors), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.06)


def test_a_feature_keeps_its_frequencies_by_name() -> None:
    one = FourierMap.draw(["a", "b"], 16, gamma=1.0, seed=1)
    two = FourierMap.draw(["b", "c", "a"], 16, gamma=1.0, seed=1)
    other = FourierMap.draw(["a", "b"], 16, gamma=1.0, seed=2)
    assert (one.turns == two.turns[[2, 0]]).all()
    assert (one.offsets == two.offsets).all()
    assert not np.isclose(one.turns, other.turns).any()


@pytest.mark.parametrize(
    "options", [{"dimension": 0}, {"gamma": 0.0}, {"gamma": np.nan}, {"names": ["a", "a"]}]
)
def test_impossible_maps_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError):
        FourierMap.draw(**{"names": ["a"], "dimension": 8, "gamma": 1.0, **options})  # type: ignore[arg-type]


def test_splitmix_is_the_published_generator() -> None:
    # The first outputs for seed 1234567, as in the generator's reference implementations.
    outputs = [int(mix(np.uint64(1234567), np.uint64(i))) for i in range(3)]
    assert outputs == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_draws_have_their_distributions() -> None:
    uniforms, normals = np.empty(200_000), np.empty(200_000)
    fill_uniforms(np.uint64(5), uniforms)
    fill_normals(np.uint64(5), normals)
    assert 0.0 < uniforms.min() < uniforms.max() < 1.0
    assert uniforms.mean() == pytest.approx(0.5, abs=0.003)
    assert normals.mean() == pytest.approx(0.0, abs=0.01)
    assert normals.std() == pytest.approx(1.0, abs=0.01)
    assert (np.abs(normals) < 1.96).mean() == pytest.approx(0.95, abs=0.003)


def test_moments_are_stable_far_from_zero() -> None:
    X = 1e8 + np.random.default_rng(0).normal(size=(1000, 2)) * [1.0, 0.0]
    scale, count = np.zeros((4, 2)), 0.0
    for row in range(1000):
        count = add_row(X, row, count, scale)
    refresh(count, scale)
    assert scale[MEAN, 0] == pytest.approx(X[:, 0].mean(), rel=1e-14)
    assert scale[M2, 0] / count == pytest.approx(X[:, 0].var(), rel=1e-6)
    assert scale[3, 1] == 1.0


@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf, 1.1 * LIMIT, -1.1 * LIMIT])
def test_bounded_finds_one_bad_value_anywhere(value: float) -> None:
    for size in (1, 7, 33):
        for place in range(size):
            values = np.full(size, -LIMIT)
            assert bounded(values)
            values[place] = value
            assert not bounded(values)


def test_padding() -> None:
    assert [padded(n) for n in (0, 1, 8, 9)] == [0, 8, 8, 16]
