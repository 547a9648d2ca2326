"""dSVOR as a River classifier: River's own checks, the block face, growth."""

import pickle
import random
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import checks, datasets, evaluate, metrics, preprocessing

from anabranch.errors import ConfigurationError, SampleError
from anabranch.learners import DSVOR
from anabranch.protocol import Array
from anabranch.river_face import DSVORClassifier

VARIANTS: list[dict[str, Any]] = [
    {"dimension": 40},
    {"dimension": 24, "cache": 5, "serve": "last"},
    {"kernel": "linear"},
    {"kernel": "linear", "cache": 3},
]
Pairs = list[tuple[dict[Any, Any], Any]]


def stream(n: int, features: int = 4, ranks: int = 3, seed: int = 0) -> tuple[Array, Array]:
    """A ranked sum of unlike features, with noise."""
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n, features)) * np.arange(1, features + 1) + 5.0
    f = X[:, 0] + 0.3 * X[:, 1] + 0.1 * draw.normal(size=n)
    cuts = np.quantile(f, np.arange(1, ranks) / ranks)
    return X, np.searchsorted(cuts, f) + 1


def rows(X: Array, y: Array, names: list[Any]) -> Pairs:
    return [
        (dict(zip(names, map(float, x), strict=True)), int(label))
        for x, label in zip(X, y, strict=True)
    ]


def exported(model: DSVORClassifier) -> bytes:
    assert model._learner is not None
    state = {k: np.asarray(v).tolist() for k, v in model._learner.export().items() if k != "config"}
    return pickle.dumps((state, model._scaler.mean.tolist(), model._scaler.m2.tolist()))


def all_checks() -> Iterator[Any]:
    for options in VARIANTS[:1] + VARIANTS[3:]:
        model = DSVORClassifier(**options)
        for check in checks.yield_checks(model):
            yield pytest.param(model, check, id=f"{check.__name__}-{model.kernel}")


@pytest.mark.parametrize(("model", "check"), list(all_checks()))
def test_passes_rivers_estimator_checks(model: DSVORClassifier, check: Any) -> None:
    check(model.clone())


def test_rivers_checks_pass_as_a_whole_and_skip_nothing() -> None:
    checks.check_estimator(DSVORClassifier(dimension=16))
    assert DSVORClassifier()._unit_test_skips() == set()
    assert DSVORClassifier()._multiclass


@pytest.mark.parametrize("options", VARIANTS)
def test_steps_equal_the_block_face_bit_for_bit(options: dict[str, Any]) -> None:
    X, y = stream(150)
    names = ["a", "b", "c", "d"]
    face = DSVORClassifier(ranks=[1, 2, 3], seed=3, **options)
    block = DSVOR(4, 3, names=names, seed=3, **options)
    predicted = []
    for x, label in rows(X, y, names):
        predicted.append(face.predict_one(x))
        face.learn_one(x, label)
    np.testing.assert_array_equal(predicted, block.predict_then_learn(X, y))
    assert face._learner is not None
    np.testing.assert_array_equal(face._learner.parameters(), block.parameters())
    for key in ("w", "b"):
        np.testing.assert_array_equal(face._learner.export()[key], block.export()[key])


def test_without_standardising_it_equals_the_block_face_without_scaling() -> None:
    X, y = stream(80)
    face = DSVORClassifier(ranks=[1, 2, 3], standardise=False)
    block = DSVOR(4, 3, names=["a", "b", "c", "d"], scaling="none")
    for x, label in rows(X, y, ["a", "b", "c", "d"]):
        face.learn_one(x, label)
    block.learn(X, y)
    assert face._learner is not None
    np.testing.assert_array_equal(face._learner.parameters(), block.parameters())


