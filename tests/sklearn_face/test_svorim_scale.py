"""SVORIM and SVOREX where rows are far, long or short: an end, an honest gap, a warning."""

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from anabranch.baselines import CentralSVORIM
from anabranch.errors import ConfigurationError
from anabranch.kernels import svor_smo
from anabranch.learners import svor_descent
from anabranch.protocol import Array
from anabranch.sklearn_face import SVOREX, SVORIM

both = pytest.mark.parametrize("kind", [SVORIM, SVOREX])


def rows() -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=60), [-0.5, 0.5])


@both
@pytest.mark.parametrize("kernel", ["linear", "gaussian", "laplacian"])
def test_far_rows_are_solved_as_near_ones(kind: Any, kernel: str) -> None:
    X, y = rows()
    near, far = kind(kernel=kernel).fit(X, y), kind(kernel=kernel).fit(X + 1e8, y)
    np.testing.assert_allclose(far.objective_, near.objective_, rtol=1e-4)
    assert abs(far.gap_) < 1e-4
    assert (far.predict(X + 1e8) == near.predict(X)).all()


@both
def test_long_rows_that_can_be_parted_are_solved(kind: Any) -> None:
    X, _ = rows()
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    assert (kind(kernel="linear").fit(1e8 * X, y).predict(1e8 * X) == y).all()


@both
@pytest.mark.parametrize(
    ("options", "factor"),
    [({"kernel": "linear"}, 1e8), ({"kernel": "polynomial"}, 1e2)],
)
def test_moves_in_vain_end_with_a_warning(
    kind: Any, options: dict[str, Any], factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(svor_descent, "_PATIENCE", 20_000)
    X, y = rows()
    with pytest.warns(ConvergenceWarning, match=f"{kind.__name__} .*no nearer.*scale X"):
        found = kind(**options).fit(factor * X, y)
    assert found.gap_ > 0.5
    assert found.gap_ == (found.objective_ - found.dual_objective_) / found.objective_


def test_no_call_of_compiled_code_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows()
    budgets = []

    def smo(K: Array, part: Any, tol: float, most: int) -> int:
        budgets.append(most)
        return int(svor_smo.smo(K, part, tol, most))

    monkeypatch.setattr(svor_descent, "smo", smo)
    SVORIM(kernel="linear").fit(X, y)
    assert max(budgets) <= 20_000


def test_the_companion_ends_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(svor_descent, "_PATIENCE", 20_000)
    X, y = rows()
    model = CentralSVORIM(3, 3, kernel="linear", scaling="none", lam=1.0 / 60.0)
    model.learn(1e8 * X, 1 + y)
    with pytest.warns(ConvergenceWarning, match="svorim stopped"):
        model.predict(X[:1])


@both
@pytest.mark.parametrize(
    ("options", "factor", "weight", "words"),
    [
        ({"C": 1e-300}, 1.0, 1e-300, "C = 1e-300"),
        ({}, 1.0, 1e-300, "sample_weight"),
        ({"coef0": "a"}, 1.0, 1.0, "coef0 = 'a'; allowed: finite"),
        ({"coef0": None}, 1.0, 1.0, "coef0 = None; allowed: finite"),
        ({"classes": 3}, 1.0, 1.0, "classes = 3"),
        ({"classes": "ab"}, 1.0, 1.0, "classes = 'ab'"),
        ({"classes": [[0, 1, 2]]}, 1.0, 1.0, "classes = [[0, 1, 2]]"),
        ({"gamma": "scale"}, 1e160, 1.0, "the variance of X, inf"),
    ],
)
def test_what_is_out_of_range_is_named(
    kind: Any, options: dict[str, Any], factor: float, weight: float, words: str
) -> None:
    X, y = rows()
    with pytest.raises((ConfigurationError, ValueError)) as caught:
        kind(**options).fit(factor * X, y, np.full(60, weight))
    assert words in str(caught.value)


@both
def test_one_class_is_named_plainly(kind: Any) -> None:
    with pytest.raises(ValueError, match="y has one class, 0; allowed"):
        kind().fit(rows()[0], np.zeros(60, np.int64))
