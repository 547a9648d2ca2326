"""Random Fourier features against the kernels they stand for."""

from typing import Any

import numpy as np
import pytest

from anabranch.errors import ConfigurationError
from anabranch.features import FourierMap, kernel_matrix
from anabranch.protocol import Array

KERNELS = ("gaussian", "laplacian", "cauchy")
NAMES = ["a", "b", "c", "d", "e"]
SEEDS = range(40)
GAMMA = 0.15


def rows() -> Array:
    return np.random.default_rng(3).normal(size=(30, 5))


def errors(X: Array, dimension: int, **options: Any) -> Array:
    """Squared errors of all products, seed by seed."""
    kernel = options.get("kernel", "gaussian")
    exact = kernel_matrix(kernel, X, X, GAMMA)
    found = []
    for seed in SEEDS:
        Z = FourierMap.draw(NAMES, dimension, gamma=GAMMA, seed=seed, **options).transform(X)
        found.append(np.square(Z @ Z.T - exact))
    return np.array(found)


@pytest.mark.parametrize("kernel", KERNELS)
def test_error_has_its_closed_form_and_falls_with_the_dimension(kernel: str) -> None:
    """D var = 1 + k(2d)/2 - k(d)^2: the variance of 2 cos(u) cos(v), b uniform."""
    X = rows()
    k, twice = (kernel_matrix(kernel, s * X, s * X, GAMMA) for s in (1.0, 2.0))
    expected = (1.0 + 0.5 * twice - np.square(k))[np.triu_indices(30, 1)].mean()
    for dimension in (30, 480):
        found = errors(X, dimension, kernel=kernel)[:, *np.triu_indices(30, 1)].mean()
        assert dimension * found == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize("kernel", KERNELS)
def test_products_are_unbiased(kernel: str) -> None:
    X = rows()[:8]
    Z = FourierMap.draw(NAMES, 100_000, gamma=GAMMA, seed=5, kernel=kernel).transform(X)
    assert np.abs(Z @ Z.T - kernel_matrix(kernel, X, X, GAMMA)).max() < 0.02


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_field_has_its_frequencies_wherever_it_stands(kernel: str) -> None:
    one = FourierMap.draw(["a", "b"], 16, gamma=1.0, seed=1, kernel=kernel)
    two = FourierMap.draw(["b", "c", "a"], 16, gamma=1.0, seed=1, kernel=kernel)
    assert (one.turns == two.turns[[2, 0]]).all()
    assert (one.offsets == two.offsets).all()


def test_orthogonal_frequencies_are_orthogonal_in_blocks_and_as_long_as_before() -> None:
    plain = FourierMap.draw(NAMES, 13, gamma=1.0, seed=2)
    drawn = FourierMap.draw(NAMES, 25, gamma=1.0, seed=2, orthogonal=True)
    turned = drawn.turns[:, :25:2]
    for block in (turned[:, :5], turned[:, 5:10], turned[:, 10:]):
        gram = block.T @ block
        np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-12)
    lengths = np.linalg.norm(plain.turns[:, :13], axis=0)
    np.testing.assert_allclose(np.linalg.norm(turned, axis=0), lengths)
    assert (drawn.turns[:, 1:24:2] == turned[:, :12]).all()
    Z = FourierMap.draw(NAMES, 24, gamma=1.0, seed=2, orthogonal=True).transform(rows())
    np.testing.assert_allclose(np.square(Z).sum(axis=1), 1.0)


def test_order_of_names_does_not_change_orthogonal_frequencies() -> None:
    one = FourierMap.draw(["x", "y", "z"], 20, gamma=1.0, orthogonal=True)
    two = FourierMap.draw(["z", "x", "y"], 20, gamma=1.0, orthogonal=True)
    assert (one.turns == two.turns[[1, 2, 0]]).all()


def test_orthogonal_frequencies_lower_the_error() -> None:
    X, off = 0.6 * rows(), np.triu_indices(30, 1)
    plain, orthogonal = (errors(X, 40, orthogonal=choice)[:, *off] for choice in (False, True))
    assert orthogonal.mean() < 0.5 * plain.mean()
    Z = FourierMap.draw(NAMES, 100_000, gamma=GAMMA, seed=1, orthogonal=True).transform(X)
    assert np.abs(Z @ Z.T - kernel_matrix("gaussian", X, X, GAMMA)).max() < 0.02


def test_a_restricted_map_gives_the_same_features() -> None:
    X, columns = rows(), np.array([0, 3, 4, 11, 30])
    whole = FourierMap.draw(NAMES, 37, gamma=GAMMA)
    part = whole.restrict(columns)
    assert part.dimension == 5
    assert (part.transform(X) == whole.transform(X)[:, columns]).all()
    again = part.restrict(np.array([1, 4]))
    assert again.columns.tolist() == [3, 30]
    assert (again.transform(X) == whole.transform(X)[:, [3, 30]]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "cubic"}, "kernel='cubic'; allowed: gaussian, laplacian, cauchy"),
        ({"kernel": "cauchy", "orthogonal": True}, "no orthogonal frequencies"),
    ],
)
def test_maps_that_are_not_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        FourierMap.draw(["a"], 8, gamma=1.0, **options)
