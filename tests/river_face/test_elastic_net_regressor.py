"""The elastic net as a River regressor: River's own checks, the block face, growth."""

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import checks, evaluate, linear_model, metrics, preprocessing
from river.datasets import TrumpApproval

from anabranch.errors import ConfigurationError, SampleError
from anabranch.learners import ElasticNet
from anabranch.protocol import Array
from anabranch.river_face import ElasticNetRegressor

VARIANTS: list[dict[str, Any]] = [
    {}, {"decay": 0.97}, {"window": 30, "panes": 3}, {"scaling": "none", "growth": 0.0},
]  # fmt: skip
NAMES = ["a", "b", "c"]


def stream(n: int, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 5.0, 0.2] + 4.0
    return X, X @ [1.0, -0.5, 3.0] + 0.1 * rng.normal(size=n)


def rows(X: Array, y: Array, names: list[Any]) -> list[tuple[dict[Any, float], float]]:
    return [
        (dict(zip(names, map(float, x), strict=True)), float(t)) for x, t in zip(X, y, strict=True)
    ]


def all_checks() -> Iterator[Any]:
    for i, options in enumerate(VARIANTS):
        model = ElasticNetRegressor(**options)
        for check in checks.yield_checks(model):
            yield pytest.param(model, check, id=f"{check.__name__}-{i}")


@pytest.mark.parametrize(("model", "check"), list(all_checks()))
def test_passes_rivers_estimator_checks(model: ElasticNetRegressor, check: Any) -> None:
    check(model.clone())


def test_rivers_checks_pass_as_a_whole_and_skip_nothing() -> None:
    checks.check_estimator(ElasticNetRegressor())
    assert ElasticNetRegressor()._unit_test_skips() == set()


@pytest.mark.parametrize("options", VARIANTS)
def test_steps_equal_the_block_face_bit_for_bit(options: dict[str, Any]) -> None:
    X, y = stream(120)
    face, block = ElasticNetRegressor(**options), ElasticNet(3, names=NAMES, **options)
    for i, (x, target) in enumerate(rows(X, y, NAMES)):
        if i:
            assert face.predict_one(x) == block.predict(X[i : i + 1])[0]
        face.learn_one(x, target)
        block.learn(X[i : i + 1], y[i : i + 1])
        block.combine(0, {}, {})
    assert face.weights == dict(zip(NAMES, block.coefficients.tolist(), strict=True))
    assert face.intercept == block.intercept


@given(st.data())
@settings(max_examples=20, deadline=None)
@pytest.mark.parametrize("options", VARIANTS)
def test_a_feature_that_is_missing_is_zero(options: dict[str, Any], data: st.DataObject) -> None:
    """Features met one by one, in any order, equal zeros given from the start."""
    X, y = stream(25)
    names = data.draw(st.permutations(["zeta", 7, ("t", 1)]))
    gone = data.draw(st.lists(st.sets(st.integers(0, 2), max_size=2), min_size=25, max_size=25))
    options = {**options, "growth": 0.0}
    one, two = ElasticNetRegressor(**options), ElasticNetRegressor(**options)
    whole, missing = {"zeta", 7, ("t", 1)}, 0
    for (x, target), without in zip(rows(X, y, names), gone, strict=True):
        kept = {f: v for i, (f, v) in enumerate(x.items()) if i not in without}
        missing += len(without)
        one.learn_one(kept, target)
        two.learn_one({f: kept.get(f, 0.0) for f in whole}, target)
    probe = {"zeta": 1.0, 7: 2.0, ("t", 1): 3.0}
    assert one.predict_one(probe) == pytest.approx(two.predict_one(probe), rel=1e-6, abs=1e-6)


def test_bad_samples_change_nothing() -> None:
    model = ElasticNetRegressor()
    for x, target in rows(*stream(20), NAMES):
        model.learn_one(x, target)
    before = pickle.dumps(model)
    for x, target in (
        ({"a": float("nan")}, 1.0), ({"a": "x"}, 1.0), ({"new": 1e200}, 1.0),
        ({"a": 1.0}, float("inf")), ({"new": 1.0}, "tall"),
    ):  # fmt: skip
        with pytest.raises(SampleError, match="allowed"):
            model.learn_one(x, target)
    assert pickle.dumps(model) == before


def test_samples_without_features_have_a_mean() -> None:
    model = ElasticNetRegressor()
    for target in (1.0, 2.0, 6.0):
        model.learn_one({}, target)
    assert model.predict_one({}) == pytest.approx(3.0)
    assert model.predict_one({"unknown": 5.0}) == pytest.approx(3.0)
    assert model.weights == {}
    model.learn_one({"a": 1.0}, 3.0)
    again = pickle.loads(pickle.dumps(model))
    assert set(again.weights) == {"a"}
    assert again.predict_one({"a": 1.0}) == model.predict_one({"a": 1.0})


def test_no_worse_than_rivers_linear_regression() -> None:
    ours = ElasticNetRegressor(u1=0.0, u2=1e-4)
    theirs = preprocessing.StandardScaler() | linear_model.LinearRegression()
    scores = [
        evaluate.progressive_val_score(TrumpApproval(), model, metrics.RMSE()).get()
        for model in (ours, theirs)
    ]
    assert scores[0] < scores[1]


@pytest.mark.parametrize("options", [{"u1": -1.0}, {"decay": 0.0}, {"scaling": "robust"}])
def test_wrong_settings_are_refused_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="allowed"):
        ElasticNetRegressor(**options)
