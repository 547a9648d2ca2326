"""DOML as a River classifier of sets of labels: River's own checks, the block face, growth."""

import pickle
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import checks, datasets, evaluate, metrics, preprocessing

from anabranch.errors import ConfigurationError, SampleError
from anabranch.evaluation import HammingLoss
from anabranch.learners import DOML
from anabranch.protocol import Array
from anabranch.river_face import DOMLClassifier

VARIANTS: list[dict[str, Any]] = [
    {}, {"predictor": "per-label", "cache": 30}, {"predictor": "linear", "bias": False},
    {"scaling": "none", "cache": 0, "ridge": 1.0}, {"form": "dual", "cache": 8, "ridge": 0.5},
    {"predictor": "mlknn", "cache": 25, "neighbours": 3},
]  # fmt: skip
NAMES = ["a", "b", "c"]
LABELS = ["calm", "sad"]


def stream(n: int, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 5.0, 0.2] + [4.0, 0.0, 1.0]
    scores = (X - [4.0, 0.0, 1.0]) @ np.array([[1.0, 0.0], [0.2, -0.3], [2.0, 4.0]])
    return X, (scores + 0.3 * rng.normal(size=(n, 2)) > 0.5).astype(float)


def rows(
    X: Array, y: Array, names: list[Any], labels: list[Any]
) -> list[tuple[dict[Any, float], dict[Any, bool]]]:
    return [
        (
            dict(zip(names, map(float, x), strict=True)),
            dict(zip(labels, map(bool, t), strict=True)),
        )
        for x, t in zip(X, y, strict=True)
    ]


class LocalMusic:
    """A stream in the place of River's Music data, which it would download."""

    def take(self, count: int) -> list[tuple[dict[str, float], dict[str, bool]]]:
        draw = np.random.default_rng(0)
        X = draw.normal(size=(count, 12))
        y = X[:, :6] + 0.5 * X[:, 6:] > 0.3
        return rows(X, y, [f"f{i}" for i in range(12)], [f"label {i}" for i in range(6)])


def all_checks() -> Iterator[Any]:
    for i, options in enumerate(VARIANTS):
        model = DOMLClassifier(**options)
        with patch.object(datasets, "Music", LocalMusic):
            for check in list(checks.yield_checks(model)):
                yield pytest.param(model, check, id=f"{check.__name__}-{i}")


@pytest.mark.parametrize(("model", "check"), list(all_checks()))
def test_passes_rivers_checks(model: DOMLClassifier, check: Any) -> None:
    check(model.clone())


def test_passes_rivers_checks_as_a_whole_and_skips_none() -> None:
    with patch.object(datasets, "Music", LocalMusic):
        checks.check_estimator(DOMLClassifier())
    assert DOMLClassifier()._unit_test_skips() == set()


@pytest.mark.parametrize("options", VARIANTS)
def test_steps_equal_those_of_doml_bit_for_bit(options: dict[str, Any]) -> None:
    X, y = stream(120)
    face = DOMLClassifier(labels=LABELS, **options)
    block = DOML(3, names=NAMES, labels=LABELS, **options)
    for i, (x, truth) in enumerate(rows(X, y, NAMES, LABELS)):
        predicted = block.predict(X[i : i + 1])[0] == 1.0
        assert face.predict_one(x) == dict(zip(LABELS, predicted.tolist(), strict=True))
        face.learn_one(x, truth)
        block.learn(X[i : i + 1], y[i : i + 1])
        block.combine(0, {}, {})
    assert face._learner is not None
    found, expected = face._learner.export(), block.export()
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        np.testing.assert_array_equal(found[key], value)


@pytest.mark.parametrize("options", VARIANTS)
def test_order_of_features_and_labels_changes_nothing(options: dict[str, Any]) -> None:
    X, y = stream(60)
    one, two = DOMLClassifier(**options), DOMLClassifier(**options)
    for x, truth in rows(X, y, NAMES, LABELS):
        turned = dict(reversed(x.items())), dict(reversed(truth.items()))
        assert one.predict_one(x) == two.predict_one(turned[0])
        one.learn_one(x, truth)
        two.learn_one(*turned)


