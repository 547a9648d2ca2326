"""What the solvers of NPSVOR tell: passes, objectives over time; where they begin; what leaves."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from anabranch.kernels.npsvor import shuffle
from anabranch.learners.npsvor_shrink import RULES
from anabranch.sklearn_face import NPSVOR
from tests.sklearn_face.test_npsvor import TIGHT, optimum, text_like

ALL = ("dcd", "dcd-m", "dcd-mm", "tron", "tron-cold")


@pytest.mark.parametrize("solver", ALL)
def test_a_trace_falls_from_the_objective_at_zero_to_the_one_found(solver: str) -> None:
    X, y = text_like(200, 40, 4)
    model = NPSVOR(solver=solver, tol=1e-4, dtype="float64", trace=True).fit(X, y)
    seconds, objectives = np.array(model.trace_).T
    assert objectives[0] == sum((y != rank).sum() for rank in range(1, 5))
    assert objectives[-1] == pytest.approx(model.objective_.sum(), rel=1e-12)
    assert objectives[-1] < objectives[0]
    assert (np.diff(seconds) >= 0.0).all()
    assert len(model.trace_) == model.n_iter_ + 1
    np.testing.assert_allclose(model.trace_planes_.sum(axis=1), objectives)
    np.testing.assert_allclose(model.trace_planes_[-1], model.objective_, rtol=1e-12)


@pytest.mark.parametrize("solver", ALL)
def test_a_trace_changes_nothing(solver: str) -> None:
    X, y = text_like(100, 30, 3)
    told, quiet = (NPSVOR(solver=solver, trace=trace).fit(X, y) for trace in (True, False))
    assert np.array_equal(told.coef_, quiet.coef_)
    assert not hasattr(quiet, "trace_")


def test_newton_steps_never_climb() -> None:
    X, y = text_like(200, 40, 4)
    model = NPSVOR(solver="tron", tol=1e-8, trace=True).fit(X, y)
    changes = np.diff(model.trace_planes_, axis=0)
    # Planes that follow begin where the one before ended, which may be worse than at 0.
    assert (changes[: np.flatnonzero(changes[:, 1])[0], 0] <= 1e-9).all()


@pytest.mark.parametrize(
    ("n", "d", "seed"), [(2, 5, 1), (3, 1, 0), (4, 2, 0), (4, 5, 1), (6, 5, 0)]
)
def test_newton_comes_to_an_end_on_few_rows_that_can_be_told_apart(
    n: int, d: int, seed: int
) -> None:
    """All rows end on their kinks, which steps would cross for ever; the gap proves the optimum."""
    rng = np.random.default_rng(seed)
    X = sparse.csr_matrix(np.sort(rng.normal(size=(n, d)), axis=0) * 10 ** rng.uniform(-2, 2))
    y = 1 + np.arange(n) * min(n, 3) // n
    for C in (1.0, 1e2, 1e4, 1e6, 1e8):
        model = NPSVOR(C, solver="tron", tol=1e-6).fit(X, y)
        assert model.n_iter_ < 100
        assert (np.abs(model.gap_) <= 1e-6).all()
    options: dict[str, Any] = {"C1": 1e2, "C2": 1e2, "squared": True, "weights": np.ones(n)}
    best = [optimum(X, y, rank, **options) for rank in range(1, y.max() + 1)]
    found = NPSVOR(1e2, solver="tron", tol=1e-6).fit(X, y).objective_
    np.testing.assert_allclose(found, best, rtol=1e-5)


def test_planes_that_follow_begin_where_the_one_before_ended() -> None:
    X, y = text_like(200, 40, 4)
    follow, cold = (
        NPSVOR(solver=solver, tol=1e-6, trace=True).fit(X, y) for solver in ("tron", "tron-cold")
    )
    np.testing.assert_allclose(follow.objective_, cold.objective_, rtol=1e-9)
    first = np.flatnonzero(np.diff(cold.trace_planes_[:, 1]))[0] + 1
    assert np.array_equal(follow.trace_planes_[:first], cold.trace_planes_[:first])
    assert follow.trace_planes_[first, 1] != cold.trace_planes_[first, 1]


@pytest.mark.parametrize("solver", ["tron", "dcd-m", "dcd-mm"])
def test_every_solver_begins_where_the_last_fit_ended(solver: str) -> None:
    X, y = text_like(200, 40, 4)
    tight = {**TIGHT, "tol": 1e-7}
    warm = NPSVOR(solver=solver, warm_start=True, **tight).fit(X, y)
    first = warm.n_iter_
    again = warm.set_params(C=1.05).fit(X, y)
    cold = NPSVOR(1.05, solver=solver, **tight).fit(X, y)
    np.testing.assert_allclose(again.objective_, cold.objective_, rtol=1e-8)
    assert again.n_iter_ < 2 * first


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("solver", ["dcd-m", "dcd-mm"])
def test_rows_that_leave_come_back(solver: str, loss: str) -> None:
    """Shrinking loses nothing, whatever the costs: the gap closes on all rows."""
    X, y = text_like(300, 20, 5)
    for C in (0.01, 2.0):
        model = NPSVOR(C, solver=solver, loss=loss, **{**TIGHT, "tol": 1e-8}).fit(X, y)
        assert (np.abs(model.gap_) <= 1e-6).all()


def test_what_settles_a_plane() -> None:
    """Sums for M, the spread for Mm; a limit of the wrong sign is none."""
    found = np.array([0.3, -0.1, 2.0])
    assert RULES["dcd-m"].settled(found, 20.0, 0.1)
    assert not RULES["dcd-m"].settled(found, 19.0, 0.1)
    assert RULES["dcd-m"].limits(found) == (0.3, -0.3)
    assert RULES["dcd-mm"].settled(found, 0.0, 0.4)
    assert not RULES["dcd-mm"].settled(found, 0.0, 0.39)
    assert RULES["dcd-mm"].limits(found) == (0.3, -0.1)
    assert RULES["dcd-mm"].limits(np.array([-0.1, -0.2, 1.0])) == (np.inf, -0.2)


@pytest.mark.parametrize("solver", ALL)
def test_a_solver_that_stops_early_says_so(solver: str) -> None:
    X, y = text_like(200, 40, 4)
    with pytest.warns(
        ConvergenceWarning, match="before its tolerance: see gap_; raise max_iter"
    ) as told:
        model = NPSVOR(solver=solver, tol=1e-9, max_iter=1).fit(X, y)
    assert model.n_iter_ == (1 if solver == "dcd" else 4)
    assert (model.gap_ > 0.0).all()
    assert told[0].filename == __file__


@pytest.mark.parametrize("solver", ALL)
def test_a_row_of_weight_zero_is_not_there(solver: str) -> None:
    X, y = text_like()
    weights = (np.arange(60) % 3 > 0).astype(float)
    options: dict[str, Any] = {**TIGHT, "solver": solver, "tol": 1e-8}
    with_zeros = NPSVOR(**options).fit(X, y, sample_weight=weights)
    without = NPSVOR(**options).fit(X[weights > 0.0], y[weights > 0.0])
    np.testing.assert_allclose(with_zeros.objective_, without.objective_, rtol=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_row_that_hardly_counts_is_as_good_as_gone(dtype: Any) -> None:
    X, y = text_like()
    weights = np.where(np.arange(60) < 3, 1e-42, 1.0)
    hardly = NPSVOR(tol=1e-4, dtype=dtype).fit(X, y, sample_weight=weights)
    gone = NPSVOR(tol=1e-4, dtype=dtype).fit(X[3:], y[3:])
    np.testing.assert_allclose(hardly.objective_, gone.objective_, rtol=1e-5)


def test_single_precision_is_close_to_the_optimum() -> None:
    X, y = text_like(300, 40, 5)
    for loss in ("squared_hinge", "hinge"):
        single = NPSVOR(loss=loss, tol=1e-4, max_iter=5000).fit(X, y)
        double = NPSVOR(loss=loss, **TIGHT).fit(X, y)
        assert single.coef_.dtype == np.float32
        np.testing.assert_allclose(single.objective_, double.objective_, rtol=2e-5)


def test_an_order_is_a_permutation_and_any_row_may_come_first() -> None:
    firsts = set()
    for key in range(200):
        order = np.arange(7)
        shuffle(order, np.uint64(key))
        assert sorted(order.tolist()) == list(range(7))
        firsts.add(int(order[0]))
    assert firsts == set(range(7))


@pytest.mark.parametrize("ranks", [2, 5, 20])
def test_short_and_long_rows_are_the_same_to_all_solvers(ranks: int) -> None:
    """Rows of no, one and many nonzeros, at the beginning and the end of the memory."""
    rng = np.random.default_rng(ranks)
    dense = np.where(np.arange(30) < rng.integers(0, 31, (90, 1)), rng.normal(size=(90, 30)), 0.0)
    dense[[0, -1]] = 0.0
    y = np.arange(90) % ranks
    fused = NPSVOR(**TIGHT).fit(sparse.csr_matrix(dense), y)
    newton = NPSVOR(solver="tron", tol=1e-10).fit(dense, y)
    np.testing.assert_allclose(fused.coef_, newton.coef_, atol=1e-6)
