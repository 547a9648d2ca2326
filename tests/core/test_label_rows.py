"""Rows of labels: there and back as names, and in the columns of who learns them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anabranch.label_rows import admitted, array_of, columns_of, paired, values_of
from anabranch.labels import aligned
from tests.core.scripted import Scripted
from tests.operators.label_toy import LabelToy

NAMES = ("calm", "old", "sad", "wet; and cold")
sets = st.lists(st.sets(st.sampled_from(NAMES)).map(lambda s: tuple(sorted(s))), min_size=1)


@given(sets, st.permutations(NAMES).map(tuple), st.integers(0, 4))
def test_there_and_back(values: list[tuple[str, ...]], order: tuple[str, ...], known: int) -> None:
    y, names = array_of(values, order[:known])
    assert names is not None
    assert names[:known] == order[:known]
    assert set(names) == set(order[:known]).union(*values)
    assert [tuple(sorted(value)) for value in values_of(y, names)] == values
    assert not y.flags.writeable


def test_numbers_stay_numbers() -> None:
    y, names = array_of([2.0, 1.0])
    assert (y.tolist(), names) == ([2.0, 1.0], None)
    assert values_of(y, None) == [2.0, 1.0]


@given(sets, st.permutations(NAMES).map(tuple), st.integers(0, 4))
def test_a_pair_keeps_what_it_says(
    values: list[tuple[str, ...]], order: tuple[str, ...], known: int
) -> None:
    y, names = array_of(values)
    assert names is not None
    predicted = np.ones((len(values), known))
    truth, guess, columns = paired(y, names, predicted, order[:known])
    assert columns[:known] == order[:known]
    assert aligned(truth, columns, names).tolist() == y.tolist()
    assert guess.sum() == predicted.sum()
    assert truth.sum() == y.sum()


def test_a_learner_takes_up_what_is_new_to_it() -> None:
    learner = LabelToy(3, ["sad"])
    y = np.array([[1.0, 0.0]])
    assert admitted(learner, y, ("calm", "sad")).tolist() == [[0.0, 1.0]]
    assert learner.labels == ("sad", "calm")
    assert admitted(learner, y, ("sad", "calm")) is y
    assert admitted(learner, y, None) is y
    assert columns_of(learner, None) == ("sad", "calm")


def test_one_without_columns_gets_rows_as_they_are() -> None:
    y = np.ones(2)
    assert admitted(Scripted(), y, ("a",)) is y
    assert columns_of(Scripted(), ("a",)) == ("a",)
