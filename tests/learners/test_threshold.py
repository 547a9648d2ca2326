"""Learned thresholds against trying every one of the grid."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from anabranch.errors import ConfigurationError, ModelError, SampleError
from anabranch.learners.threshold import GlobalThreshold, PerLabelThresholds
from anabranch.protocol import Array

Kind = GlobalThreshold | PerLabelThresholds


def stream(seed: int, n: int, q: int) -> tuple[Array, Array]:
    """Scores that tell something of y, some outside the grid."""
    draw = np.random.default_rng(seed)
    y = (draw.random((n, q)) < draw.uniform(0.05, 0.6, size=q)).astype(float)
    return 0.2 + 0.3 * y + 0.3 * draw.normal(size=(n, q)), y


def best(scores: Array, y: Array, resolution: int, weights: Array) -> float:
    """The grid's threshold of the largest weighted F1, of equal ones that nearest 1/2.

    Of two as near, the higher.
    """
    grid = np.arange(-resolution // 2, resolution) / resolution
    found = []
    for t in grid:
        taken = scores > t
        right = (weights * (taken & (y == 1.0))).sum()
        found.append(2.0 * right / ((weights * taken).sum() + (weights * y).sum()))
    close = np.flatnonzero(np.isclose(found, max(found), rtol=1e-12))[::-1]
    return float(grid[close[np.argmin(abs(grid[close] - 0.5))]])


def same(a: Kind, b: Kind) -> bool:
    one, other = a.export(), b.export()
    return all(np.array_equal(one[name], other[name]) for name in one)


@given(seed=st.integers(0, 2**32), n=st.integers(1, 60), q=st.integers(2, 5))
@example(seed=114143, n=29, q=3)  # two thresholds as good, and as near to 1/2
@settings(max_examples=30)
def test_maximises_f1_over_what_was_seen(seed: int, n: int, q: int) -> None:
    scores, y = stream(seed, n, q)
    y[0] = 1.0
    together, each = GlobalThreshold(resolution=64), PerLabelThresholds(q, resolution=16, least=1.0)
    together.update(scores, y)
    each.update(scores, y)
    weights = np.ones((n, q))
    assert together.value == best(scores, y, 64, weights)
    for j in range(q):
        assert each.value[j] == best(scores[:, j], y[:, j], 16, weights[:, j])


def test_forgets_by_weight() -> None:
    scores, y = stream(1, 50, 3)
    threshold = GlobalThreshold(decay=0.9, resolution=64)
    threshold.update(scores, y)
    ages = np.arange(len(y))[::-1, None] * np.ones((1, 3))
    assert threshold.value == best(scores, y, 64, 0.9**ages)


def test_follows_a_drift_only_with_forgetting() -> None:
    scores, y = stream(2, 3000, 4)
    drifted = np.concatenate([scores + 0.3] * 5 + [scores - 0.3])
    truth = np.concatenate([y] * 6)
    values = {}
    for decay in (1.0, 0.99):
        threshold = GlobalThreshold(decay=decay)
        threshold.update(drifted, truth)
        values[decay] = f1_score(y, threshold.predict(scores - 0.3), average="micro")
    alone = GlobalThreshold()
    alone.update(scores - 0.3, y)
    aim = f1_score(y, alone.predict(scores - 0.3), average="micro")
    assert values[0.99] > aim - 0.02 > values[1.0]


@pytest.mark.parametrize("kind", ["global", "each", "forgetting", "one label"])
def test_block_of_scores_equals_its_rows(kind: str) -> None:
    q = 1 if kind == "one label" else 4
    scores, y = stream(3, 500, q)

    def make() -> Kind:
        if kind == "global":
            return GlobalThreshold()
        return PerLabelThresholds(q, decay=0.9 if kind == "forgetting" else 1.0)

    block, loop, twin = make(), make(), make()
    predicted = block.predict_then_update(scores, y)
    margins = twin.margins_then_update(scores, y)
    assert np.array_equal(predicted, margins > 0.0)
    for i in range(len(y)):
        row = slice(i, i + 1)
        assert np.array_equal(loop.predict(scores[row]), predicted[row])
        assert np.array_equal(loop.margins(scores[row]), margins[row])
        loop.update(scores[row], y[row])
    assert same(block, loop)
    assert same(block, type(block).restore(block.export()))


def test_learned_thresholds_raise_f1() -> None:
    scores, y = stream(4, 4000, 6)
    fixed = f1_score(y, scores > 0.5, average=None)
    each = PerLabelThresholds(6).predict_then_update(scores, y)
    assert (f1_score(y, each, average=None) > fixed).all()
    together = GlobalThreshold().predict_then_update(scores, y)
    assert f1_score(y, together, average="micro") > f1_score(y, scores > 0.5, average="micro")


def test_scores_on_the_grid_are_not_above_it() -> None:
    thresholds = PerLabelThresholds(2, start=0.25, least=2.0)
    scores = np.array([[0.25, np.nextafter(0.25, 1.0)]])
    assert thresholds.predict_then_update(scores, np.ones((1, 2))).tolist() == [[0.0, 1.0]]
    assert thresholds.value.tolist() == [0.25, 0.25]
    thresholds.update(scores, np.ones((1, 2)))
    assert (thresholds.predict(scores) == 1.0).all()
    wild = np.array([[np.inf, -np.inf], [np.nan, 1e300]])
    thresholds.update(wild, np.zeros((2, 2)))
    assert np.isfinite(thresholds.value).all()


def test_grows_with_the_labels() -> None:
    scores, y = stream(5, 200, 3)
    thresholds = PerLabelThresholds(3)
    thresholds.update(scores, y)
    larger = thresholds.grown(5, np.array([0, 2, 4]))
    assert larger.value[[0, 2, 4]].tolist() == thresholds.value.tolist()
    assert larger.value[[1, 3]].tolist() == [0.5, 0.5]
    wide, truth = np.zeros((200, 5)), np.zeros((200, 5))
    wide[:, [0, 2, 4]], truth[:, [0, 2, 4]] = scores, y
    larger.update(wide, truth)
    thresholds.update(scores, y)
    assert larger.value[[0, 2, 4]].tolist() == thresholds.value.tolist()
    together = GlobalThreshold()
    assert together.grown(5, np.array([0])) is together


def test_refuses_settings_shapes_and_damaged_thresholds() -> None:
    for bad in ({"start": 1.0}, {"decay": 0.0}, {"least": -1.0}, {"resolution": 100}):
        with pytest.raises(ConfigurationError):
            GlobalThreshold(**bad)  # type: ignore[arg-type]
    thresholds = PerLabelThresholds(2)
    for scores, y in ((np.zeros((1, 3)), np.zeros((1, 3))), (np.zeros(2), np.zeros(2))):
        with pytest.raises(SampleError, match=r"allowed: \(n, 2\) twice"):
            thresholds.update(scores, y)
    state = thresholds.export()
    damages = (
        {"tables": np.zeros((2, 3, 2))}, {"tables": -np.ones((2, 97, 2))}, {"start": "x"},
        {"clock": np.zeros(3)}, {"resolution": 63}, {"decay": 2.0}, {"values": np.zeros(3)},
    )  # fmt: skip
    for change in damages:
        with pytest.raises(ModelError):
            PerLabelThresholds.restore({**state, **change})
    with pytest.raises(ModelError):
        GlobalThreshold.restore({**GlobalThreshold().export(), "resolution": 0})