@given(st.data())
@settings(max_examples=25, deadline=None)
@pytest.mark.parametrize("options", VARIANTS)
def test_order_of_arrival_of_features_changes_nothing(
    options: dict[str, Any], data: st.DataObject
) -> None:
    """Shuffled dictionaries, and features known from the start or met one by one."""
    X, y = stream(25)
    names = data.draw(st.permutations(["zeta", 7, "b", ("t", 1)]))
    missing = data.draw(st.lists(st.sets(st.integers(0, 3), max_size=3), min_size=25, max_size=25))
    pairs = rows(X, y, ["b", "zeta", 7, ("t", 1)])
    fixed = {"gamma": 0.25, "dimension": 24} | options
    one, two = DSVORClassifier(**fixed), DSVORClassifier(**fixed)
    for (x, label), gone in zip(pairs, missing, strict=True):
        x = {f: v for i, (f, v) in enumerate(x.items()) if i not in gone}
        shuffled = {f: x[f] for f in names if f in x}
        assert one.predict_one(x) == two.predict_one(shuffled)
        one.learn_one(x, label)
        two.learn_one(shuffled, label)
    assert exported(one) == exported(two)


@pytest.mark.parametrize("options", VARIANTS)
def test_a_feature_that_is_always_missing_is_as_if_it_were_not_there(
    options: dict[str, Any],
) -> None:
    X, y = stream(60, features=3)
    fixed = {"gamma": 0.3, "dimension": 24} | options
    plain, late = DSVORClassifier(**fixed), DSVORClassifier(**fixed)
    pairs = rows(X, y, ["a", "c", "d"])
    for x, label in pairs:
        plain.learn_one(x, label)
        late.learn_one(x, label)
    late._make_room({"b": 1.0})  # as a sample with it would
    before = late.predict_one(pairs[0][0] | {"unknown": 3.0})
    assert before == plain.predict_one(pairs[0][0])
    for x, label in pairs:
        assert plain.predict_one(x) == late.predict_one(x)
        plain.learn_one(x, label)
        late.learn_one(x, label)
    assert plain._learner is not None
    assert late._learner is not None
    np.testing.assert_array_equal(plain._learner.export()["b"], late._learner.export()["b"])


def test_a_late_feature_starts_at_its_own_mean_and_not_at_zero() -> None:
    model = DSVORClassifier(kernel="linear")
    for i in range(50):
        model.learn_one({"a": float(i % 7)}, i % 7 > 3)
    model.learn_one({"a": 1.0, "late": 1000.0}, False)
    row, present = model._row({"a": 1.0, "late": 1000.0})
    assert model._scaler.transform(row, present)[1] == 0.0


@pytest.mark.parametrize(
    "labels", [["low", "mid", "high"], [False, True], [0, 10, 5], [(1, 2), None, "x"]]
)
def test_labels_are_ranked_as_first_seen_and_given_back_as_they_came(
    labels: list[Hashable],
) -> None:
    model = DSVORClassifier(kernel="linear")
    assert model.predict_one({"x": 1.0}) is None
    for i in range(400):
        rank = i % len(labels)
        model.learn_one({"x": rank + 0.1 * ((i * 7) % 5)}, labels[rank])
        assert model.predict_one({"x": 99.0}) in labels[: max(1, i + 1)]
    assert [model.predict_one({"x": r + 0.2}) for r in range(len(labels))] == labels
    assert model._learner is not None
    assert model._learner.ranks == max(2, len(labels) + 1)


def test_given_ranks_set_the_order_and_refuse_other_labels() -> None:
    model = DSVORClassifier(ranks=["low", "mid", "high"], kernel="linear")
    assert model.predict_one({"x": 1.0}) == "low"
    for i in range(300):
        model.learn_one({"x": i % 3}, ["high", "low", "mid"][(i + 1) % 3])
    assert [model.predict_one({"x": x}) for x in (0, 1, 2)] == ["low", "mid", "high"]
    before = pickle.dumps(model)
    with pytest.raises(SampleError, match=r"'huge'.*\['low', 'mid', 'high'\]"):
        model.learn_one({"x": 1.0, "new": 2.0}, "huge")
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e200, "red", None, [1.0]])
def test_a_bad_value_is_refused_and_changes_nothing(bad: object) -> None:
    model = DSVORClassifier()
    model.learn_one({"x": 1.0}, "a")
    before = pickle.dumps(model)
    with pytest.raises(SampleError, match="'new'"):
        model.learn_one({"x": 2.0, "new": bad}, "b")
    with pytest.raises(SampleError, match="'new'"):
        model.predict_one({"new": bad})
    with pytest.raises(SampleError, match="nan"):
        model.learn_one({"x": 2.0}, float("nan"))
    assert pickle.dumps(model) == before


