"""Laws that every learner obeys; a new learner joins by a row in CASES."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.errors import MessageError, ModelError, SampleError
from anabranch.protocol import Array, Margins
from tests.learners.law_cases import (
    CASES,
    Case,
    both,
    by_margins,
    damaged,
    equal,
    neighbours,
    trained,
)

every = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
sure = pytest.mark.parametrize(
    "case", [pytest.param(case, id=name) for name, case in CASES.items() if case.margins]
)


@every
def test_predicts_before_learning(case: Case) -> None:
    X, y = case.data(5)
    assert case.make().predict(X).shape == y.shape


@every
def test_empty_block_is_fine(case: Case) -> None:
    learner = trained(case)
    before = learner.export()
    X, y = case.data(0)
    assert learner.predict_then_learn(X, y).shape == y.shape
    learner.learn(X, y)
    assert equal(before, learner.export())


@every
def test_input_is_neither_changed_nor_kept(case: Case) -> None:
    X, y = case.data(60)
    kept_X, kept_y = X.copy(), y.copy()
    learner, other = case.make(), case.make()
    learner.predict_then_learn(X, y)
    other.predict_then_learn(kept_X.copy(), kept_y.copy())
    assert equal(X, kept_X)
    assert equal(y, kept_y)
    X[:], y[:] = 7.0, 1.0
    for node in (learner, other):
        for t in range(4):
            node.combine(t, {}, {})
    assert equal(learner.export(), other.export())


@every
def test_labels_may_be_integers(case: Case) -> None:
    X, y = case.data(30)
    floats, integers = case.make(), case.make()
    floats.learn(X, y)
    integers.learn(X, y.astype(np.int32))
    assert equal(floats.export(), integers.export())


@every
def test_export_restores_and_continues_bit_for_bit(case: Case) -> None:
    learner = trained(case)
    twin = type(learner).restore(learner.export())
    assert equal(learner.export(), twin.export())
    X, y = case.data(40, seed=9)
    for t in range(4, 8):
        assert equal(learner.predict_then_learn(X, y), twin.predict_then_learn(X, y))
        inbox, weights = neighbours(case, "ab"), {"a": 0.3, "b": 0.3}
        learner.combine(t, inbox, weights)
        twin.combine(t, inbox, weights)
    assert equal(learner.export(), twin.export())


@every
def test_export_is_a_copy(case: Case) -> None:
    learner = trained(case)
    state = learner.export()
    frozen = {key: np.copy(value) for key, value in state.items() if hasattr(value, "dtype")}
    learner.learn(*case.data(30, seed=3))
    learner.combine(9, {}, {})
    assert all(equal(state[key], value) for key, value in frozen.items())


@every
def test_model_predicts_alike_and_holds_no_sample(case: Case) -> None:
    learner = trained(case)
    X, y = case.data(300, seed=4)
    state = learner.model()
    twin = type(learner).restore(state)
    assert not case.alike or equal(learner.predict(X), twin.predict(X))
    twin.learn(X, y)
    seen = np.round(case.data(80)[0].ravel(), 12)
    for name, value in state.items():
        if isinstance(value, np.ndarray):
            assert not np.isin(np.round(value.ravel(), 12), seen).any(), name


@every
def test_damaged_states_are_refused(case: Case) -> None:
    learner = trained(case)
    kind, state = type(learner), learner.export()
    optional = state.keys() - learner.model().keys()
    changes: list[dict[str, Any]] = [{"schema": 99}, {"schema": None}, {"kind": "other"}]
    for name, value in state.items():
        if isinstance(value, np.ndarray) and value.size:
            changes += [{name: value[:-1]}, {name: value * np.nan}, {name: "none"}]
    for change in changes:
        with pytest.raises(ModelError):
            kind.restore({**state, **change})
    for name in state.keys() - optional:
        with pytest.raises(ModelError, match=name):
            kind.restore({key: value for key, value in state.items() if key != name})


@every
@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.integers(0, 60), max_size=6), rounds=st.integers(0, 4))
def test_block_equals_loop(case: Case, cuts: list[int], rounds: int) -> None:
    whole, parts = trained(case, rounds), trained(case, rounds)
    X, y = case.data(60, seed=5)
    ends = [0, *sorted(cuts), 60]
    pieces = [(X[a:b], y[a:b]) for a, b in pairwise(ends)]
    predicted = np.concatenate([parts.predict_then_learn(*piece) for piece in pieces])
    assert equal(whole.predict_then_learn(X, y), predicted)
    assert equal(whole.export(), parts.export())


@every
def test_predict_then_learn_is_predict_and_learn(case: Case) -> None:
    fused, apart = trained(case, 1), trained(case, 1)
    X, y = case.data(50, seed=6)
    predicted = []
    for row in range(50):
        predicted.append(apart.predict(X[row : row + 1]))
        apart.learn(X[row : row + 1], y[row : row + 1])
    assert equal(fused.predict_then_learn(X, y), np.concatenate(predicted))
    assert equal(fused.export(), apart.export())


@every
def test_margins_are_given_by_those_who_have_them(case: Case) -> None:
    assert isinstance(case.make(), Margins) == case.margins


@sure
@pytest.mark.parametrize("rounds", [0, 1, 4])
def test_margins_are_those_before_each_row_was_learned(case: Case, rounds: int) -> None:
    block, rows, plain = (trained(case, rounds) for _ in range(3))
    X, y = case.data(60, seed=6)
    scores, ranks = [], []
    for row in range(60):
        scores.append(rows.scores(X[row : row + 1]))  # type: ignore[attr-defined]
        ranks.append(rows.predict_then_learn(X[row : row + 1], y[row : row + 1]))
    predicted, margins = both(block, X, y)
    assert equal(margins, np.concatenate(scores))
    assert equal(predicted, np.concatenate(ranks))
    assert equal(predicted, plain.predict_then_learn(X, y))
    assert equal(predicted, by_margins(margins, y))
    assert equal(block.export(), rows.export())
    assert equal(block.export(), plain.export())


@sure
@settings(max_examples=10, deadline=None)
@given(cuts=st.lists(st.integers(0, 60), max_size=6), rounds=st.integers(0, 4))
def test_margins_of_a_block_are_those_of_its_parts(
    case: Case, cuts: list[int], rounds: int
) -> None:
    whole, parts = trained(case, rounds), trained(case, rounds)
    X, y = case.data(60, seed=5)
    pieces = [both(parts, X[a:b], y[a:b]) for a, b in pairwise([0, *sorted(cuts), 60])]
    predicted, margins = both(whole, X, y)
    assert equal(predicted, np.concatenate([ranks for ranks, _ in pieces]))
    assert equal(margins, np.concatenate([seen for _, seen in pieces]))
    assert equal(whole.export(), parts.export())


@every
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e200])
def test_non_finite_sample_changes_nothing(case: Case, value: float) -> None:
    learner = trained(case)
    before = learner.export()
    X, y = case.data(10, seed=7)
    X[6, 1] = value
    refusing: list[Callable[[Array, Array], Any]] = [
        learner.learn, learner.predict_then_learn, lambda X, y: learner.predict(X),
    ]  # fmt: skip
    if case.margins:
        refusing.append(lambda X, y: both(learner, X, y))
    for refuse in refusing:
        with pytest.raises(SampleError, match=r"X\[6, 1\]"):
            refuse(X, y)
    assert equal(before, learner.export())


@pytest.mark.parametrize(
    ("case", "label"),
    [
        pytest.param(case, label, id=f"{name}-{label}")
        for name, case in CASES.items()
        for label in case.wrong
    ],
)
def test_target_that_is_none_changes_nothing(case: Case, label: float) -> None:
    learner = trained(case)
    before = learner.export()
    X, y = case.data(10, seed=7)
    y[3] = label
    with pytest.raises(SampleError, match=r"y\[3"):
        learner.learn(X, y)
    with pytest.raises(SampleError):
        learner.predict_then_learn(X, y)
    if case.margins:
        with pytest.raises(SampleError, match=r"y\[3"):
            both(learner, X, y)
    assert equal(before, learner.export())


@every
def test_wrong_shapes_are_refused(case: Case) -> None:
    learner = trained(case)
    before = learner.export()
    X, y = case.data(10)
    for bad_X, bad_y in (
        (X[0], y[:1]), (X[:, :1], y), (X, y[:9]), (X, y[:, None]), (np.zeros((10, 3)), y),
        (np.full((10, 2), "a"), y), (X, np.full(10, "a")),
    ):  # fmt: skip
        with pytest.raises(SampleError):
            learner.learn(bad_X, bad_y)
    assert equal(before, learner.export())


@every
@pytest.mark.parametrize("rounds", [0, 4])
def test_bad_message_changes_nothing(case: Case, rounds: int) -> None:
    learner = trained(case, rounds)
    inbox, weights = neighbours(case), {"a": 0.2, "b": 0.3, "c": 0.1}
    before = learner.export()
    for message in damaged(inbox["c"]):
        with pytest.raises(MessageError, match="'c'"):
            learner.combine(9, {**inbox, "c": message}, weights)
    with pytest.raises(MessageError, match="'z'"):
        learner.combine(9, {**inbox, "z": inbox["a"]}, weights)
    assert equal(before, learner.export())


@every
def test_messages_are_frozen_and_not_aliased(case: Case) -> None:
    learner = trained(case)
    sent = learner.messages(4)
    kept = [{name: array.copy() for name, array in message.arrays.items()} for message in sent]
    assert sent
    assert not any(a.flags.writeable for message in sent for a in message.arrays.values())
    learner.learn(*case.data(30, seed=8))
    learner.combine(4, neighbours(case), {"a": 0.2, "b": 0.3, "c": 0.1})
    assert all(equal(dict(m.arrays), before) for m, before in zip(sent, kept, strict=True))


@every
@pytest.mark.parametrize("rounds", [0, 4])
def test_order_of_the_inbox_does_not_matter(case: Case, rounds: int) -> None:
    one, two = trained(case, rounds), trained(case, rounds)
    inbox, weights = neighbours(case), {"a": 0.2, "b": 0.3, "c": 0.1}
    one.combine(9, inbox, weights)
    two.combine(9, dict(sorted(inbox.items())), dict(reversed(weights.items())))
    assert equal(one.export(), two.export())


@every
def test_parameters_are_a_flat_copy(case: Case) -> None:
    learner = trained(case)
    vector = learner.parameters()
    assert vector.ndim == 1
    vector[:] = 0.0
    assert learner.parameters().any()
