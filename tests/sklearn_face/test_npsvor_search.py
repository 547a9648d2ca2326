"""The search of a cost: what a plain loop gives, whatever the threads."""

from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from anabranch.errors import ConfigurationError
from anabranch.sklearn_face import NPSVOR, NPSVORCV, RedSVM
from tests.sklearn_face.test_npsvor import BY_WEIGHTS, TIGHT, text_like

CS = (0.1, 1.0, (1.0, 4.0))
FAILS = {
    f"{BY_WEIGHTS}_on_{kind}_data": "a repeated row may be in two folds, a weighted one is in one"
    for kind in ("dense", "sparse")
}


@parametrize_with_checks([NPSVORCV(Cs=(1.0,), cv=2)], expected_failed_checks=lambda _: FAILS)
def test_the_search_passes_scikit_learns_estimator_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_search_is_a_plain_loop_over_folds_and_costs() -> None:
    X, y = text_like(200, 40, 4)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, len(y))
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    errors = np.empty((3, 3))
    for fold, (kept, held) in enumerate(folds.split(X, y)):
        for place, cost in enumerate(CS):
            C1, C2 = cost if isinstance(cost, tuple) else (cost, cost)
            one = NPSVOR(C1=C1, C2=C2).fit(X[kept], y[kept], weights[kept])
            missed = np.abs(one.predict(X[held]) - y[held])
            errors[place, fold] = np.average(missed, weights=weights[held])
    for threads in (1, 3):
        search = NPSVORCV(Cs=CS, cv=3, threads=threads).fit(X, y, weights)
        np.testing.assert_allclose(search.errors_, errors, rtol=1e-12)
        assert CS[int(errors.mean(axis=1).argmin())] == search.C_
    pair = search.C_ if isinstance(search.C_, tuple) else (search.C_, search.C_)
    whole = NPSVOR(C1=pair[0], C2=pair[1]).fit(X, y, weights)
    assert np.array_equal(search.coef_, whole.coef_)
    assert np.array_equal(search.predict(X), whole.predict(X))


def test_a_path_is_the_same_within_the_tolerance() -> None:
    X, y = text_like(150, 30, 4)
    cold, path = (NPSVORCV(NPSVOR(**TIGHT), cv=2, path=path).fit(X, y) for path in (False, True))
    assert np.array_equal(cold.errors_, path.errors_)
    assert not path.best_.warm_start


@pytest.mark.parametrize(("error", "worth"), [("squared", 4.0), ("zero_one", 1.0)])
def test_errors_are_in_ranks_not_labels(error: Any, worth: float) -> None:
    """Labels 10, 20, 40 whose lowest are all taken for the highest."""
    X = np.array([[1.0], [1.0], [1.0], [1.0], [0.0], [-1.0], [-1.0]])
    y = np.array([40, 40, 40, 10, 20, 10, 10])
    split = [(np.array([0, 1, 2, 4, 5, 6]), np.array([3]))]
    search = NPSVORCV(NPSVOR(10.0), Cs=(10.0,), error=error, cv=split).fit(X, y)
    assert search.errors_.tolist() == [[worth]]


def test_a_rank_that_a_fold_has_not_is_still_one() -> None:
    X, y = text_like(90, 20, 3)
    y[:2] = 7
    search = NPSVORCV(Cs=(1.0,), cv=[(np.arange(10, 90), np.arange(10))]).fit(X, y)
    assert search.best_.coef_.shape == (4, 20)
    assert search.errors_[0, 0] > 0.0


def test_the_search_takes_other_models_of_ranks() -> None:
    X, y = text_like(150, 30, 4)
    search = NPSVORCV(RedSVM(), Cs=(0.1, 10.0), cv=2, threads=1).fit(X, y)
    assert search.coef_.shape == (1, 30)
    assert search.best_.C == search.C_


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"Cs": ()}, ConfigurationError, "Cs = () is empty; allowed: costs above 0"),
        ({"Cs": (1.0, 0.0)}, ConfigurationError, "Cs = 0.0 is out of range; allowed: above 0"),
        ({"Cs": ((1.0, -1.0),)}, ConfigurationError, "Cs = -1.0 is out of range"),
        ({"cv": 1}, ConfigurationError, "out of range: cv=1; allowed: whole, >= 2"),
        ({"cv": 50}, ValueError, "cv = 50 is more than the rows of any class, 15"),
        ({"threads": 0}, ConfigurationError, "out of range: threads=0; allowed: whole, >= 1"),
        ({"error": "mae"}, ConfigurationError, "error = 'mae' is unknown; allowed: absolute, "),
        ({"path": 2}, ConfigurationError, "not a truth: path=2"),
    ],
)
def test_the_search_names_a_bad_setting(options: Any, error: Any, words: str) -> None:
    X, y = text_like()
    with pytest.raises(error) as caught:
        NPSVORCV(**options).fit(X, y)
    assert words in str(caught.value)
