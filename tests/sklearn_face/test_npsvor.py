"""Nonparallel support vector ordinal regression: a general solver's optimum, and bad input."""

import pickle
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from anabranch.errors import ConfigurationError
from anabranch.protocol import Array
from anabranch.sklearn_face import NPSVOR

TIGHT: dict[str, Any] = {"dtype": "float64", "tol": 1e-9, "max_iter": 100_000}
SOLVERS: list[dict[str, Any]] = [
    TIGHT,
    {**TIGHT, "loss": "hinge"},
    {"solver": "tron", "tol": 1e-9},
    {"solver": "tron-cold", "tol": 1e-9},
    {**TIGHT, "solver": "dcd-m"},
    {**TIGHT, "solver": "dcd-m", "loss": "hinge"},
    {**TIGHT, "solver": "dcd-mm"},
    {**TIGHT, "solver": "dcd-mm", "loss": "hinge"},
]
SOLVED_BY_NEWTON = NPSVOR(solver="tron", tol=1e-9)
WEIGHTS = np.random.default_rng(1).uniform(0.2, 2.0, 60)
BY_WEIGHTS = "check_sample_weight_equivalence"


def text_like(n: int = 60, d: int = 25, ranks: int = 4, seed: int = 0) -> tuple[Any, Array]:
    """Sparse rows of length 1 whose ranks follow a linear score."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    score = X @ rng.normal(size=d) + 0.3 * rng.normal(size=n)
    y = 1 + np.searchsorted(np.quantile(score, np.arange(1, ranks) / ranks), score)
    return sparse.csr_matrix(X), y


def optimum(
    X: Any, y: Array, rank: int, *, C1: float, C2: float, squared: bool, weights: Array
) -> float:
    """The least value of the plane's objective, by a general convex solver."""
    rows, near = np.hstack([X.toarray(), np.ones((X.shape[0], 1))]), y == rank
    w = cp.Variable(rows.shape[1])
    inside = cp.pos(cp.abs(rows[near] @ w) - 0.1)
    sides = np.where(y[~near] > rank, 1.0, -1.0)
    outside = cp.pos(1.0 - cp.multiply(sides, rows[~near] @ w))
    losses = [C1 * weights[near] @ (inside**2 if squared else inside)]
    losses.append(C2 * weights[~near] @ (outside**2 if squared else outside))
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + sum(losses)))
    options = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
    return float(problem.solve(solver=cp.CLARABEL, **options))


@parametrize_with_checks([NPSVOR(), SOLVED_BY_NEWTON])
def test_passes_scikit_learns_estimator_checks(estimator: Any, check: Any) -> None:
    if BY_WEIGHTS in check.func.__name__ and estimator.solver == "dcd":
        estimator.set_params(**TIGHT, C=0.1)  # repeated rows are visited in another order
    check(estimator)


COSTS = [(1.0, 1.0), (0.1, 3.0), (20.0, 0.5)]


@pytest.fixture(scope="module")
def best() -> dict[tuple[float, float, bool], list[float]]:
    """The optimum of each plane, for each of the costs and both losses."""
    X, y = text_like()
    return {
        (C1, C2, squared): [
            optimum(X, y, k, C1=C1, C2=C2, squared=squared, weights=WEIGHTS) for k in (1, 2, 3, 4)
        ]
        for C1, C2 in COSTS
        for squared in (True, False)
    }


@pytest.mark.parametrize("options", SOLVERS)
@pytest.mark.parametrize("costs", COSTS)
def test_every_plane_is_the_optimum(
    options: dict[str, Any], costs: tuple[float, float], best: dict[Any, list[float]]
) -> None:
    X, y = text_like()
    model = NPSVOR(C1=costs[0], C2=costs[1], **options).fit(X, y, sample_weight=WEIGHTS)
    expected = best[*costs, model.loss == "squared_hinge"]
    np.testing.assert_allclose(model.objective_, expected, rtol=1e-7)
    assert (np.abs(model.gap_) <= 1e-6).all()


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 1000),
    ranks=st.integers(2, 6),
    C=st.floats(0.01, 10.0),
    loss=st.sampled_from(["squared_hinge", "hinge"]),
)
def test_the_gap_bounds_what_is_missing(seed: int, ranks: int, C: float, loss: str) -> None:
    """Stopped early or not, the dual is below the optimum and the objective above it."""
    X, y = text_like(40, 10, ranks, seed)
    early = NPSVOR(C, loss=loss, dtype="float64", max_iter=2).fit(X, y)
    late = NPSVOR(C, loss=loss, **TIGHT).fit(X, y)
    slack = 1e-8 * late.objective_
    assert (early.dual_objective_ <= late.objective_ + slack).all()
    assert (early.objective_ >= late.dual_objective_ - slack).all()
    assert (late.gap_ <= 1e-6).all()
    assert (late.gap_ >= -1e-12).all()


