"""Baselines obey the laws of learners, and are the other libraries' models."""

import copy
import pickle
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import linear_model, multioutput, preprocessing
from sklearn.linear_model import SGDRegressor
from sklearn.preprocessing import StandardScaler

from anabranch.baselines import BASELINES, Baseline, RiverBinaryRelevance
from anabranch.errors import ConfigurationError, MessageError, ModelError, SampleError
from anabranch.kernels.checks import LIMIT
from anabranch.protocol import Array, Labelled, Learner, Message, takes_sparse
from anabranch.sparse import SparseRows

FEATURES = 3
LABELS = ("a", "b")
RANKS = 3


def make(kind: str, features: int = FEATURES) -> Baseline:
    cls: Callable[..., Baseline] = BASELINES[kind]
    match BASELINES[kind].task:
        case "multilabel":
            return cls(features, labels=LABELS)
        case "ordinal":
            return cls(features, RANKS)
    return cls(features)


def stream(kind: str, n: int, seed: int = 0, scale: float = 1.0) -> tuple[Array, Array]:
    draw = np.random.default_rng(seed)
    X = 2.0 + 3.0 * draw.normal(size=(n, FEATURES))
    tendency = (X - 2.0) @ np.array([1.0, -0.5, 0.3])
    match BASELINES[kind].task:
        case "multilabel":
            return scale * X, np.column_stack([tendency > 0.0, X[:, 2] > 4.0]).astype(float)
        case "ordinal":
            return scale * X, 1.0 + np.digitize(tendency, [-2.0, 2.0])
    return scale * X, scale * (tendency + 0.1 * draw.normal(size=n))


every = pytest.mark.parametrize("kind", BASELINES)


@every
def test_baseline_is_a_learner_without_neighbours(kind: str) -> None:
    baseline = make(kind)
    assert isinstance(baseline, Learner)
    assert isinstance(baseline, Labelled) == (baseline.task == "multilabel")
    assert not baseline.acts(0)
    assert list(baseline.messages(0)) == []
    baseline.combine(0, {}, {})
    message = Message({"w": np.zeros(1)})
    with pytest.raises(MessageError, match=kind):
        baseline.check_message(message)
    with pytest.raises(MessageError, match="'x'"):
        baseline.combine(0, {"x": message}, {"x": 1.0})
    assert baseline.parameters().ndim == 1


@every
def test_baseline_predicts_before_it_learned(kind: str) -> None:
    X, y = stream(kind, 5)
    predicted = make(kind).predict(X)
    assert predicted.shape == y.shape
    assert np.isfinite(predicted).all()
    assert make(kind).predict_then_learn(X[:0], y[:0]).shape == y[:0].shape


@every
@settings(max_examples=6)
@given(cuts=st.lists(st.integers(0, 40), max_size=4))
def test_blocks_of_a_baseline_equal_its_rows(kind: str, cuts: list[int]) -> None:
    X, y = stream(kind, 40)
    whole, parts, apart = make(kind), make(kind), make(kind)
    predicted = whole.predict_then_learn(X, y)
    pieces = [parts.predict_then_learn(X[a:b], y[a:b]) for a, b in pairwise([0, *sorted(cuts), 40])]
    assert np.array_equal(predicted, np.concatenate(pieces))
    for i in range(40):
        assert np.array_equal(apart.predict(X[i : i + 1])[0], predicted[i])
        apart.learn(X[i : i + 1], y[i : i + 1])
    assert np.array_equal(whole.predict(X), apart.predict(X))


@every
def test_baseline_restores_from_memory_and_continues(kind: str) -> None:
    X, y = stream(kind, 60)
    baseline = make(kind)
    baseline.learn(X[:30], y[:30])
    state = baseline.export()
    kept = pickle.dumps(state)
    expected = baseline.predict_then_learn(X[30:], y[30:])
    for found in (state, pickle.loads(kept)):
        twin = type(baseline).restore(found)
        assert np.array_equal(twin.predict_then_learn(X[30:], y[30:]), expected)
    again = type(baseline).restore(state)
    assert np.array_equal(again.predict_then_learn(X[30:], y[30:]), expected)


@every
def test_model_of_a_baseline_holds_settings_only(kind: str) -> None:
    X, y = stream(kind, 30)
    baseline = make(kind)
    baseline.learn(X, y)
    state = baseline.model()
    assert all(isinstance(value, int | str | dict | list) for value in state.values())
    fresh = type(baseline).restore(state)
    assert np.array_equal(fresh.predict(X), make(kind).predict(X))


@every
def test_bad_samples_of_a_baseline_change_nothing(kind: str) -> None:
    X, y = stream(kind, 30)
    baseline = make(kind)
    baseline.learn(X, y)
    before = baseline.predict(X)
    bad_X, bad_y = X.copy(), y.copy()
    bad_X[6, 1], bad_y[4] = np.nan, np.nan
    for rows, targets, fault in (
        (bad_X, y, r"X\[6, 1\]"), (X, bad_y, r"y\[4"), (X[:, :2], y, "shape"),
        (X[:4], y, "shape"), (X[0], y[:1], "shape"), (X, y[..., None], "shape"),
    ):  # fmt: skip
        for act in (baseline.learn, baseline.predict_then_learn):
            with pytest.raises(SampleError, match=fault):
                act(rows, targets)
    with pytest.raises(SampleError):
        baseline.predict(bad_X)
    assert np.array_equal(before, baseline.predict(X))


@every
def test_bad_states_and_settings_of_a_baseline_are_refused(kind: str) -> None:
    baseline = make(kind)
    state = baseline.export()
    for change in ({"schema": 9}, {"kind": "x"}, {"config": {}}, {"config": None}, {"model": 3}):
        with pytest.raises(ModelError):
            type(baseline).restore({**state, **change})
    cls: Any = type(baseline)
    for bad in ({"features": 0}, {"features": 2, "ranks": 3, "names": ["a"]}):
        with pytest.raises(ConfigurationError):
            cls(**bad)