@given(st.data())
@settings(max_examples=10)
@pytest.mark.parametrize("options", [{**options, "ridge": 0.7} for options in VARIANTS])
def test_what_is_missing_is_zero(options: dict[str, Any], data: st.DataObject) -> None:
    """Features and labels met one by one, in any order, equal zeros given from the start."""
    X, y = stream(25)
    names = data.draw(st.permutations(["zeta", 7, ("t", 1)]))
    labels = data.draw(st.permutations(["x", 3]))
    gone = st.sets(st.sampled_from([*names, *labels]), max_size=3)
    without = data.draw(st.lists(gone, min_size=25, max_size=25))
    late, early = DOMLClassifier(**options), DOMLClassifier(**options)
    for (x, truth), missing in zip(rows(X, y, names, labels), without, strict=True):
        early.learn_one(
            {f: 0.0 if f in missing else v for f, v in x.items()},
            {label: False if label in missing else v for label, v in truth.items()},
        )
        late.learn_one(
            {f: v for f, v in x.items() if f not in missing},
            {label: v for label, v in truth.items() if label not in missing},
        )
    one, two = late._learner, early._learner
    assert one is not None
    assert two is not None
    if one.features == two.features and one.labels == two.labels:
        np.testing.assert_allclose(one.coefficients, two.coefficients, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(one.intercepts, two.intercepts, rtol=1e-7, atol=1e-9)


def test_a_new_feature_leaves_predictions_as_they_are() -> None:
    for options in VARIANTS:
        X, y = stream(80)
        model = DOMLClassifier(**options)
        for x, truth in rows(X[:40], y[:40], NAMES, LABELS):
            model.learn_one(x, truth)
        before = model._learner
        assert before is not None
        margins = before.scores(X[40:])
        after = model._with_room({"Before": 1.0, "bb": 2.0})
        wide = np.zeros((40, 5))
        wide[:, [1, 2, 4]] = X[40:]
        np.testing.assert_allclose(after.scores(wide), margins, atol=1e-12)


def test_learns_with_rivers_tools() -> None:
    X, y = stream(800)
    data = [(x | {"constant": 3.0}, truth) for x, truth in rows(X, y, NAMES, LABELS)]
    micro = metrics.multioutput.MicroAverage(metrics.F1())
    evaluate.progressive_val_score(data, DOMLClassifier(labels=LABELS), micro)
    assert micro.get() > 0.9
    piped = preprocessing.StandardScaler() | DOMLClassifier(labels=LABELS, scaling="none")
    loss = HammingLoss()
    evaluate.progressive_val_score(data, piped, loss)
    assert loss.get() < 0.1


def test_survives_pickling() -> None:
    X, y = stream(60)
    model = DOMLClassifier(cache=20)
    for x, truth in rows(X[:30], y[:30], NAMES, LABELS):
        model.learn_one(x, truth)
    twin = pickle.loads(pickle.dumps(model))
    for x, truth in rows(X[30:], y[30:], [*NAMES[:2], "d"], ["sad", "new"]):
        assert model.predict_one(x) == twin.predict_one(x)
        model.learn_one(x, truth)
        twin.learn_one(x, truth)


def test_before_any_sample_no_known_label_applies() -> None:
    assert DOMLClassifier().predict_one({"a": 1.0}) == {}
    assert DOMLClassifier(labels=["x", 2]).predict_one({"a": 1.0}) == {"x": False, 2: False}
    model = DOMLClassifier()
    model.learn_one({}, {"x": True})
    assert model.predict_one({}).keys() == {"x"}
    model.learn_one({"a": 1.0}, {})
    assert model.predict_one({"a": 1.0}).keys() == {"x"}
    biased = DOMLClassifier(predictor="linear")
    for _ in range(3):
        biased.learn_one({}, {"x": True, "y": False})
    assert biased.predict_one({"later": 1.0}) == {"x": True, "y": False}
    with pytest.raises(NotImplementedError):
        model.predict_proba_one({"a": 1.0})


def test_refuses_bad_values_without_a_trace() -> None:
    X, y = stream(10)
    model = DOMLClassifier()
    for x, truth in rows(X, y, NAMES, LABELS):
        model.learn_one(x, truth)
    before = pickle.dumps(model)
    for x, truth in (
        ({"a": "one"}, {"calm": True}), ({"a": np.nan}, {"calm": True}),
        ({"new": 1.0}, {"calm": 2}), ({"new": 1.0}, {"calm": "yes"}), ({"new": 1.0}, {"": True}),
    ):  # fmt: skip
        with pytest.raises(SampleError):
            model.learn_one(x, truth)
    with pytest.raises(SampleError):
        model.predict_one({"a": None})
    assert pickle.dumps(model) == before
    for bad in (
        {"labels": ["a", "a"]}, {"labels": [""]}, {"predictor": "best"}, {"ridge": -1.0},
        {"cache": -1}, {"scaling": "some"}, {"dtype": "int8"}, {"form": "x"},
    ):  # fmt: skip
        with pytest.raises(ConfigurationError):
            DOMLClassifier(**bad)  # type: ignore[arg-type]