def test_both_solvers_find_the_same_planes() -> None:
    X, y = text_like(200, 40, 5)
    dual, newton = (NPSVOR(C=2.0, **options).fit(X, y) for options in (SOLVERS[0], SOLVERS[2]))
    np.testing.assert_allclose(dual.coef_, newton.coef_, atol=1e-6)
    np.testing.assert_allclose(dual.intercept_, newton.intercept_, atol=1e-6)


def test_single_precision_is_close() -> None:
    X, y = text_like(300, 40, 5)
    single = NPSVOR(tol=1e-4).fit(X, y)
    double = NPSVOR(**TIGHT).fit(X, y)
    np.testing.assert_allclose(single.coef_, double.coef_, atol=2e-4)
    assert np.abs(single.gap_).max() < 1e-5


def test_dense_and_sparse_rows_are_the_same() -> None:
    X, y = text_like()
    sparse_fit, dense_fit = NPSVOR().fit(X, y), NPSVOR().fit(X.toarray(), y)
    assert np.array_equal(sparse_fit.coef_, dense_fit.coef_)
    assert np.array_equal(sparse_fit.predict(X), dense_fit.predict(X.toarray()))


@pytest.mark.parametrize("ranks", [3, 4, 9, 17, 33])
def test_scores_are_largest_at_the_prediction(ranks: int) -> None:
    """Whatever the number of vector lanes that the planes take."""
    X, y = text_like(300, 20, ranks)
    model = NPSVOR(C=5.0).fit(X, y)
    best = model.classes_[model.decision_function(X).argmax(axis=1)]
    assert np.array_equal(best, model.predict(X))
    assert np.abs(model.predict(X) - y).mean() < np.abs(np.median(y) - y).mean()


def test_labels_may_be_anything_that_sorts() -> None:
    X, y = text_like()
    numbers = NPSVOR().fit(X, y)
    names = NPSVOR().fit(X, np.array(["", "a", "b", "c", "d"])[y])
    assert np.array_equal(np.array(["", "a", "b", "c", "d"])[numbers.predict(X)], names.predict(X))
    assert np.array_equal(NPSVOR().fit(X, 10 * y - 40).predict(X), 10 * numbers.predict(X) - 40)


def test_a_rank_without_rows_keeps_its_plane() -> None:
    X, y = text_like()
    gone = NPSVOR(classes=[1, 2, 3, 4], **TIGHT).fit(X[y != 2], y[y != 2])
    assert gone.coef_.shape[0] == 4
    assert (np.abs(gone.gap_) <= 1e-6).all()
    assert set(gone.predict(X)) <= {1, 2, 3, 4}


def test_one_class_only_is_always_predicted() -> None:
    X, _ = text_like()
    assert set(NPSVOR().fit(X, np.full(60, 3)).predict(X)) == {3}


def test_more_ranks_than_rows() -> None:
    X, y = text_like()
    few = NPSVOR(classes=list(range(100)), **TIGHT).fit(X[:5], y[:5])
    assert few.coef_.shape == (100, 25)
    assert (few.gap_ <= 1e-6).all()


@pytest.mark.parametrize("options", SOLVERS)
def test_rows_of_zeros_and_empty_rows_count_for_the_bias_only(options: dict[str, Any]) -> None:
    """Without a bias they are lost: no plane moves for them, and the gap still closes."""
    X, y = text_like()
    zeros = sparse.csr_matrix(([0.0, 0.0], [3, 7], [0, 2, 2, 2]), shape=(3, 25))
    rows = sparse.vstack([X, zeros]).tocsr()
    labels, weights = np.append(y, [1, 2, 4]), np.ones(63)
    model = NPSVOR(**options).fit(rows, labels)
    squared = model.loss == "squared_hinge"
    best = optimum(rows, labels, 2, C1=1.0, C2=1.0, squared=squared, weights=weights)
    assert model.objective_[1] == pytest.approx(best, rel=1e-7)
    without = NPSVOR(fit_intercept=False, **options).fit(rows, labels)
    assert (np.abs(without.gap_) <= 1e-6).all()
    assert np.allclose(without.coef_, NPSVOR(fit_intercept=False, **options).fit(X, y).coef_)


