"""DOML's window: its solution is the paper's, along thousands of rows that come and go."""

from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.learners import doml_window_primal
from anabranch.learners.doml_window import Window
from anabranch.protocol import Array

Q, K, SHIFT = 3, 0.3, 2.2
CASES = {
    "primal": (12, 20, 1.0, "primal"),
    "primal, fewer rows than fields": (16, 7, 1.0, "primal"),
    "primal, all rows": (10, None, 1.0, "primal"),
    "primal, many fields": (130, 60, 1.0, "primal"),
    "primal, many fields, all rows": (130, None, 1.0, "primal"),
    "dual": (20, 4, 1.0, "dual"),
    "dual, more rows than fields": (6, 15, 1.0, "dual"),
    "sparse": (40, 15, 0.08, "sparse"),
    "one row": (5, 1, 1.0, "dual"),
}


def stream(seed: int, d: int, density: float, count: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, d)) * (rng.random((count, d)) < density)
    return X, (rng.random((count, Q)) < 0.3).astype(float)


def naive(X: Array, Y: Array, F: Array, rest: Array) -> tuple[Array, Array]:
    """Solve the 2d x 2d system of a step: P+ - beta+ = -F and the normal equations."""
    d = X.shape[1]
    eye = np.eye(d)
    system = np.block([[eye, -eye], [(SHIFT - 1.0) * eye + K * X.T @ X, eye]])
    both = np.linalg.solve(system, np.vstack((-F, rest + K * X.T @ Y)))
    return both[:d], both[d:]


def each_step(case: str, count: int, **options: Any) -> Iterator[tuple[Window, Array, Array]]:
    d, s, density, form = CASES[case]
    X, Y = stream(1, d, density, count)
    window = Window(d, Q, s, form=form, **options)
    window.tune(K, SHIFT)
    for t in range(count):
        window.add(X[t : t + 1], Y[t : t + 1])
        held = slice(max(0, t + 1 - s) if s else 0, t + 1)
        yield window, X[held], Y[held]


@pytest.mark.parametrize("case", CASES)
def test_ten_thousand_steps_equal_the_naive_solve(case: str) -> None:
    rng = np.random.default_rng(2)
    d, s = CASES[case][:2]
    count, every = 10_000 if s else 2_000, 10 if d < 100 else 200
    for t, (window, X, Y) in enumerate(each_step(case, count)):
        F, rest = rng.normal(size=(2, d, Q))
        P = window.solve(rest + K * window.cross - F)
        if t % every == 0 or t < 50:
            expected, beta = naive(X, Y, F, rest)
            np.testing.assert_allclose(P, expected, rtol=0, atol=1e-8)
            np.testing.assert_allclose(F + P, beta, rtol=0, atol=1e-8)
            np.testing.assert_allclose(window.cross, X.T @ Y, rtol=0, atol=1e-10)
            np.testing.assert_allclose(window.trace, np.square(X).sum())
    assert count / 1000 <= window.renewals <= count / 100


@pytest.mark.parametrize("case", CASES)
def test_float32_is_within_2e_5(case: str) -> None:
    right = np.random.default_rng(3).normal(size=(CASES[case][0], Q))
    for t, (window, X, _) in enumerate(each_step(case, 1000, dtype="float32")):
        P = window.solve(right)
        if t % (5 if X.shape[1] < 100 else 50) == 0:
            expected = np.linalg.solve(SHIFT * np.eye(X.shape[1]) + K * X.T @ X, right)
            assert np.linalg.norm(P - expected) <= 2e-5 * np.linalg.norm(expected)
    assert P.dtype == np.float32


@pytest.mark.parametrize("case", CASES)
def test_only_the_newest_rows_are_held(case: str) -> None:
    for window, X, Y in each_step(case, 60):
        if CASES[case][1] is None:
            assert window.rows[0].shape == (0, CASES[case][0])
        else:
            np.testing.assert_array_equal(window.rows[0], X)
            np.testing.assert_array_equal(window.rows[1], Y)
        assert window.count == len(X)
    assert window.seen == 60


def same(one: Window, other: Window) -> None:
    left, right = one.export(), other.export()
    assert left.keys() == right.keys()
    for key, value in left.items():
        np.testing.assert_array_equal(value, right[key], err_msg=key)


moves = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 30)),
        st.tuples(st.just("solve"), st.just(0)),
        st.tuples(st.just("tune"), st.integers(0, 2)),
        st.tuples(st.just("widen"), st.integers(0, 1)),
        st.tuples(st.just("save"), st.just(0)),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(
    moves=moves,
    d=st.integers(1, 40),
    s=st.one_of(st.none(), st.integers(1, 25)),
    density=st.sampled_from([1.0, 0.05]),
    dtype=st.sampled_from(["float64", "float32"]),
    seed=st.integers(0, 10),
    small=st.sampled_from([0, 128]),
)
def test_blocks_equal_rows_and_both_equal_the_definition(
    moves: list[tuple[str, int]],
    d: int,
    s: int | None,
    density: float,
    dtype: str,
    seed: int,
    small: int,
) -> None:
    with mock.patch.object(doml_window_primal, "_SMALL", small):
        check_blocks(moves, *stream(seed, d, density, 30 * 25), s, dtype)


def check_blocks(
    moves: list[tuple[str, int]], X: Array, Y: Array, s: int | None, dtype: str
) -> None:
    d = X.shape[1]
    block, row = Window(d, Q, s, dtype=dtype), Window(d, Q, s, dtype=dtype)
    used, q, tuned = 0, Q, (1.0, 2.0)
    labels = Y
    for what, number in moves:
        if what == "add":
            part = slice(used, used + number)
            block.add(X[part], labels[part])
            for r in range(used, used + number):
                row.add(X[r : r + 1], labels[r : r + 1])
            used += number
        elif what == "solve":
            right = np.random.default_rng(used).normal(size=(d, q))
            solution = block.solve(right)
            np.testing.assert_array_equal(solution, row.solve(right))
            held = X[max(0, used - s) if s else 0 : used]
            expected = np.linalg.solve(tuned[1] * np.eye(d) + tuned[0] * held.T @ held, right)
            allowed = 2e-5 if dtype == "float32" else 1e-10
            assert np.linalg.norm(solution - expected) <= allowed * np.linalg.norm(expected)
        elif what == "tune":
            tuned = ((1.0, 2.0), (0.3, 2.5), (0.5, 1.2))[number]
            for window in (block, row):
                window.tune(*tuned)
        elif what == "widen":
            labels = np.hstack((labels, np.zeros((len(labels), number))))
            q += number
            for window in (block, row):
                window.widen(number)
        else:
            row = Window.restore(row.export())
        held = slice(max(0, used - s) if s else 0, used)
        rough = 1e-4 if dtype == "float32" else 1e-10
        for window in (block, row):
            cross = window.cross
            np.testing.assert_allclose(cross, X[held].T @ labels[held], rtol=rough, atol=rough)
        same(block, row)
