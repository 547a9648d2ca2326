"""Online NPSVOR as a River classifier: River's own checks, the block face, text, growth."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from river import checks, feature_extraction, preprocessing

from anabranch.errors import ConfigurationError, SampleError
from anabranch.learners import NPSVOR
from anabranch.protocol import Array
from anabranch.river_face import NPSVORClassifier
from anabranch.sparse import SparseRows
from anabranch.synthetic import nonlinear


def sparse_stream(n: int, features: int, seed: int = 0) -> tuple[Array, Array]:
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n, features)) * (draw.random((n, features)) < 0.4)
    return X, 1 + np.digitize(X[:, 0] - X[:, 1], [-0.5, 0.5])


def weights(learner: NPSVOR) -> bytes:
    return pickle.dumps([np.asarray(value).tolist() for value in learner.model().values()])


def test_rivers_checks_pass_as_a_whole_and_skip_nothing() -> None:
    checks.check_estimator(NPSVORClassifier(bits=6))
    assert NPSVORClassifier()._unit_test_skips() == set()
    assert NPSVORClassifier()._multiclass


def test_whole_numbers_are_columns_and_steps_equal_the_block_face_bit_for_bit() -> None:
    X, y = sparse_stream(150, 16)
    model, block = NPSVORClassifier(ranks=[1, 2, 3], bits=4), NPSVOR(16, 3)
    expected = block.predict_then_learn(SparseRows.of(X), y)
    found = []
    for x, label in zip(X, y.tolist(), strict=True):
        sample = {i: x[i] for i in np.flatnonzero(x)[::-1].tolist()}
        found.append(model.predict_one(sample))
        model.learn_one(sample, label)
    assert found == expected.tolist()
    assert weights(model._learner) == weights(block)


def test_names_are_hashed_and_those_of_one_column_added_up() -> None:
    X, y = sparse_stream(80, 6)
    model = NPSVORClassifier(ranks=[1, 2, 3], bits=2)
    columns = [model._place(f"word {i}") for i in range(6)]
    assert len(set(columns)) < 6
    block, folded = NPSVOR(4, 3), np.zeros((80, 4))
    for i, column in enumerate(columns):
        folded[:, column] += X[:, i]
    for x, label in zip(X, y.tolist(), strict=True):
        model.learn_one({f"word {i}": x[i] for i in range(6)}, label)
    block.learn(folded, y)
    assert model._learner.parameters() == pytest.approx(block.parameters(), rel=1e-5)


def test_text_through_a_pipeline_and_hashed_by_river() -> None:
    texts = [("dull and slow", 1), ("fine and moving", 3), ("so so", 2)] * 30
    length_one: Any = preprocessing.Normalizer()  # type: ignore[no-untyped-call]
    hasher = feature_extraction.BagOfWords() | preprocessing.FeatureHasher(n_features=64)
    for front in (feature_extraction.BagOfWords(), hasher):
        model: Any = copy.deepcopy(front) | copy.deepcopy(length_one) | NPSVORClassifier(bits=10)
        for text, label in texts:
            model.learn_one(text, label)
        assert [model.predict_one(text) for text, _ in texts[:3]] == [1, 3, 2]


def test_labels_seen_later_get_planes_of_their_own() -> None:
    X, y = nonlinear().block(0, 900)
    ranks = sorted(set(y.tolist()))
    model, names = NPSVORClassifier(bits=3), ["zero", *map(str, range(len(ranks)))]
    assert model.predict_one({"a": 1.0}) is None
    for row in np.argsort(y[:100], kind="stable"):  # ranks are seen from lowest to highest
        model.learn_one({"a": X[row, 0], "b": X[row, 1]}, names[ranks.index(y[row])])
    assert model._learner.ranks == len(ranks)
    assert model._labels == names[: len(ranks)]
    assert model.predict_one({"a": X[0, 0], "never seen": 3.0}) in names


def test_bad_samples_and_settings_are_refused_without_a_trace() -> None:
    model = NPSVORClassifier(ranks=["low", "high"], bits=4)
    model.learn_one({"a": 1.0, "b": -2.0}, "low")
    before = weights(model._learner)
    for sample, label in (
        ({"a": float("nan")}, "low"), ({"a": "x"}, "low"), ({"a": 1e200}, "high"),
        ({"a": 1.0}, "middle"),
    ):  # fmt: skip
        with pytest.raises(SampleError):
            model.learn_one(sample, label)
    assert weights(model._learner) == before
    with pytest.raises(SampleError):
        NPSVORClassifier(bits=4).learn_one({"a": 1.0}, float("nan"))
    bad: list[dict[str, Any]] = [{"ranks": ["one"]}, {"bits": 0}, {"bits": 31}, {"step": -1.0}]
    for options in bad:
        with pytest.raises(ConfigurationError):
            NPSVORClassifier(**options)
