"""Quadratic kappa against scikit-learn, and as a River metric."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import metrics, utils
from sklearn.metrics import cohen_kappa_score

from anabranch.evaluation import QuadraticKappa

PAIRS = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=80)


def reference(pairs: list[tuple[int, int]]) -> float:
    """Scikit-learn's value over all five ranks, 0 where it says undefined."""
    truth, predicted = zip(*pairs, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = cohen_kappa_score(truth, predicted, labels=range(1, 6), weights="quadratic")
    return 0.0 if np.isnan(value) else float(value)


@given(PAIRS)
@settings(max_examples=100, deadline=None)
def test_equals_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    metric = QuadraticKappa()
    for truth, predicted in pairs:
        metric.update(truth, predicted)
    assert metric.get() == pytest.approx(reference(pairs), abs=1e-12)


@given(PAIRS, st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_rolling_equals_the_newest_samples_afresh(
    pairs: list[tuple[int, int]], window: int
) -> None:
    rolling = utils.Rolling(QuadraticKappa, window_size=window)
    for i, (truth, predicted) in enumerate(pairs):
        rolling.update(truth, predicted)
        newest = pairs[max(0, i + 1 - window) : i + 1]
        assert rolling.get() == pytest.approx(reference(newest), abs=1e-12)


@given(PAIRS, PAIRS)
@settings(max_examples=60, deadline=None)
def test_revert_undoes_update(kept: list[tuple[int, int]], undone: list[tuple[int, int]]) -> None:
    metric = QuadraticKappa()
    for pair in kept + undone:
        metric.update(*pair)
    for pair in undone:
        metric.revert(*pair)
    assert metric.get() == pytest.approx(reference(kept), abs=1e-12)


def test_weights_are_repeated_samples() -> None:
    weighted, repeated = QuadraticKappa(), QuadraticKappa()
    for truth, predicted, times in [(1, 1, 4), (2, 3, 2), (3, 3, 5), (3, 1, 1)]:
        weighted.update(truth, predicted, times)
        for _ in range(times):
            repeated.update(truth, predicted)
    assert weighted.get() == pytest.approx(repeated.get(), abs=1e-15)


@pytest.mark.parametrize(
    ("pairs", "value"),
    [
        ([], 0.0),
        ([(2, 2), (2, 2)], 0.0),  # one rank only: not defined
        ([(1, 2), (1, 2)], 0.0),  # constant on both sides: no better than chance
        ([(1, 1), (5, 5)], 1.0),
        ([(1, 5), (5, 1)], -1.0),
    ],
)
def test_special_values(pairs: list[tuple[int, int]], value: float) -> None:
    metric = QuadraticKappa()
    for pair in pairs:
        metric.update(*pair)
    assert metric.get() == value


def test_is_a_river_metric() -> None:
    metric = QuadraticKappa()
    assert isinstance(metric, metrics.base.MultiClassMetric)
    assert metric.bigger_is_better
    assert metric.requires_labels
    metric.update(1, 2)
    metric.update(2, 2)
    assert metric.clone().get() == 0.0
    assert pickle.loads(pickle.dumps(metric)).get() == metric.get()
    both = metrics.Accuracy() + QuadraticKappa()
    both.update(1, 1)
    assert both.get() == [1.0, 0.0]
