"""Tallies of regression against River's per-sample updates."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import metrics, utils

from anabranch.errors import ConfigurationError, ModelError, SampleError
from anabranch.evaluation import AdjustedR2, add_totals, restore_tally, scores, tally_for
from anabranch.protocol import Array

FEATURES = 3


def stream(seed: int, n: int, offset: float = 5.0) -> tuple[Array, Array]:
    draw = np.random.default_rng(seed)
    y = offset + 3.0 * draw.normal(size=n)
    return y, y + draw.normal(size=n)


def rivers(y: Array, predicted: Array, window: int = 0) -> dict[str, float]:
    made = {
        "RMSE": metrics.RMSE(), "MAE": metrics.MAE(), "R2": metrics.R2(),
        "AdjustedR2": AdjustedR2(FEATURES),
    }  # fmt: skip
    start = max(0, len(y) - window) if window else 0
    for t, p in zip(y[start:], predicted[start:], strict=True):
        for metric in made.values():
            metric.update(float(t), float(p))
    return {name: metric.get() for name, metric in made.items()}


@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 200),
    window=st.integers(1, 80),
    cuts=st.lists(st.integers(0, 200), max_size=6),
)
@settings(max_examples=50, deadline=None)
def test_block_scores_equal_rivers_updates(seed: int, n: int, window: int, cuts: list[int]) -> None:
    y, predicted = stream(seed, n)
    tally = tally_for("regression", features=FEATURES, window=window)
    for a, b in pairwise([0, *sorted(min(cut, n) for cut in cuts), n]):
        tally.add(y[a:b], predicted[a:b])
    whole, newest = scores("regression", tally.totals()), tally.window_totals()
    assert whole == pytest.approx(rivers(y, predicted), rel=1e-12, abs=1e-12)
    expected = rivers(y, predicted, window)
    assert scores("regression", newest) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_window_is_rivers_rolling_window() -> None:
    y, predicted = stream(1, 150)
    tally = tally_for("regression", window=40)
    rolling = utils.Rolling(metrics.MAE(), 40)
    for t, p in zip(y, predicted, strict=True):
        rolling.update(t, p)
    tally.add(y, predicted)
    assert scores("regression", tally.window_totals())["MAE"] == pytest.approx(rolling.get())


@pytest.mark.parametrize("offset", [0.0, 1e8, -1e8])
def test_nodes_add_up_wherever_the_targets_are(offset: float) -> None:
    y, predicted = stream(2, 600, offset)
    whole = tally_for("regression")
    whole.add(y, predicted)
    parts = [tally_for("regression") for _ in range(5)]
    for i, part in enumerate(parts):
        part.add(y[i::5], predicted[i::5])
    pooled = scores("regression", add_totals(part.totals() for part in parts))
    assert pooled == pytest.approx(scores("regression", whole.totals()), rel=1e-9)
    exact = 1.0 - ((y - predicted) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    assert pooled["R2"] == pytest.approx(exact, rel=1e-9)


def test_nodes_with_targets_far_apart_add_up() -> None:
    near, far = stream(3, 100), stream(4, 50, 1e6)
    parts = [tally_for("regression"), tally_for("regression")]
    for part, (y, predicted) in zip(parts, (near, far), strict=True):
        part.add(y, predicted)
    y = np.concatenate([near[0], far[0]])
    errors = y - np.concatenate([near[1], far[1]])
    found = scores("regression", add_totals(part.totals() for part in parts))
    exact = 1.0 - (errors**2).sum() / ((y - y.mean()) ** 2).sum()
    assert found["R2"] == pytest.approx(exact, abs=1e-12)
    assert found["RMSE"] == pytest.approx(np.sqrt((errors**2).mean()))


def test_restored_tally_continues_exactly() -> None:
    y, predicted = stream(5, 90)
    tally = tally_for("regression", features=2, window=20)
    tally.add(y[:50], predicted[:50])
    twin = restore_tally(tally.export())
    for one in (tally, twin):
        one.add(y[50:], predicted[50:])
    for key, value in tally.export().items():
        np.testing.assert_array_equal(value, twin.export()[key])


def test_refuses_what_cannot_be_scored() -> None:
    tally = tally_for("regression", window=3)
    for y, predicted in (([1.0], [1.0, 2.0]), ([np.nan], [1.0]), ([1.0], [np.inf])):
        with pytest.raises(SampleError):
            tally.add(np.array(y), np.array(predicted))
    assert tally.totals() == {}
    state = tally.export()
    bad = {"schema": 2}, {"cursor": np.array([9, 0])}, {"sums": np.zeros(4)}, {"features": -1}
    for change in bad:
        with pytest.raises(ModelError):
            restore_tally({**state, **change})
    with pytest.raises(ConfigurationError):
        tally_for("regression", window=-1)