def test_unsorted_and_duplicate_indices_are_one_row() -> None:
    X = sparse.csr_matrix(([1.0, 2.0, 3.0, 4.0], [2, 0, 2, 1], [0, 3, 4]), shape=(2, 3))
    plain = np.array([[2.0, 0.0, 4.0], [0.0, 4.0, 0.0]])
    before = X.indices.copy()
    assert np.array_equal(NPSVOR().fit(X, [1, 2]).coef_, NPSVOR().fit(plain, [1, 2]).coef_)
    assert np.array_equal(X.indices, before)


@pytest.mark.parametrize("index", [-1, 3, 2**30])
def test_an_index_out_of_range_is_refused(index: int) -> None:
    X = sparse.csr_matrix(([1.0, 2.0], [0, 1], [0, 1, 2]), shape=(2, 3))
    X.indices[1] = index
    with pytest.raises(ValueError, match=f"index {index}; allowed: 0 to 2"):
        NPSVOR().fit(X, [1, 2])


def test_too_many_columns_are_refused() -> None:
    X = sparse.csr_matrix(([1.0], [2**31 + 5], [0, 1, 1]), shape=(2, 2**31 + 7))
    with pytest.raises(ValueError, match=r"columns; allowed: up to 2\*\*31"):
        NPSVOR().fit(X, [1, 2])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(bad: float) -> None:
    X, y = text_like()
    X.data[3] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        NPSVOR().fit(X, y)


def test_labels_that_are_no_classes_are_refused() -> None:
    X, y = text_like()
    with pytest.raises(ValueError, match="NaN"):
        NPSVOR().fit(X, np.where(y == 1, np.nan, y))
    with pytest.raises(ValueError, match="continuous"):
        NPSVOR().fit(X, y + 0.5)
    with pytest.raises(ValueError, match=r"label 4; allowed: \[1, 2, 3\]"):
        NPSVOR(classes=[1, 2, 3]).fit(X, y)


def test_negative_weights_are_refused() -> None:
    X, y = text_like()
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        NPSVOR().fit(X, y, sample_weight=np.where(y == 1, -1.0, 1.0))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"C": 0.0}, "C = 0.0 is out of range; allowed: above 0"),
        ({"C": "1"}, "C = '1' is out of range; allowed: above 0"),
        ({"C1": -1.0}, "C1 = -1.0"),
        ({"C2": np.nan}, "C2 = nan"),
        ({"tol": 0.0}, "tol = 0.0"),
        ({"epsilon": -0.1}, "epsilon = -0.1"),
        ({"max_iter": 0}, "max_iter=0; allowed: whole, >= 1"),
        ({"loss": "square"}, "loss = 'square' is unknown; allowed: squared_hinge, hinge"),
        ({"solver": "newton"}, "solver = 'newton'"),
        ({"dtype": "float16"}, "dtype = 'float16'"),
        ({"solver": "tron", "loss": "hinge"}, "solver = 'tron' needs"),
        ({"solver": "tron-cold", "loss": "hinge"}, "allowed with loss = 'hinge': dcd, dcd-m, dcd"),
        ({"trace": 1}, "not a truth: trace=1; allowed: true, false"),
    ],
)
def test_settings_out_of_range_are_named(options: dict[str, Any], words: str) -> None:
    X, y = text_like()
    with pytest.raises(ConfigurationError) as caught:
        NPSVOR(**options).fit(X, y)
    assert words in str(caught.value)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_a_warm_start_arrives_where_a_cold_one_does(loss: str) -> None:
    """Also for another C, whose bounds the old dual variables may exceed, and other labels."""
    X, y = text_like(300, 60, 4)
    for C, labels in ((0.5, y), (0.5, y[::-1].copy())):
        warm = NPSVOR(C=1.0, warm_start=True, loss=loss, **TIGHT).fit(X, y)
        cold = NPSVOR(C=C, loss=loss, **TIGHT).fit(X, labels)
        again = warm.set_params(C=C).fit(X, labels)
        np.testing.assert_allclose(again.objective_, cold.objective_, rtol=1e-7)


def test_a_warm_start_is_sooner_there() -> None:
    X, y = text_like(300, 60, 4)
    warm = NPSVOR(warm_start=True, **TIGHT).fit(X, y)
    cold = NPSVOR(C=1.1, **TIGHT).fit(X, y)
    assert warm.set_params(C=1.1).fit(X, y).n_iter_ < cold.n_iter_
    assert warm.fit(X, y).n_iter_ == 1


def test_a_fitted_model_survives_pickling_and_no_data_is_in_it() -> None:
    X, y = text_like()
    model = NPSVOR().fit(X, y)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert max(np.size(value) for value in vars(model).values()) == model.coef_.size
