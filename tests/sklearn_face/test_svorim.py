"""SVORIM and SVOREX: a general solver's optimum, the gap, scikit-learn's kernels, bad input."""

from contextlib import nullcontext
from pathlib import Path
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
from anabranch.learners import svor_descent
from anabranch.learners.kernel_rows import KERNELS
from anabranch.protocol import Array
from anabranch.sklearn_face import NPSVOR, SVOREX, SVORIM, RedSVM
from anabranch.synthetic import nonlinear

MATRICES: dict[str, Any] = {
    "linear": lambda X, Z: X @ Z.T,
    "gaussian": lambda X, Z: rbf_kernel(X, Z, gamma=0.5),
    "laplacian": lambda X, Z: laplacian_kernel(X, Z, gamma=0.5),
    "polynomial": lambda X, Z: polynomial_kernel(X, Z, degree=2, gamma=0.5, coef0=1.0),
}
both = pytest.mark.parametrize("kind", [SVORIM, SVOREX])


def model(kind: Any = SVORIM, kernel: str = "gaussian", **options: Any) -> Any:
    shape = {"degree": 2, "coef0": 1.0} if kernel == "polynomial" else {}
    return kind(kernel=kernel, **{"gamma": 0.5, "tol": 1e-9, **shape, **options})


def rows(n: int = 60, seed: int = 0) -> tuple[Array, Array]:
    X, y = nonlinear(seed=seed).block(0, n)
    return X, y.astype(np.int64)


def optimum(kind: Any, K: Array, y: Array, caps: Array) -> float:
    """The least value of the problem, over f = K beta and thresholds, by a convex solver."""
    root = np.linalg.cholesky(K + 1e-11 * np.eye(len(K)))
    u, b = cp.Variable(len(K)), cp.Variable(3)
    losses = []
    for j in range(3):
        sides = np.where(y > j + 1, 1.0, -1.0)
        near = caps if kind is SVORIM else caps * ((y == j + 1) | (y == j + 2))
        losses.append(near @ cp.pos(1.0 - cp.multiply(sides, root @ u - b[j])))
    order = [] if kind is SVORIM else [cp.diff(b) >= 0.0]
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(u) + sum(losses)), order)
    options = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}
    return float(problem.solve(solver=cp.CLARABEL, **options))


@parametrize_with_checks([SVORIM(), SVORIM(kernel="precomputed"), SVOREX()])
def test_svorim_passes_scikit_learns_estimator_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@both
@pytest.mark.parametrize("kernel", list(MATRICES))
@pytest.mark.parametrize("C", [0.05, 1.0, 30.0])
def test_it_is_the_optimum(kind: Any, kernel: str, C: float) -> None:
    X, y = rows()
    weights = np.random.default_rng(0).uniform(0.3, 2.0, len(y))
    found = model(kind, kernel, C=C).fit(X, y, sample_weight=weights)
    best = optimum(kind, MATRICES[kernel](X, X), y, C * weights)
    assert found.objective_ == pytest.approx(best, rel=2e-6)
    assert -1e-9 <= found.gap_ <= 1e-6


def test_explicit_order_of_thresholds_binds_where_ranks_do_not_follow_the_rows() -> None:
    rng, ties = np.random.default_rng(3), 0
    for _ in range(6):
        X, y = rng.normal(size=(40, 2)), rng.integers(1, 5, 40)
        found = model(SVOREX, "linear", C=2.0).fit(X, y)
        best = optimum(SVOREX, X @ X.T, y, np.full(40, 2.0))
        assert found.objective_ == pytest.approx(best, rel=1e-6)
        assert -1e-9 <= found.gap_ <= 1e-6
        assert np.diff(found.thresholds_).min() >= 0.0
        ties += (np.diff(found.thresholds_) == 0.0).any()
    assert ties > 1


@settings(deadline=None, max_examples=25)
@given(
    kind=st.sampled_from([SVORIM, SVOREX]),
    seed=st.integers(0, 1000),
    n=st.integers(4, 80),
    C=st.floats(0.01, 50.0),
    kernel=st.sampled_from(["gaussian", "laplacian", "linear"]),
    ordered=st.booleans(),
    room=st.sampled_from([1e-6, 200.0]),
    working=st.sampled_from([8, 32, 128]),
)
def test_it_certifies_itself(
    kind: Any, seed: int, n: int, C: float, kernel: str, ordered: bool, room: float, working: int
) -> None:
    """Whatever the room for rows, however few are worked on, and however early it was stopped."""
    X, y = rows(n, seed)
    y = y if ordered else np.random.default_rng(seed).permutation(y)
    y[:2] = 1, 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(svor_descent, "_WORKING", working)
        late = model(kind, kernel, C=C, cache_size=room).fit(X, y)
        with pytest.warns(ConvergenceWarning) if late.n_iter_ > 3 else nullcontext():
            early = model(kind, kernel, C=C, cache_size=room, max_iter=3).fit(X, y)
    assert -1e-9 <= late.gap_ <= 1e-6
    slack = 1e-7 * late.objective_
    assert early.dual_objective_ <= late.objective_ + slack
    assert early.objective_ >= late.dual_objective_ - slack
    assert (np.diff(late.thresholds_) >= 0.0).all()
    assert (np.abs(late.dual_coef_) <= 3.0 * C * (1.0 + 1e-9)).all()


