"""DOML's window: its state continues bit for bit, and a damaged one is refused."""

from typing import Any

import numpy as np
import pytest

from anabranch.errors import ModelError
from anabranch.learners.doml_window import Window
from anabranch.protocol import Array

SHAPES = {
    "primal": (9, 12, 1.0, "primal"),
    "many fields": (130, 50, 1.0, "primal"),
    "all rows": (9, None, 1.0, "primal"),
    "dual": (20, 4, 1.0, "dual"),
    "sparse": (40, 12, 0.08, "sparse"),
}


def batches(d: int, density: float) -> list[tuple[Array, Array]]:
    rng = np.random.default_rng(5)
    found = []
    for n in rng.integers(0, 6, size=200):
        X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
        found.append((X, (rng.random((n, 2)) < 0.4).astype(float)))
    return found


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("pending", [False, True])
def test_restored_in_mid_life_it_continues_bit_for_bit(
    shape: str, dtype: str, pending: bool
) -> None:
    d, s, density, form = SHAPES[shape]
    window = Window(d, 2, s, dtype=dtype, form=form, refactorise=60)
    right = np.random.default_rng(6).normal(size=(d, 2))
    window.tune(0.3, 2.5)
    twin = Window.restore(window.export())
    for t, (X, Y) in enumerate(batches(d, density)):
        for each in (window, twin):
            each.add(X, Y)
        if pending and t % 7 == 0:
            twin = Window.restore(twin.export())
        np.testing.assert_array_equal(window.solve(right), twin.solve(right))
        if not pending and t % 7 == 0:
            twin = Window.restore(twin.export())
        np.testing.assert_array_equal(window.cross, twin.cross)
        assert window.renewals == twin.renewals
        assert window.trace == twin.trace
    assert window.renewals > 5


@pytest.mark.parametrize("shape", SHAPES)
def test_the_state_is_arrays_and_plain_values_and_shares_nothing(shape: str) -> None:
    d, s, density, form = SHAPES[shape]
    window = Window(d, 2, s, form=form)
    for X, Y in batches(d, density)[:9]:
        window.add(X, Y)
        window.solve(np.ones((d, 2)))
    state = window.export()
    for name, value in state.items():
        assert isinstance(value, np.ndarray | int | float | str | list | None), name
    before = {name: np.array(value) for name, value in state.items()}
    window.add(np.ones((20, d)), np.ones((20, 2)))
    window.solve(np.ones((d, 2)))
    for name, value in before.items():
        np.testing.assert_array_equal(state[name], value)


def test_a_sparse_state_holds_only_what_is_not_zero() -> None:
    window = Window(1000, 2, 20)
    X = np.zeros((30, 1000))
    X[:, :5] = 1.0
    window.add(X, np.ones((30, 2)))
    window.solve(np.ones((1000, 2)))
    state = window.export()
    assert window.using == "sparse"
    assert state["values"].size == 100
    assert state["inverse"].shape == (20, 20)


DAMAGE: list[tuple[str, dict[str, Any], str]] = [
    ("primal", {"features": "9"}, "features"),
    ("primal", {"capacity": -3}, "capacity"),
    ("primal", {"dtype": "int8"}, "dtype"),
    ("primal", {"cross": np.zeros((8, 2))}, "cross"),
    ("primal", {"rows": np.zeros((11, 9))}, "rows"),
    ("primal", {"labels": np.full((12, 2), np.nan)}, "labels"),
    ("primal", {"using": "triangle"}, "using"),
    ("primal", {"inverse": np.zeros((9, 8))}, "inverse"),
    ("many fields", {"low": np.zeros((3, 8))}, "low"),
    ("many fields", {"signs": np.full(3, 2.0)}, "signs"),
    ("primal", {"counters": [1, 2, 0, 0]}, "counters"),
    ("primal", {"counters": [30, 30, 999, 0]}, "counters"),
    ("primal", {"counters": "many"}, "counters"),
    ("primal", {"shift": 0.0}, "shift"),
    ("primal", {"scale": float("nan")}, "scale"),
    ("primal", {"age": -1}, "age"),
    ("primal", {"stale": 2}, "stale"),
    ("primal", {"chosen_at": None}, "chosen_at"),
    ("dual", {"inverse": np.zeros((3, 3))}, "inverse"),
    ("sparse", {"filled": np.full(12, 0.5)}, "filled"),
    ("sparse", {"indices": np.zeros(3)}, "indices"),
    ("sparse", {"values": np.zeros(3)}, "values"),
    ("all rows", {"gram": np.zeros((2, 2))}, "gram"),
    ("all rows", {"tail": np.zeros((9999, 9))}, "tail"),
    ("all rows", {"counters": [3, 4, 0]}, "counters"),
    ("all rows", {"trace": -1.0}, "trace"),
    ("all rows", {"using": "dual"}, "using"),
]


@pytest.mark.parametrize(("shape", "damage", "named"), DAMAGE)
def test_a_damaged_state_is_refused(shape: str, damage: dict[str, Any], named: str) -> None:
    d, s, density, form = SHAPES[shape]
    window = Window(d, 2, s, form=form)
    for X, Y in batches(d, density)[:9]:
        window.add(X, Y)
        window.solve(np.ones((d, 2)))
    with pytest.raises(ModelError, match=named):
        Window.restore({**window.export(), **damage})
    for key in damage:
        state = window.export()
        del state[key]
        with pytest.raises(ModelError, match=key):
            Window.restore(state)
