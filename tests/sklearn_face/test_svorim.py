"""SVORIM: a general solver's optimum, the gap, kernels against scikit-learn's, bad input."""

from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from anabranch.errors import ConfigurationError
from anabranch.kernels.kernel_rows import KERNELS
from anabranch.protocol import Array
from anabranch.sklearn_face import NPSVOR, SVORIM, RedSVM
from anabranch.synthetic import nonlinear

MATRICES: dict[str, Any] = {
    "linear": lambda X, Z: X @ Z.T,
    "gaussian": lambda X, Z: rbf_kernel(X, Z, gamma=0.5),
    "laplacian": lambda X, Z: laplacian_kernel(X, Z, gamma=0.5),
    "polynomial": lambda X, Z: polynomial_kernel(X, Z, degree=2, gamma=0.5, coef0=1.0),
}


def model(kernel: str = "gaussian", **options: Any) -> SVORIM:
    shape = {"degree": 2, "coef0": 1.0} if kernel == "polynomial" else {}
    return SVORIM(kernel=kernel, **{"gamma": 0.5, "tol": 1e-9, **shape, **options})


def rows(n: int = 60, seed: int = 0) -> tuple[Array, Array]:
    X, y = nonlinear(seed=seed).block(0, n)
    return X, y.astype(np.int64)


def optimum(K: Array, y: Array, caps: Array) -> float:
    """The least value of the problem, over f = K beta and thresholds, by a convex solver."""
    root = np.linalg.cholesky(K + 1e-11 * np.eye(len(K)))
    u, b = cp.Variable(len(K)), cp.Variable(3)
    losses = []
    for j in range(3):
        sides = np.where(y > j + 1, 1.0, -1.0)
        losses.append(caps @ cp.pos(1.0 - cp.multiply(sides, root @ u - b[j])))
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(u) + sum(losses)))
    options = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}
    return float(problem.solve(solver=cp.CLARABEL, **options))


@parametrize_with_checks([SVORIM(), SVORIM(kernel="precomputed")])
def test_svorim_passes_scikit_learns_estimator_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("kernel", list(MATRICES))
@pytest.mark.parametrize("C", [0.05, 1.0, 30.0])
def test_svorim_is_the_optimum(kernel: str, C: float) -> None:
    X, y = rows()
    weights = np.random.default_rng(0).uniform(0.3, 2.0, len(y))
    found = model(kernel, C=C).fit(X, y, sample_weight=weights)
    best = optimum(MATRICES[kernel](X, X), y, C * weights)
    assert found.objective_ == pytest.approx(best, rel=2e-6)
    assert -1e-9 <= found.gap_ <= 1e-6


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(2, 80),
    C=st.floats(0.01, 50.0),
    kernel=st.sampled_from(["gaussian", "laplacian", "linear"]),
    room=st.sampled_from([1e-6, 0.01, 200.0]),
)
def test_svorim_certifies_itself(seed: int, n: int, C: float, kernel: str, room: float) -> None:
    """Whatever the room for rows, and however early it was stopped."""
    X, y = rows(n, seed)
    late = model(kernel, C=C, cache_size=room).fit(X, y)
    early = model(kernel, C=C, cache_size=room, max_iter=5).fit(X, y)
    assert -1e-9 <= late.gap_ <= 1e-6
    slack = 1e-7 * late.objective_
    assert early.dual_objective_ <= late.objective_ + slack
    assert early.objective_ >= late.dual_objective_ - slack
    assert (np.diff(late.thresholds_) >= 0.0).all()


@pytest.mark.parametrize("kernel", list(MATRICES))
def test_kernels_are_those_of_their_matrices(kernel: str) -> None:
    (X, y), (Z, _) = rows(200), rows(50, seed=9)
    own, given = model(kernel).fit(X, y), model("precomputed")
    matrix = MATRICES[kernel]
    given.fit(matrix(X, X), y)
    np.testing.assert_allclose(own.objective_, given.objective_, rtol=1e-9)
    assert np.array_equal(own.predict(Z), given.predict(matrix(Z, X)))
    np.testing.assert_allclose(
        own.decision_function(Z), given.decision_function(matrix(Z, X)), atol=1e-5
    )