@both
@pytest.mark.parametrize("kernel", list(MATRICES))
def test_kernels_are_those_of_their_matrices(kind: Any, kernel: str) -> None:
    (X, y), (Z, _) = rows(200), rows(50, seed=9)
    own, given = model(kind, kernel).fit(X, y), model(kind, "precomputed")
    matrix = MATRICES[kernel]
    given.fit(matrix(X, X), y)
    np.testing.assert_allclose(own.objective_, given.objective_, rtol=1e-9)
    assert np.array_equal(own.predict(Z), given.predict(matrix(Z, X)))
    np.testing.assert_allclose(
        own.decision_function(Z), given.decision_function(matrix(Z, X)), atol=1e-5
    )


@both
def test_two_ranks_are_a_support_vector_machine(kind: Any) -> None:
    """Whose rows of the kernel are single precision."""
    X, y = rows(300)
    ours = model(kind, C=2.0).fit(X, y > 2)
    theirs = SVC(C=2.0, gamma=0.5, tol=1e-9).fit(X, y > 2)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)


@both
def test_single_precision_of_rows_is_within_the_tolerance(kind: Any) -> None:
    X, y = rows(600)
    loose, tight = (model(kind, C=5.0, tol=tol).fit(X, y) for tol in (1e-3, 1e-8))
    np.testing.assert_allclose(loose.objective_, tight.objective_, rtol=1e-4)
    assert abs(tight.gap_) < 1e-8
    assert abs(loose.gap_) < 1e-3


@both
def test_shrinking_changes_nothing_but_the_way(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows(1000)
    worth, real = [], svor_descent.Descent._left_out

    def left_out(*given: Any) -> bool:
        worth.append(real(*given))
        return worth[-1]

    monkeypatch.setattr(svor_descent, "_SHORTEST", 4)
    monkeypatch.setattr(svor_descent.Descent, "_left_out", left_out)
    shrunk, whole = (model(kind, C=20.0, shrinking=flag).fit(X, y) for flag in (True, False))
    assert any(worth)
    np.testing.assert_allclose(shrunk.objective_, whole.objective_, rtol=1e-9)
    np.testing.assert_allclose(shrunk.thresholds_, whole.thresholds_, atol=1e-6)


@both
@pytest.mark.parametrize("tol", [1e-12, 1e-300])
def test_a_tolerance_below_rounding_ends(kind: Any, tol: float) -> None:
    X, y = rows(200)
    assert model(kind, tol=tol).fit(X, y).gap_ <= 1e-9
    for seed in range(5):  # unordered ranks, whose variables meet their bounds by rounding
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 4)), rng.integers(0, 3, 60)
        assert kind(tol=tol).fit(X, y).gap_ <= 1e-9


@pytest.mark.parametrize("kind", [NPSVOR, RedSVM, SVORIM, SVOREX])
def test_given_classes_keep_their_order(kind: Any) -> None:
    """Also where their names sort otherwise; a row too long is refused, an early end told."""
    X = np.linspace(-3.0, 3.0, 90)[:, None]
    y = np.array(["low", "mid", "high"])[np.digitize(X[:, 0], [-1.0, 1.0])]
    found = kind(C=10.0, classes=["low", "mid", "high"]).fit(X, y)
    assert found.classes_.tolist() == ["low", "mid", "high"]
    assert (found.predict(X) == y).all()
    with pytest.raises(ConfigurationError, match="names a label twice"):
        kind(classes=["low", "low"]).fit(X, y)
    linear = {"kernel": "linear"} if kind in (SVORIM, SVOREX) else {}
    with pytest.raises(ValueError, match="scale X"), np.errstate(all="ignore"):
        kind(**linear).fit(1e200 * X, y)
    with pytest.warns(ConvergenceWarning, match=f"{kind.__name__} .*raise max_iter, or scale X"):
        kind(max_iter=1, tol=1e-9).fit(X, y)


