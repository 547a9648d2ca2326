"""Linear RedSVM: a general solver's optimum, the gap, and scikit-learn's own checks."""

from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from anabranch.errors import ConfigurationError
from anabranch.sklearn_face import RedSVM
from tests.sklearn_face.test_npsvor import BY_WEIGHTS, TIGHT, text_like


@parametrize_with_checks([RedSVM()])
def test_red_svm_passes_scikit_learns_estimator_checks(estimator: Any, check: Any) -> None:
    if BY_WEIGHTS in check.func.__name__:
        estimator.set_params(**TIGHT, C=0.1)  # repeated rows are visited in another order
    check(estimator)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_red_svm_is_the_optimum_of_the_extended_problem(loss: str, C: float) -> None:
    X, y = text_like()
    weights = np.random.default_rng(2).uniform(0.2, 2.0, len(y))
    model = RedSVM(C, loss=loss, **TIGHT).fit(X, y, sample_weight=weights)
    w, b = cp.Variable((25, 1)), cp.Variable((1, 3))
    margins = X.toarray() @ w @ np.ones((1, 3)) + np.ones((60, 1)) @ b
    sides = np.where(y[:, None] > np.array([1, 2, 3]), 1.0, -1.0)
    excess = cp.pos(1.0 - cp.multiply(sides, margins))
    losses = cp.sum(cp.multiply(weights[:, None], excess if loss == "hinge" else excess**2))
    size = 0.5 * (cp.sum_squares(w) + cp.sum_squares(b))
    best = cp.Problem(cp.Minimize(size + C * losses)).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10
    )
    assert model.objective_ == pytest.approx(best, rel=1e-7)
    assert 0.0 <= model.gap_ + 1e-12 <= 1e-6


def test_red_svm_predicts_ordered_ranks() -> None:
    X, y = text_like(300, 20, 6)
    model = RedSVM(10.0).fit(X, y)
    assert (np.diff(model.intercept_) < 0.0).all()
    best = model.classes_[model.decision_function(X).argmax(axis=1)]
    assert np.array_equal(best, model.predict(X))
    assert np.abs(model.predict(X) - y).mean() < 0.5 * np.abs(np.median(y) - y).mean()


def test_red_svm_of_one_class_and_of_empty_rows() -> None:
    X, y = text_like()
    assert set(RedSVM().fit(X, np.full(60, 3)).predict(X)) == {3}
    rows = sparse.vstack([X, sparse.csr_matrix((2, 25))]).tocsr()
    model = RedSVM(**TIGHT).fit(rows, np.append(y, [1, 4]))
    assert abs(model.gap_) <= 1e-6


def test_red_svm_names_a_bad_setting() -> None:
    X, y = text_like()
    with pytest.raises(ConfigurationError, match="C = 0 is out of range; allowed: above 0"):
        RedSVM(0).fit(X, y)
    with pytest.raises(ConfigurationError, match="loss = 'square' is unknown"):
        RedSVM(loss="square").fit(X, y)