def test_two_ranks_are_a_support_vector_machine() -> None:
    """Whose rows of the kernel are single precision."""
    X, y = rows(300)
    ours = model(C=2.0).fit(X, y > 2)
    theirs = SVC(C=2.0, gamma=0.5, tol=1e-9).fit(X, y > 2)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)


def test_shrinking_changes_nothing_but_the_way() -> None:
    X, y = rows(1500)
    shrunk, whole = (model(C=20.0, shrinking=flag).fit(X, y) for flag in (True, False))
    assert shrunk.n_iter_ > 1000
    np.testing.assert_allclose(shrunk.objective_, whole.objective_, rtol=1e-9)
    np.testing.assert_allclose(shrunk.thresholds_, whole.thresholds_, atol=1e-6)


@pytest.mark.parametrize("tol", [1e-12, 1e-300])
def test_a_tolerance_below_rounding_ends(tol: float) -> None:
    X, y = rows(200)
    assert model(tol=tol).fit(X, y).gap_ <= 1e-9
    for seed in range(5):  # unordered ranks, whose variables meet their bounds by rounding
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 4)), rng.integers(0, 3, 60)
        assert SVORIM(tol=tol).fit(X, y).gap_ <= 1e-9


@pytest.mark.parametrize("kind", [NPSVOR, RedSVM, SVORIM])
def test_given_classes_keep_their_order(kind: Any) -> None:
    """Also where their names sort otherwise; a row too long is refused, an early end told."""
    X = np.linspace(-3.0, 3.0, 90)[:, None]
    y = np.array(["low", "mid", "high"])[np.digitize(X[:, 0], [-1.0, 1.0])]
    found = kind(C=10.0, classes=["low", "mid", "high"]).fit(X, y)
    assert found.classes_.tolist() == ["low", "mid", "high"]
    assert (found.predict(X) == y).all()
    with pytest.raises(ConfigurationError, match="names a label twice"):
        kind(classes=["low", "low"]).fit(X, y)
    with pytest.raises(ValueError, match="scale X"), np.errstate(all="ignore"):
        kind(kernel="linear").fit(1e200 * X, y) if kind is SVORIM else kind().fit(1e200 * X, y)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        kind(max_iter=1, tol=1e-9).fit(X, y)


def test_ranks_without_rows() -> None:
    """A rank missing amid has a threshold of no width; one missing at an end is never predicted."""
    X, y = rows(200)
    amid = model(classes=[1, 2, 3, 4]).fit(X[y != 2], y[y != 2])
    np.testing.assert_allclose(amid.thresholds_[0], amid.thresholds_[1], atol=1e-6)
    assert set(amid.predict(X)) <= {1, 3, 4}
    end = model(classes=[1, 2, 3, 4, 5]).fit(X, y)
    scores = end.decision_function(X)
    assert end.thresholds_[3] >= end.thresholds_[2]
    assert 5 not in end.predict(X)
    assert scores.shape == (200, 5)
    assert set(model(classes=[1, 2]).fit(X, np.ones(200)).predict(X)) == {1}


def test_repeated_and_constant_rows() -> None:
    X, y = np.zeros((30, 2)), np.repeat([1, 2, 3], 10)
    found = model().fit(X, y)
    assert found.gap_ == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"C": 0.0}, "C = 0.0 is out of range; allowed: above 0"),
        ({"gamma": -1.0}, "gamma = -1.0"),
        ({"gamma": "wide"}, "gamma = 'wide' is unknown; allowed: auto, scale"),
        ({"kernel": "rbf"}, f"kernel = 'rbf' is unknown; allowed: {', '.join(KERNELS)}"),
        ({"cache_size": 0.0}, "cache_size = 0.0"),
    ],
)
def test_svorim_names_a_bad_setting(options: dict[str, Any], words: str) -> None:
    X, y = rows()
    with pytest.raises(ConfigurationError) as caught:
        SVORIM(**options).fit(X, y)
    assert words in str(caught.value)


def test_a_precomputed_kernel_is_square() -> None:
    X, y = rows()
    with pytest.raises(ValueError, match=r"shape \(60, 2\); allowed for a precomputed kernel"):
        SVORIM(kernel="precomputed").fit(X, y)