@every
@pytest.mark.parametrize("scale", [1e6, LIMIT / 100.0])
def test_baseline_stays_scorable_whatever_comes(kind: str, scale: float) -> None:
    baseline = make(kind)
    with np.errstate(all="ignore"):
        baseline.learn(*stream(kind, 20))
        predicted = baseline.predict_then_learn(*stream(kind, 40, 1, scale))
        assert np.isfinite(predicted).all()
        assert np.isfinite(baseline.predict(stream(kind, 5, 2)[0])).all()


@every
def test_baseline_learns(kind: str) -> None:
    X, y = stream(kind, 600)
    baseline = make(kind)
    baseline.learn(X[:500], y[:500])
    found, truth = baseline.predict(X[500:]), y[500:]
    if baseline.task == "regression":
        assert ((found - truth) ** 2).mean() < 0.1 * truth.var()
    else:
        # without an intercept nothing separates the middle rank
        assert (found == truth).mean() > (0.5 if kind == "river-passive-aggressive" else 0.8)


@pytest.mark.parametrize("kind", [k for k, cls in BASELINES.items() if takes_sparse(cls)])
def test_sparse_rows_without_zeros_are_dense_rows(kind: str) -> None:
    X, y = stream(kind, 60)
    dense, rows = make(kind), SparseRows.of(X)
    sparse = make(kind)
    assert np.array_equal(sparse.predict_then_learn(rows, y), dense.predict_then_learn(X, y))
    assert np.array_equal(sparse.predict(rows), dense.predict(X))
    with pytest.raises(SampleError, match="shape"):
        sparse.predict(SparseRows.of(X[:, :2]))
    X[4, 1] = np.nan
    with pytest.raises(SampleError, match=r"X\[4, 1\]"):
        sparse.learn(SparseRows.of(X), y)


def test_all_of_rivers_take_sparse_rows() -> None:
    rivers = {kind: cls for kind, cls in BASELINES.items() if kind.startswith("river-")}
    assert rivers
    assert all(takes_sparse(cls) for cls in rivers.values())


def samples(X: Array) -> list[dict[int, float]]:
    return [dict(enumerate(row)) for row in X.tolist()]


@pytest.mark.parametrize("kind", ["river-binary-relevance", "river-classifier-chain"])
def test_labels_are_rivers(kind: str) -> None:
    X, y = stream(kind, 80)
    logistic = linear_model.LogisticRegression()
    head = (
        multioutput.ClassifierChain(logistic, list(LABELS))
        if kind.endswith("chain")
        else multioutput.PerOutputClassifier(logistic)
    )
    scaler, rows = preprocessing.StandardScaler(), []
    for x, truth in zip(samples(X), y, strict=True):
        found = head.predict_one(scaler.transform_one(x))
        rows.append([bool(found.get(label, False)) for label in LABELS])
        scaler.learn_one(x)
        head.learn_one(scaler.transform_one(x), dict(zip(LABELS, truth == 1.0, strict=True)))
    assert np.array_equal(make(kind).predict_then_learn(X, y), np.array(rows, dtype=float))


def test_regression_is_scikit_learns() -> None:
    X, y = stream("sklearn-sgd", 200)
    scaler, model, out = StandardScaler(), SGDRegressor(random_state=0), []
    for x, target in zip(X, y, strict=True):
        row = x[None, :]
        known = hasattr(model, "coef_")
        out.append(model.predict(scaler.transform(row))[0] if known else 0.0)
        model.partial_fit(scaler.partial_fit(row).transform(row), [target])
    assert make("sklearn-sgd").predict_then_learn(X, y) == pytest.approx(np.array(out), abs=1e-9)


@pytest.mark.parametrize("kind", ["river-binary-relevance", "river-classifier-chain"])
def test_baselines_take_later_labels_up(kind: str) -> None:
    X, y = stream(kind, 120)
    cls: Any = BASELINES[kind]
    baseline = cls(FEATURES, labels=["b"])
    baseline.learn(X[:40], y[:40, 1:])
    twin = copy.deepcopy(baseline)
    baseline.admit(["z", "a"])
    baseline.admit(["z"])
    assert baseline.labels == ("b", "a", "z")
    assert np.array_equal(baseline.predict(X)[:, :1], twin.predict(X))
    wide = np.column_stack([y[:, 1], y[:, 0], np.zeros(len(y))])
    baseline.learn(X[40:80], wide[40:80])
    restored = cls.restore(baseline.export())
    assert restored.labels == baseline.labels
    found = baseline.predict_then_learn(X[80:], wide[80:])
    assert np.array_equal(restored.predict_then_learn(X[80:], wide[80:]), found)
    assert (found == wide[80:]).mean() > 0.7
    with pytest.raises(ModelError):
        cls.restore({**baseline.export(), "admitted": [""]})
    with pytest.raises(ConfigurationError):
        baseline.admit([""])


def test_labels_may_be_named_like_the_fields() -> None:
    X, y = stream("river-classifier-chain", 60)
    one = BASELINES["river-classifier-chain"](FEATURES, labels=["0", "1"])  # type: ignore[call-arg]
    other = BASELINES["river-classifier-chain"](FEATURES, labels=LABELS)  # type: ignore[call-arg]
    assert np.array_equal(one.predict_then_learn(X, y), other.predict_then_learn(X, y))
    empty = RiverBinaryRelevance(FEATURES)
    assert empty.predict_then_learn(X, np.zeros((60, 0))).shape == (60, 0)