def test_samples_without_features_and_far_outside() -> None:
    model = DSVORClassifier(kernel="linear")
    model.learn_one({}, "a")
    assert model.predict_one({}) == "a"
    model.learn_one({"x": 0.0}, "b")
    model.learn_one({"x": 1e-60}, "a")
    model.learn_one({}, "c")
    assert model.predict_one({"x": 1e100}) in {"a", "b", "c"}


@pytest.mark.parametrize(
    "options",
    [
        {"ranks": ["a"]},
        {"ranks": ["a", "b", "a"]},
        {"kernel": "cubic"},
        {"alpha": 2.0},
        {"gamma": 0.0},
        {"cache": 0},
    ],
)
def test_wrong_settings_are_refused_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="allowed"):
        DSVORClassifier(**options)


def test_a_late_field_of_an_additive_kernel_is_as_if_it_had_been_zero() -> None:
    X, y = stream(300)
    X = np.abs(X)
    X[:150, 2:] = 0.0
    names = ["a", "b", "c", "d"]
    model = DSVORClassifier(
        ranks=[1, 2, 3], kernel="chi-squared", dimension=10, gamma=0.1, standardise=False, cache=3
    )
    block = DSVOR(
        4, 3, kernel="chi-squared", dimension=20, gamma=0.1, scaling="none", names=names, cache=3
    )
    for i, (x, label) in enumerate(rows(X, y, names)):
        known = x if i >= 150 else {name: x[name] for name in "ab"}
        assert model.predict_one(known) == block.predict(X[i : i + 1])[0]
        model.learn_one(known, label)
        block.learn(X[i : i + 1], y[i : i + 1])
    with pytest.raises(ConfigurationError, match="allowed: standardise=False"):
        DSVORClassifier(kernel="hellinger")


def test_pickle_and_clone_in_mid_stream() -> None:
    X, y = stream(60)
    pairs = rows(X, y, ["a", "b", "c", "d"])
    model = DSVORClassifier(cache=4, dimension=24)
    for x, label in pairs[:30]:
        model.learn_one(x, label)
    again = pickle.loads(pickle.dumps(model))
    fresh = model.clone()
    for x, label in pairs[30:]:
        assert again.predict_one(x) == model.predict_one(x)
        again.learn_one(x, label)
        model.learn_one(x, label)
    assert exported(again) == exported(model)
    assert fresh.predict_one(pairs[0][0]) is None


def test_learns_in_a_pipeline_under_rivers_progressive_validation() -> None:
    samples = list(datasets.ImageSegments().take(600))
    random.Random(1).shuffle(samples)
    alone = DSVORClassifier(seed=1)
    piped = preprocessing.StandardScaler() | DSVORClassifier(seed=1, standardise=False)
    for model in (alone, piped):
        score = evaluate.progressive_val_score(samples, model, metrics.Accuracy())
        assert score.get() > 0.45  # seven classes without an order; chance is 1/7


def test_learns_an_order_that_local_scales_hide() -> None:
    X, y = stream(1500)
    pairs = rows(X, y, ["a", "b", "c", "d"])
    for kernel in ("gaussian", "linear"):
        score = evaluate.progressive_val_score(
            pairs, DSVORClassifier(ranks=[1, 2, 3], kernel=kernel), metrics.Accuracy()
        )
        assert score.get() > 0.75
