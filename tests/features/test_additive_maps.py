"""Explicit maps of additive kernels against these."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import additive_chi2_kernel, laplacian_kernel, rbf_kernel

from anabranch.errors import ConfigurationError
from anabranch.features import AdditiveMap, LinearMap, kernel_matrix, make_map
from anabranch.features.additive import ADDITIVE_KERNELS
from anabranch.protocol import Array

SAMPLED = ("chi-squared", "intersection", "jensen-shannon")


def positive() -> Array:
    X = np.random.default_rng(0).exponential(size=(25, 4))
    X[3, 1] = X[7, 2] = 0.0
    return X


def deviations(kernel: str, order: int) -> tuple[Array, Array, AdditiveMap]:
    """log(y/x) up to a half period where xy = 1, and by how much k is missed there."""
    mapped = AdditiveMap.of(kernel, 1, order, gamma=1.0)
    away = np.linspace(0.0, np.pi / mapped.spacing[0], 400)
    x, y = np.exp(away / 2)[:, None], np.exp(-away / 2)[:, None]
    found = (mapped.transform(x) * mapped.transform(y)).sum(axis=1)
    exact = np.array([kernel_matrix(kernel, a[None], b[None])[0, 0] for a, b in zip(x, y)])  # noqa: B905
    return away, np.abs(found - exact), mapped


@pytest.mark.parametrize("kernel", SAMPLED)
@pytest.mark.parametrize("order", [1, 2, 4, 9])
def test_error_is_within_truncation_and_periods(kernel: str, order: int) -> None:
    """Poisson: K sampled at jL is K repeated at every period; what is cut off adds its sum."""
    away, error, mapped = deviations(kernel, order)
    found = ADDITIVE_KERNELS[kernel]
    assert found is not None
    spacing = mapped.spacing[0]
    tail = np.arange(order + 1, 200_000) * spacing
    with np.errstate(over="ignore"):
        truncated = 2.0 * spacing * found[0](tail).sum()
    periods = 2.0 * np.pi / spacing * np.arange(1, 9)
    y = np.exp(np.abs(away[:, None] + np.outer([1.0], np.concatenate([periods, -periods]))) / 2)
    repeated = sum(
        kernel_matrix(kernel, column[:, None], 1.0 / column[:, None]).diagonal() for column in y.T
    )
    assert (error <= truncated + repeated + 1e-4).all()


@pytest.mark.parametrize("kernel", SAMPLED)
def test_error_falls_with_the_order(kernel: str) -> None:
    """Where one value is up to a hundred times the other."""
    worst = []
    for order in (1, 3, 8, 20):
        away, error, _ = deviations(kernel, order)
        worst.append(error[away < np.log(100.0)].max())
    assert worst == sorted(worst, reverse=True)
    assert worst[-1] < {"intersection": 0.03}.get(kernel, 1e-5)


@pytest.mark.parametrize("kernel", [*SAMPLED, "hellinger"])
def test_products_are_the_kernel_of_all_fields(kernel: str) -> None:
    X = positive()
    order = 0 if kernel == "hellinger" else 12
    Z = AdditiveMap.of(kernel, 4, order, gamma=0.25).transform(X)
    bound = {"hellinger": 1e-12, "intersection": 0.06}.get(kernel, 1e-3)
    roots = kernel_matrix("hellinger", X, X, 0.25)
    assert (np.abs(Z @ Z.T - kernel_matrix(kernel, X, X, 0.25)) <= bound * roots + 1e-9).all()


@pytest.mark.parametrize("kernel", [*SAMPLED, "hellinger"])
def test_kernels_are_homogeneous_and_meet_at_equal_values(kernel: str) -> None:
    X = positive()
    k = kernel_matrix(kernel, X, X)
    np.testing.assert_allclose(kernel_matrix(kernel, 3.0 * X, 3.0 * X), 3.0 * k, rtol=1e-12)
    np.testing.assert_allclose(k.diagonal(), X.sum(axis=1), rtol=1e-12)


def test_closed_forms_are_those_of_others() -> None:
    X, Y = positive(), positive()[::2]
    np.testing.assert_allclose(kernel_matrix("gaussian", X, Y, 0.3), rbf_kernel(X, Y, 0.3))
    np.testing.assert_allclose(kernel_matrix("laplacian", X, Y, 0.3), laplacian_kernel(X, Y, 0.3))
    # sum (x - y)^2/(x + y) = sum (x + y) - 4 xy/(x + y)
    sums = X.sum(axis=1)[:, None] + Y.sum(axis=1)
    chi = (sums + additive_chi2_kernel(X, Y)) / 2.0
    np.testing.assert_allclose(kernel_matrix("chi-squared", X, Y), chi)
    ones = 1.0 / (1.0 + 0.3 * np.square(X[:, None] - Y))
    np.testing.assert_allclose(kernel_matrix("cauchy", X, Y, 0.3), ones.prod(axis=2))
    np.testing.assert_allclose(kernel_matrix("linear", X, Y), X @ Y.T)


def test_dimensions_by_rule_and_by_wish() -> None:
    names = list("abcd")
    assert make_map("hellinger", names, 4, gamma=1.0).dimension == 4
    assert make_map("chi-squared", names, 30, gamma=1.0).dimension == 28
    with pytest.raises(ConfigurationError, match="allowed: >= 12, three of each field"):
        make_map("intersection", names, 11, gamma=1.0)
    with pytest.raises(ConfigurationError, match="not additive: kernel='gaussian'"):
        AdditiveMap.of("gaussian", 2, 3, gamma=1.0)
    with pytest.raises(ConfigurationError, match="unknown kernel: kernel='cubic'"):
        kernel_matrix("cubic", positive(), positive())


def test_a_restricted_map_keeps_whole_fields() -> None:
    X = positive()
    whole = AdditiveMap.of("chi-squared", 4, 2, gamma=1.0)
    part = whole.restrict(np.array([1, 2, 17]))
    assert part.fields.tolist() == [0, 3]
    columns = [*range(5), *range(15, 20)]
    assert part.columns.tolist() == columns
    assert (part.transform(X[:, [0, 3]]) == whole.transform(X)[:, columns]).all()
    assert (LinearMap.of(4).restrict(np.array([1, 3])).transform(X) == X[:, [1, 3]]).all()
