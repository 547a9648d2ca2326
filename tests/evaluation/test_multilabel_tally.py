"""Tallies of sets of labels against scikit-learn and against River's per-sample updates."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import metrics, utils
from river.metrics import multioutput
from sklearn import metrics as skm

from anabranch.errors import ConfigurationError, ModelError, SampleError
from anabranch.evaluation import (
    EVALUATIONS,
    HammingLoss,
    MultilabelTally,
    add_totals,
    per_label,
    restore_tally,
    scores,
    tally_for,
)
from anabranch.protocol import Array


def stream(seed: int, n: int, q: int, share: float = 0.3) -> tuple[Array, Array]:
    """Truths and predictions; some rows and some labels are empty."""
    draw = np.random.default_rng(seed)
    y = (draw.random((n, q)) < share * draw.random(q)).astype(float)
    flipped = draw.random((n, q)) < 0.2 * draw.random(q)
    return y, np.where(flipped, 1.0 - y, y)


def names(q: int) -> list[str]:
    return [f"l{i:03}" for i in range(q)]


def learns(y: Array, p: Array) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "HammingLoss": skm.hamming_loss(y, p),
            "ExactMatch": skm.accuracy_score(y, p),
            "MicroF1": skm.f1_score(y, p, average="micro", zero_division=0),
            "MacroF1": skm.f1_score(y, p, average="macro", zero_division=0),
            "SampleF1": skm.f1_score(y, p, average="samples", zero_division=0),
            "Jaccard": skm.jaccard_score(y, p, average="samples", zero_division=0),
        }


def dictionaries(values: Array) -> list[dict[str, bool]]:
    return [dict(zip(names(values.shape[1]), map(bool, row), strict=True)) for row in values]


def rivers(y: Array, p: Array) -> dict[str, float]:
    made = {
        "HammingLoss": HammingLoss(),
        "ExactMatch": multioutput.ExactMatch(),
        "MicroF1": multioutput.MicroAverage(metrics.F1()),
        "MacroF1": multioutput.MacroAverage(metrics.F1()),
        "SampleF1": multioutput.SampleAverage(metrics.F1()),
        "Jaccard": multioutput.SampleAverage(metrics.Jaccard()),
    }
    for truth, predicted in zip(dictionaries(y), dictionaries(p), strict=True):
        for metric in made.values():
            metric.update(truth, predicted)
    return {name: metric.get() for name, metric in made.items()}


def close(values: dict[str, float]) -> object:
    return pytest.approx(values, rel=1e-12, abs=1e-12)


@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 60),
    q=st.integers(2, 20),
    window=st.integers(1, 40),
    cuts=st.lists(st.integers(0, 60), max_size=5),
)
@settings(max_examples=40)
def test_blocks_score_as_scikit_learn_and_river(
    seed: int, n: int, q: int, window: int, cuts: list[int]
) -> None:
    y, p = stream(seed, n, q)
    tally = tally_for("multilabel", labels=names(q), window=window)
    for a, b in pairwise([0, *sorted(min(cut, n) for cut in cuts), n]):
        tally.add(y[a:b], p[a:b])
    whole = scores("multilabel", tally.totals())
    assert list(whole) == list(EVALUATIONS["multilabel"].bigger_is_better)
    assert whole == close(learns(y, p))
    assert whole == close(rivers(y, p))
    newest = scores("multilabel", tally.window_totals())
    assert newest == close(learns(y[-window:], p[-window:]))


def test_block_equals_its_rows_bit_for_bit() -> None:
    y, p = stream(1, 200, 11)
    block, loop = MultilabelTally(11, window=64), MultilabelTally(11, window=64)
    block.add(y, p)
    for i in range(len(y)):
        loop.add(y[i : i + 1], p[i : i + 1])
    for key, value in block.export().items():
        np.testing.assert_array_equal(value, loop.export()[key])


@given(seed=st.integers(0, 2**32), window=st.integers(0, 50), first=st.integers(0, 4))
@settings(max_examples=40)
def test_later_labels_were_absent_before(seed: int, window: int, first: int) -> None:
    q = 12
    y, p = stream(seed, 60, q)
    draw, order = np.random.default_rng(seed), names(q)
    tally = tally_for("multilabel", labels=order[:first], window=window)
    seen_y, seen_p = np.zeros_like(y), np.zeros_like(p)
    for a in range(0, 60, 10):
        known = sorted({*range(first), *draw.choice(q, size=draw.integers(1, q)).tolist()})
        seen_y[a : a + 10, known], seen_p[a : a + 10, known] = (
            y[a : a + 10, known],
            p[a : a + 10, known],
        )
        used = [order[j] for j in known]
        tally.add(y[a : a + 10, known], p[a : a + 10, known], used)
    met = [order.index(label) for label in tally.labels]
    totals = scores("multilabel", tally.totals())
    assert totals == close(learns(seen_y[:, met], seen_p[:, met]))
    if window:
        found = scores("multilabel", tally.window_totals())
        assert found == close(learns(seen_y[-window:, met], seen_p[-window:, met]))


def test_nodes_that_met_different_labels_add_up() -> None:
    y, p = stream(3, 90, 7)
    order = names(7)
    columns = ([0, 1, 2, 5], [0, 1, 6, 3], [0, 1])
    parts, seen_y, seen_p = [], np.zeros_like(y), np.zeros_like(p)
    for i, known in enumerate(columns):
        rows = slice(30 * i, 30 * i + 30)
        part = tally_for("multilabel", labels=order[:2])
        part.add(y[rows][:, known], p[rows][:, known], [order[j] for j in known])
        seen_y[rows, known], seen_p[rows, known] = y[rows][:, known], p[rows][:, known]
        parts.append(part.totals())
    met = [0, 1, 2, 3, 5, 6]
    total = add_totals(parts)
    assert scores("multilabel", total) == close(learns(seen_y[:, met], seen_p[:, met]))
    assert list(per_label(total, order[:2])) == [order[j] for j in met]


def test_each_label_scores_as_in_scikit_learn() -> None:
    y, p = stream(4, 80, 9, share=0.5)
    tally = MultilabelTally(names(9))
    tally.add(y, p)
    found = per_label(tally.totals(), names(9))
    expected = skm.precision_recall_fscore_support(y, p, zero_division=0)
    for j, label in enumerate(names(9)):
        assert found[label] == pytest.approx([column[j] for column in expected])
    with pytest.raises(ConfigurationError, match="allowed: 9"):
        per_label(tally.totals(), ["one"])


def test_nothing_seen_scores_0() -> None:
    assert set(scores("multilabel", {}).values()) == {0.0}
    assert set(scores("multilabel", tally_for("multilabel").totals()).values()) == {0.0}


def test_restored_tally_of_labels_continues_exactly() -> None:
    y, p = stream(5, 90, 10)
    tally = tally_for("multilabel", labels=names(10)[:3], window=20)
    tally.add(y[:50, :6], p[:50, :6], names(10)[:6])
    twin = restore_tally(tally.export())
    for one in (tally, twin):
        one.add(y[50:], p[50:], names(10))  # type: ignore[call-arg]
    for key, value in tally.export().items():
        np.testing.assert_array_equal(value, twin.export()[key])
    assert tally.totals().keys() == twin.totals().keys()


def test_refuses_sets_that_cannot_be_scored() -> None:
    tally = tally_for("multilabel", labels=["a", "b"], window=3)
    good = np.zeros((1, 2))
    for y, predicted, fault in (
        (np.zeros((1, 3)), np.zeros((1, 3)), "allowed: .n, 2."),
        (np.zeros(2), np.zeros(2), "allowed: .n, 2."),
        (good, np.array([[0.0, 0.5]]), r"predicted\[0, 1\] is 0.5"),
        (np.array([[np.nan, 0.0]]), good, r"y\[0, 0\] is nan"),
    ):
        with pytest.raises(SampleError, match=fault):
            tally.add(y, predicted)
    assert tally.totals()["samples"].tolist() == [0.0] * 4
    tally.add(good, good)
    state = tally.export()
    for change in (
        {"schema": 2}, {"cursor": np.array([9, 0])}, {"sums": np.zeros(3)}, {"fixed": 7},
        {"names": ["a"]}, {"names": ["a", "a"]}, {"counts": np.full((2, 3), -1)},
        {"ring": np.zeros((3, 2, 5), dtype=np.uint8)}, {"names": 3},
    ):  # fmt: skip
        with pytest.raises(ModelError):
            restore_tally({**state, **change})
    with pytest.raises(ConfigurationError):
        tally_for("multilabel", window=-1)
    with pytest.raises(ConfigurationError):
        tally_for("multilabel", labels=["a", "a"])


def test_hamming_metric_counts_what_is_not_named_as_absent() -> None:
    y, p = stream(6, 40, 5)
    metric, rolling = HammingLoss(), utils.Rolling(HammingLoss, 10)
    for truth, predicted in zip(dictionaries(y), dictionaries(p), strict=True):
        short = {label: value for label, value in truth.items() if value}
        metric.update(short, {label: value for label, value in predicted.items() if value})
        rolling.update(truth, predicted)
    assert metric.get() * len(metric._named) / 5 == pytest.approx(skm.hamming_loss(y, p))
    assert rolling.get() == pytest.approx(skm.hamming_loss(y[-10:], p[-10:]))
    assert not metric.bigger_is_better
    assert HammingLoss().get() == 0.0