@both
def test_ranks_without_rows(kind: Any) -> None:
    """A rank missing amid has a threshold of no width; one missing at an end is never predicted."""
    X, y = rows(200)
    amid = model(kind, classes=[1, 2, 3, 4]).fit(X[y != 2], y[y != 2])
    np.testing.assert_allclose(amid.thresholds_[0], amid.thresholds_[1], atol=1e-6)
    assert set(amid.predict(X)) <= {1, 3, 4}
    end = model(kind, classes=[1, 2, 3, 4, 5]).fit(X, y)
    scores = end.decision_function(X)
    assert end.thresholds_[3] >= end.thresholds_[2]
    assert 5 not in end.predict(X)
    assert scores.shape == (200, 5)
    for only in (1, 2):
        lone = model(kind, classes=[1, 2]).fit(X, np.full(200, only))
        assert set(lone.predict(X)) == {only}
        assert lone.objective_ == lone.dual_objective_ == 0.0


@both
def test_repeated_and_constant_rows(kind: Any) -> None:
    X, y = np.zeros((30, 2)), np.repeat([1, 2, 3], 10)
    assert model(kind).fit(X, y).gap_ == pytest.approx(0.0, abs=1e-9)


@both
def test_a_weight_of_two_is_a_row_twice_and_of_none_no_row(kind: Any) -> None:
    X, y = rows(60)
    weights = np.arange(60) % 3
    weighted = model(kind).fit(X, y, sample_weight=weights)
    repeated = model(kind).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-8)
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-6
    )
    assert not set(weighted.support_) & set(np.flatnonzero(weights == 0))


@both
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"C": 0.0}, "C = 0.0 is out of range; allowed: above 0"),
        ({"gamma": -1.0}, "gamma = -1.0"),
        ({"gamma": "wide"}, "gamma = 'wide' is unknown; allowed: auto, scale"),
        ({"kernel": "rbf"}, f"kernel = 'rbf' is unknown; allowed: {', '.join(KERNELS)}"),
        ({"cache_size": 0.0}, "cache_size = 0.0"),
        ({"coef0": np.inf}, "coef0 = inf; allowed: finite"),
        ({"shrinking": 1}, "shrinking=1; allowed: true, false"),
        ({"max_iter": 1.5}, "max_iter=1.5; allowed: whole"),
    ],
)
def test_a_bad_setting_is_named(kind: Any, options: dict[str, Any], words: str) -> None:
    X, y = rows()
    with pytest.raises(ConfigurationError) as caught:
        kind(**options).fit(X, y)
    assert words in str(caught.value)


@both
def test_bad_data_is_named(kind: Any) -> None:
    X, y = rows()
    with pytest.raises(ValueError, match=r"shape \(60, 2\); allowed for a precomputed kernel"):
        kind(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match=r"y has one class, .*; allowed: two or more"):
        kind().fit(X, np.ones(60))
    with pytest.raises(ValueError, match=r"has the label 4; allowed: \[1, 2, 3\]"):
        kind(classes=[1, 2, 3]).fit(X, y)
    with pytest.raises(ValueError, match="at least one non-zero"):
        kind().fit(X, y, sample_weight=np.zeros(60))
    with pytest.raises(ValueError, match="Negative values"):
        kind().fit(X, y, sample_weight=np.full(60, -1.0))
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        kind().fit(X, y)


KNOWN = {
    "toy": 0.072, "tae": 0.500, "contact-lenses": 0.467, "newthyroid": 0.073, "pyrim10": 1.512,
    "balance-scale": 0.045, "ESL": 0.350, "SWD": 0.428, "ERA": 1.321, "eucalyptus": 0.385,
    "winequality-red": 0.414,
}  # fmt: skip
"""Mean absolute error of the first ten splits (papers/dsvor.md)."""


def error_of(folder: Path, name: str) -> float:
    data = np.loadtxt(folder / f"{name}.csv", delimiter=",", skiprows=1)
    X, y, errors = data[:, :-1], data[:, -1].astype(int), []
    lines = (folder / f"{name}.splits.csv").read_text().split()
    for line in lines[:10]:
        test = np.zeros(len(y), bool)
        test[[int(i) for i in line.split(",")]] = True
        mean, scale = X[~test].mean(0), X[~test].std(0)
        Z = (X - mean) / np.where(scale > 0.0, scale, 1.0)
        found = SVORIM(1000.0 / (~test).sum(), classes=range(1, y.max() + 1))
        errors.append(np.abs(found.fit(Z[~test], y[~test]).predict(Z[test]) - y[test]).mean())
    return float(np.mean(errors))


def test_the_known_errors_on_ordinal_sets(shared: Path) -> None:
    """But for a few rows that lie on a threshold, within the tolerance."""
    for name, known in KNOWN.items():
        assert error_of(shared / "data/ordinal", name) == pytest.approx(known, abs=0.003), name
