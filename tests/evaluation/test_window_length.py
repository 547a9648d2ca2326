"""A tally restored into a window of another length."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.evaluation import restore_tally, tally_for

TASKS = ("ordinal", "regression", "multilabel")


def fresh(task: str, window: int) -> Any:
    return tally_for(task, ranks=3, features=2, window=window, labels=["calm", "sad"])


def pairs(task: str, count: int) -> tuple[Any, Any]:
    draw = np.random.default_rng(count)
    if task == "regression":
        return draw.normal(size=count), draw.normal(size=count)
    if task == "ordinal":
        return draw.integers(1, 4, count), draw.integers(1, 4, count)
    return draw.integers(0, 2, (count, 2)), draw.integers(0, 2, (count, 2))


def same(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert first.keys() == second.keys()
    for key in first:
        np.testing.assert_allclose(first[key], second[key], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("task", TASKS)
@given(
    st.integers(1, 40), st.integers(0, 30), st.integers(0, 12), st.integers(0, 12)
)  # fmt: skip
def test_the_newest_samples_stay(task: str, before: int, after: int, old: int, new: int) -> None:
    y, guess = pairs(task, before + after)
    tally = fresh(task, old)
    tally.add(y[:before], guess[:before])
    changed = restore_tally(tally.export(), new)
    changed.add(y[before:], guess[before:])
    # What a window of the new length holds, where the old one had not forgotten it already.
    known = min(new, after + min(old, before))
    wanted = fresh(task, new)
    wanted.add(y[len(y) - known :], guess[len(y) - known :])
    same(changed.window_totals(), wanted.window_totals())
    everything = fresh(task, new)
    everything.add(y, guess)
    same(changed.totals(), everything.totals())


@pytest.mark.parametrize("task", TASKS)
def test_without_a_length_the_window_stays(task: str) -> None:
    tally = fresh(task, 5)
    tally.add(*pairs(task, 9))
    assert len(restore_tally(tally.export()).export()["ring"]) == 5
