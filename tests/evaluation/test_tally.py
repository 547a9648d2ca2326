"""Tallies of blocks against River's per-sample updates."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import base, evaluate, metrics, utils

from anabranch.errors import ConfigurationError, ModelError, SampleError
from anabranch.evaluation import (
    QuadraticKappa,
    add_totals,
    restore_tally,
    scores,
    tally_for,
)
from anabranch.protocol import Array

RANKS = 5
NAMES = {
    "MAE": metrics.MAE,
    "MSE": metrics.MSE,
    "Accuracy": metrics.Accuracy,
    "QuadraticKappa": QuadraticKappa,
}


def stream(seed: int, n: int) -> tuple[Array, Array]:
    """True ranks, and predictions at most two ranks away."""
    draw = np.random.default_rng(seed)
    truth = draw.integers(1, RANKS + 1, n)
    return truth.astype(float), np.clip(truth + draw.integers(-2, 3, n), 1, RANKS)


def blocks(n: int, cuts: list[int]) -> Iterator[slice]:
    edges = sorted({0, n, *(cut % (n + 1) for cut in cuts)})
    return (slice(a, b) for a, b in pairwise(edges))


@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 400),
    window=st.integers(1, 150),
    cuts=st.lists(st.integers(0, 10**6), max_size=12),
)
@settings(max_examples=60, deadline=None)
def test_block_scores_equal_per_sample_updates(
    seed: int, n: int, window: int, cuts: list[int]
) -> None:
    truth, predicted = stream(seed, n)
    tally = tally_for("ordinal", ranks=RANKS, window=window)
    whole = {name: metric() for name, metric in NAMES.items()}
    rolling = {name: utils.Rolling(metric, window) for name, metric in NAMES.items()}
    for block in blocks(n, cuts):
        tally.add(truth[block], predicted[block])
        for t, p in zip(truth[block], predicted[block], strict=True):
            for metric in (*whole.values(), *rolling.values()):
                metric.update(int(t), int(p))
        ours, recent = scores("ordinal", tally.totals()), scores("ordinal", tally.window_totals())
        for name in NAMES:
            assert ours[name] == pytest.approx(whole[name].get(), rel=0, abs=1e-12)
            assert recent[name] == pytest.approx(rolling[name].get(), rel=0, abs=1e-12)


class Replayed(base.Classifier):
    """Predicts what it is told under the feature "p"."""

    def learn_one(self, x: dict[str, int], y: int) -> None:
        """Learn nothing."""

    def predict_one(self, x: dict[str, int]) -> int:
        """Give the prediction carried by the sample."""
        return x["p"]


class ReplayedNumber(base.Regressor):
    """The same as a regressor, which River's MAE and MSE ask for."""

    learn_one = Replayed.learn_one
    predict_one = Replayed.predict_one


@pytest.mark.parametrize("name", list(NAMES))
@pytest.mark.parametrize("step", [1, 7, 100])
def test_equals_rivers_progressive_validation(name: str, step: int) -> None:
    truth, predicted = stream(3, 500)
    samples = [({"p": int(p)}, int(t)) for t, p in zip(truth, predicted, strict=True)]
    model = ReplayedNumber() if name in {"MAE", "MSE"} else Replayed()
    tally = tally_for("ordinal", ranks=RANKS, window=10)
    seen = 0
    for state in evaluate.iter_progressive_val_score(samples, model, NAMES[name](), step=step):
        tally.add(truth[seen : state["Step"]], predicted[seen : state["Step"]])
        seen = state["Step"]
        ours = scores("ordinal", tally.totals())[name]
        assert ours == pytest.approx(state[name].get(), rel=0, abs=1e-12)
    assert seen == 500


def test_totals_of_nodes_add_up_to_the_network() -> None:
    truth, predicted = stream(5, 300)
    whole = tally_for("ordinal", ranks=RANKS)
    parts = [tally_for("ordinal", ranks=RANKS, window=20) for _ in range(3)]
    whole.add(truth, predicted)
    for i, part in enumerate(parts):
        part.add(truth[i::3], predicted[i::3])
    pooled = add_totals(part.totals() for part in parts)
    np.testing.assert_array_equal(pooled["counts"], whole.totals()["counts"])
    assert add_totals(part.window_totals() for part in parts)["counts"].sum() == 60
    assert add_totals([]) == {}
    pooled["counts"][0, 0] = -1
    assert whole.totals()["counts"][0, 0] >= 0


