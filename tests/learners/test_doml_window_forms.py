"""DOML's window: which form it takes, when the inverse is built anew, what leaves no trace."""

import numpy as np
import pytest

from anabranch.errors import ConfigurationError
from anabranch.learners.doml_window import Window
from anabranch.protocol import Array


def rows(seed: int, n: int, d: int, density: float = 1.0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    return X, (rng.random((n, 2)) < 0.4).astype(float)


def solved(window: Window) -> Array:
    return window.solve(np.linspace(-1.0, 1.0, 2 * window.settings.features).reshape(-1, 2))


@pytest.mark.parametrize(
    ("d", "s", "density", "form"),
    [
        (40, 9, 1.0, "dual"),
        (40, 10, 1.0, "primal"),
        (40, 19, 0.05, "sparse"),
        (40, 20, 0.05, "primal"),
        (40, 9, 0.05, "sparse"),
        (40, None, 0.05, "primal"),
    ],
)
def test_form_by_shape_and_density(d: int, s: int | None, density: float, form: str) -> None:
    window = Window(d, 2, s)
    assert window.using == ""
    window.add(*rows(0, 50, d, density))
    solved(window)
    assert window.using == form


def test_a_form_chosen_on_few_rows_is_chosen_again_once() -> None:
    X, Y = rows(1, 60, 40, 0.05)
    window = Window(40, 2, 9)
    solved(window)
    assert window.using == "dual"
    for r in range(60):
        window.add(X[r : r + 1], Y[r : r + 1])
        solved(window)
        assert window.using == ("sparse" if r >= 15 else "dual")
    assert window.renewals == 2


def test_rows_that_fill_up_leave_the_sparse_form_when_the_inverse_is_built_anew() -> None:
    window = Window(40, 2, 15, refactorise=30)
    window.add(*rows(2, 20, 40, 0.05))
    solved(window)
    X, Y = rows(3, 31, 40)
    for r in range(30):
        window.add(X[r : r + 1], Y[r : r + 1])
        solved(window)
        assert window.using == "sparse"
    window.add(X[30:], Y[30:])
    expected = np.linalg.solve(2 * np.eye(40) + X[16:].T @ X[16:], np.eye(40)[:, :2])
    np.testing.assert_allclose(window.solve(np.eye(40)[:, :2]), expected, atol=1e-12)
    assert window.using == "primal"


@pytest.mark.parametrize(("d", "s", "form"), [(8, 30, "primal"), (30, 5, "dual")])
def test_built_anew_after_so_many_rows(d: int, s: int, form: str) -> None:
    window = Window(d, 2, s, form=form, refactorise=10)
    solved(window)
    X, Y = rows(4, 35, d)
    counts = []
    for r in range(35):
        window.add(X[r : r + 1], Y[r : r + 1])
        solved(window)
        counts.append(window.renewals)
    assert counts == [1] * 10 + [2] * 11 + [3] * 11 + [4] * 3


def test_a_step_without_new_rows_ages_nothing() -> None:
    window = Window(6, 2, 20, refactorise=3)
    window.add(*rows(5, 10, 6))
    first = solved(window)
    for _ in range(10):
        np.testing.assert_array_equal(solved(window), first)
    assert window.renewals == 1


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_tuning_builds_anew_only_where_it_changes_something(form: str) -> None:
    window = Window(6, 2, 5, form=form)
    window.add(*rows(6, 5, 6))
    solved(window)
    window.tune(1.0, 2.0)
    assert not window.due
    window.tune(0.5, 2.0)
    assert window.due
    X = window.rows[0]
    expected = np.linalg.solve(2 * np.eye(6) + 0.5 * X.T @ X, np.eye(6)[:, :2])
    np.testing.assert_allclose(window.solve(np.eye(6)[:, :2]), expected, atol=1e-13)
    assert not window.due
    assert window.renewals == 2


@pytest.mark.parametrize("scale", [1e3, 1e6, 1e12, 1e40])
@pytest.mark.parametrize(("d", "s", "form"), [(6, 20, "primal"), (6, 3, "dual"), (6, 3, "sparse")])
def test_a_huge_row_that_went_leaves_no_trace(scale: float, d: int, s: int, form: str) -> None:
    window, clean = (Window(d, 2, s, form=form) for _ in range(2))
    X, Y = rows(7, 60, d)
    for r in range(60):
        x = X[r : r + 1] * (scale if r == 20 else 1.0)
        window.add(x, Y[r : r + 1])
        window.solve(np.eye(d)[:, :2])
    clean.add(X, Y)
    np.testing.assert_allclose(window.cross, clean.cross, atol=1e-11)
    np.testing.assert_allclose(solved(window), solved(clean), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(window.trace, clean.trace)


def test_a_huge_row_that_came_and_went_between_steps_leaves_no_trace() -> None:
    window = Window(4, 2, 5)
    X, Y = rows(8, 20, 4)
    window.add(X[:5], Y[:5])
    solved(window)
    window.add(np.vstack((1e30 * X[5:6], X[6:])), np.ones((15, 2)))
    np.testing.assert_allclose(window.cross, X[15:].T @ np.ones((5, 2)), atol=1e-13)


def test_a_small_pivot_builds_the_primal_inverse_anew() -> None:
    window = Window(3, 2, 4)
    X = np.array([[100.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    window.add(X, np.ones((4, 2)))
    solved(window)
    window.add(X[1:2], np.ones((1, 2)))  # now the first row goes: pivot 2/(2 + 100^2)
    expected = np.linalg.solve(2 * np.eye(3) + X[1:].T @ X[1:] + np.diag([0, 1, 0]), np.eye(3))
    np.testing.assert_allclose(window.solve(np.eye(3)[:, :2]), expected[:, :2], atol=1e-15)
    assert window.renewals == 2
    window.add(X[2:3], np.ones((1, 2)))
    solved(window)
    assert window.renewals == 2


def test_nearly_equal_rows_build_the_dual_inverse_anew() -> None:
    window = Window(4, 2, 3, form="dual")
    X = 1e4 + rows(9, 6, 4)[0]
    for r in range(6):
        window.add(X[r : r + 1], np.ones((1, 2)))
        solved(window)
    assert window.renewals > 3


@pytest.mark.parametrize("form", ["primal", "dual", "sparse"])
def test_many_rows_at_once_build_anew(form: str) -> None:
    window = Window(20, 2, 40, form=form)
    window.add(*rows(10, 40, 20))
    solved(window)
    window.add(*rows(11, 39, 20))
    assert window.due
    X = window.rows[0]
    expected = np.linalg.solve(2 * np.eye(20) + X.T @ X, np.eye(20)[:, :2])
    np.testing.assert_allclose(window.solve(np.eye(20)[:, :2]), expected, atol=1e-13)


def test_a_matrix_without_a_cholesky_factor_is_still_solved() -> None:
    window = Window(3, 2, None)
    window.add(1e12 * np.ones((3, 3)), np.ones((3, 2)))
    assert np.isfinite(solved(window)).all()


def test_new_rows_in_the_place_of_all() -> None:
    X, Y = rows(12, 17, 5)
    for form in ("primal", "dual", "sparse"):
        window, fresh = Window(5, 2, 7, form=form), Window(5, 2, 7, form=form)
        window.add(X, Y)
        solved(window)
        held = window.rows
        window.replace(2.0 * held[0] + 1.0, held[1])
        fresh.add(2.0 * X + 1.0, Y)
        for a, b in zip(window.rows, fresh.rows, strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(solved(window), solved(fresh))
        np.testing.assert_allclose(window.cross, fresh.cross)
        assert window.count == 7
        assert window.seen == 17


def test_labels_are_added_and_reordered() -> None:
    X, Y = rows(13, 9, 4)
    window = Window(4, 2, 6)
    window.add(X, Y)
    solved(window)
    window.widen([1, -1, 0])
    expected = np.stack((Y[3:, 1], np.zeros(6), Y[3:, 0]), axis=1)
    np.testing.assert_array_equal(window.rows[1], expected)
    np.testing.assert_allclose(window.cross, X[3:].T @ expected, atol=1e-14)
    window.widen(2)
    assert window.outputs == 5
    window.add(X[:2], np.ones((2, 5)))
    np.testing.assert_allclose(window.cross, window.rows[0].T @ window.rows[1], atol=1e-14)


def test_no_labels_yet() -> None:
    window = Window(3, 0, 4)
    window.add(np.ones((2, 3)), np.ones((2, 0)))
    assert window.solve(np.ones((3, 0))).shape == (3, 0)
    window.widen(1)
    np.testing.assert_array_equal(window.cross, np.zeros((3, 1)))


def test_views_are_frozen_and_rows_are_copied() -> None:
    X, Y = rows(14, 5, 3)
    window = Window(3, 2, 10)
    window.add(X, Y)
    before = window.rows
    X[:], Y[:] = 9.0, 9.0
    np.testing.assert_array_equal(window.rows[0], before[0])
    for array in (*window.rows, window.cross):
        assert not array.flags.writeable


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"capacity": 0}, "capacity=0"),
        ({"features": 0}, "features=0"),
        ({"dtype": "float16"}, "dtype='float16'; allowed: float64, float32"),
        ({"form": "best"}, "form='best'; allowed: auto, primal, dual, sparse"),
        ({"capacity": None, "form": "dual"}, "form='dual'; allowed: auto, primal"),
        ({"refactorise": 0}, "refactorise=0"),
    ],
)
def test_bad_settings(options: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"features": 3, "outputs": 2, "capacity": 4, **options}
    with pytest.raises(ConfigurationError, match=message):
        Window(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("step", [(-1.0, 2.0), (1.0, 0.0), (np.inf, 2.0), (1.0, np.nan)])
def test_no_step_without_a_positive_shift(step: tuple[float, float]) -> None:
    with pytest.raises(ConfigurationError, match="allowed: scale >= 0, shift > 0"):
        Window(3, 2, 4).tune(*step)


def test_other_rows_must_be_as_many() -> None:
    window = Window(3, 2, 4)
    window.add(*rows(15, 4, 3))
    with pytest.raises(ConfigurationError, match="other rows: 3; allowed: 4"):
        window.replace(np.ones((3, 3)), np.ones((3, 2)))
    with pytest.raises(ConfigurationError, match="other rows: 1; allowed: 0"):
        Window(3, 2, None).replace(np.ones((1, 3)), np.ones((1, 2)))
