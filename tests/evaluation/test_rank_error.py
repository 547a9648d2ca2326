"""RankMAE is the mean absolute error, also in River's evaluation of a classifier."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import evaluate, metrics, utils

from anabranch.evaluation import RankMAE
from anabranch.river_face import DSVORClassifier
from anabranch.synthetic import nonlinear

PAIRS = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=60)


@given(PAIRS, st.integers(1, 20))
def test_equals_rivers_mae_over_everything_and_over_a_window(pairs, window):
    mine, theirs = RankMAE(), metrics.MAE()
    rolling = utils.Rolling(RankMAE, window_size=window)
    for truth, predicted in pairs:
        mine.update(truth, predicted)
        theirs.update(truth, predicted)
        rolling.update(truth, predicted)
    assert mine.get() == pytest.approx(theirs.get(), abs=1e-12)
    recent = pairs[-window:]
    assert rolling.get() == pytest.approx(sum(abs(t - p) for t, p in recent) / len(recent))


def test_nothing_seen_is_zero():
    assert RankMAE().get() == 0.0


def test_river_scores_the_classifier_by_it():
    X, y = nonlinear(seed=2).block(0, 500)
    rows = [({"a": a, "b": b}, int(rank)) for (a, b), rank in zip(X.tolist(), y, strict=True)]
    model = DSVORClassifier(ranks=[1, 2, 3, 4], dimension=50)
    assert 0.05 < evaluate.progressive_val_score(rows, model, RankMAE()).get() < 0.6