@given(window=st.integers(0, 12), before=st.integers(0, 40), after=st.integers(0, 40))
@settings(max_examples=40, deadline=None)
def test_restored_tally_continues_exactly(window: int, before: int, after: int) -> None:
    truth, predicted = stream(9, 80)
    tally = tally_for("ordinal", ranks=RANKS, window=window)
    tally.add(truth[:before], predicted[:before])
    again = restore_tally(tally.export())
    for one in (tally, again):
        one.add(truth[before : before + after], predicted[before : before + after])
    for name, values in tally.export().items():
        np.testing.assert_array_equal(values, again.export()[name])
    np.testing.assert_array_equal(tally.window_totals()["counts"], again.window_totals()["counts"])


@pytest.mark.parametrize(
    ("truth", "predicted"),
    [
        ([1.0, 2.0, 0.0], [1, 2, 1]),
        ([1.0, 2.0, 6.0], [1, 2, 1]),
        ([1.0, 2.0, 1.5], [1, 2, 1]),
        ([1.0, 2.0, np.nan], [1, 2, 1]),
        ([1.0, 2.0, np.inf], [1, 2, 1]),
        ([1.0, 2.0, 3.0], [1, 2, 6]),
        ([1.0, 2.0, 3.0], [1.0, 2.0, np.nan]),
        ([1.0, 2.0, 3.0], [1, 2]),
        ([[1.0]], [[1]]),
    ],
)
def test_a_bad_pair_is_refused_and_nothing_counted(
    truth: list[float], predicted: list[float]
) -> None:
    tally = tally_for("ordinal", ranks=RANKS, window=3)
    with pytest.raises(SampleError, match="allowed"):
        tally.add(np.array(truth), np.array(predicted))
    assert tally.totals()["counts"].sum() == 0
    assert tally.window_totals()["counts"].sum() == 0


def test_add_takes_frozen_integer_and_strided_arrays_and_keeps_none() -> None:
    truth, predicted = np.array([1, 9, 2, 9, 3])[::2], np.array([1, 2, 2], dtype=np.int8)
    truth.flags.writeable = False
    tally = tally_for("ordinal", ranks=RANKS, window=2)
    tally.add(truth, predicted)
    tally.add(np.array([]), np.array([], dtype=np.int64))
    assert tally.totals()["counts"].sum() == 3
    assert predicted.tolist() == [1, 2, 2]


@pytest.mark.parametrize(
    "damage",
    [
        {"schema": 2},
        {"kind": "sorting"},
        {"counts": np.zeros((2, 3))},
        {"counts": np.zeros(())},
        {"cursor": np.array([0, 99])},
        {"cursor": np.array([-1, 0])},
        {"cursor": np.array([0])},
        {"ring": np.full(4, 99)},
        {"ring": np.full(4, -1)},
        {"ring": np.zeros((4, 1))},
    ],
)
def test_a_damaged_state_is_refused(damage: dict[str, object]) -> None:
    tally = tally_for("ordinal", ranks=RANKS, window=4)
    tally.add(*stream(1, 10))
    with pytest.raises(ModelError):
        restore_tally(tally.export() | damage)
    state = tally.export()
    del state["counts"]
    with pytest.raises(ModelError, match="damaged"):
        restore_tally(state)


@pytest.mark.parametrize(("ranks", "window"), [(1, 10), (0, 10), (20_000, 10), (5, -1)])
def test_settings_out_of_range_are_refused(ranks: int, window: int) -> None:
    with pytest.raises(ConfigurationError, match="allowed"):
        tally_for("ordinal", ranks=ranks, window=window)


def test_unknown_task_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'ordinal'"):
        tally_for("ordnal", ranks=3)
    with pytest.raises(ConfigurationError, match="'clustering'"):
        scores("clustering", {})
