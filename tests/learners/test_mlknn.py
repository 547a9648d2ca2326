"""ML-kNN against its definition, written out, and its window against fits from scratch."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, hamming_loss

from anabranch.errors import ConfigurationError, MessageError, ModelError, SampleError
from anabranch.learners import MLKNN, make
from anabranch.learners.mlknn_batch import fit_mlknn
from anabranch.protocol import Array, Labelled, Margins, Message
from tests.learners.multilabel_sets import train_and_test

Pair = tuple[Array, Array]


def neighbours_of(x: Array, X: Array, k: int, leave: int = -1) -> Array:
    """The k nearest rows of X, the first of equal ones first."""
    away = ((X - x) ** 2).cumsum(axis=1)[:, -1]
    order = np.argsort(away, kind="stable")
    return order[order != leave][:k]


def written_out(X: Array, y: Array, U: Array, k: int = 10, s: float = 1.0) -> Array:
    """Equations (1) to (4) of Zhang and Zhou (2007), in floating point as they stand."""
    m, q = y.shape
    prior = (s + y.sum(axis=0)) / (2.0 * s + m)
    having, lacking = np.zeros((q, k + 1)), np.zeros((q, k + 1))
    for i in range(m):
        c = y[neighbours_of(X[i], X, k, leave=i)].sum(axis=0).astype(int)
        table = np.where(y[i] == 1.0, 1, 0)
        for j in range(q):
            (having if table[j] else lacking)[j, c[j]] += 1.0
    having = (s + having) / (s * (k + 1) + having.sum(axis=1, keepdims=True))
    lacking = (s + lacking) / (s * (k + 1) + lacking.sum(axis=1, keepdims=True))
    out = np.zeros((len(U), q))
    for i, u in enumerate(U):
        c = y[neighbours_of(u, X, k)].sum(axis=0).astype(int)
        label = np.arange(q)
        out[i] = prior * having[label, c] > (1.0 - prior) * lacking[label, c]
    return out


def stream(seed: int, n: int, q: int = 3, d: int = 3, *, ties: bool = False) -> Pair:
    draw = np.random.default_rng(seed)
    X = draw.integers(0, 3, size=(n, d)).astype(float) if ties else draw.normal(size=(n, d))
    near = X @ draw.normal(size=(d, q))
    return X, (near + 0.5 * draw.normal(size=(n, q)) > 0.6).astype(float)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n", [0, 1, 4, 11, 300])
def test_batch_is_the_definition(n: int, ties: bool) -> None:
    X, y = stream(n, n + 60, ties=ties)
    fitted = fit_mlknn(X[:n], y[:n])
    expected = written_out(X[:n], y[:n], X[n:])
    # Where both sides are equal, rounding decides in the written-out form, and no label is here.
    sure = abs(fitted.margins(X[n:])) > 1e-12
    assert (fitted.predict(X[n:]) == expected)[sure].all()
    assert (fitted.predict(X[n:])[~sure] == 0.0).all()
    assert sure.mean() > 0.9 or n < 2


def test_equal_odds_give_no_label() -> None:
    fitted = fit_mlknn(np.array([[0.0], [1.0]]), np.array([[1], [0]]), neighbours=1)
    assert fitted.predict(np.array([[0.5]])).tolist() == [[0.0]]
    nothing = fit_mlknn(np.zeros((0, 2)), np.zeros((0, 3)))
    assert nothing.margins(np.ones((2, 2))).tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize(
    ("name", "hamming", "macro", "micro"),
    [
        ("emotions", 0.2937, 0.3853, 0.4573),
        ("scene", 0.0989, 0.6916, 0.6986),
        ("cal500", 0.1325, 0.0563, 0.3426),
        ("yeast", 0.1980, 0.3361, 0.6250),
        ("Corel5k", 0.0093, 0.0118, 0.0365),
    ],
)
def test_values_on_the_standard_splits(
    shared: Path, name: str, hamming: float, macro: float, micro: float
) -> None:
    X, y, U, truth = train_and_test(shared, name)
    predicted = fit_mlknn(X, y).predict(U)
    assert hamming_loss(truth, predicted) == pytest.approx(hamming, abs=5e-5)
    found = {a: f1_score(truth, predicted, average=a, zero_division=0) for a in ("macro", "micro")}
    assert found == pytest.approx({"macro": macro, "micro": micro}, abs=5e-5)


def test_a_point_is_not_its_own_neighbour(shared: Path) -> None:
    """Counting it gives .3036 on emotions, as scikit-multilearn does, for .2937."""
    X, y, U, truth = train_and_test(shared, "emotions")
    assert (fit_mlknn(X, y).predict(U) == written_out(X, y, U)).all()
    twice = fit_mlknn(X, y)
    counts = [y[neighbours_of(x, X, 10)].sum(axis=0).astype(int) for x in X]
    twice.table[:] = 0
    for labels, c in zip(y.astype(int), counts, strict=True):
        for j in range(6):
            twice.table[labels[j], j, c[j]] += 1
    assert hamming_loss(truth, twice.predict(U)) == pytest.approx(0.3036, abs=5e-5)


@given(
    seed=st.integers(0, 2**32),
    k=st.integers(1, 6),
    cache=st.integers(0, 25),
    ties=st.booleans(),
)
@settings(max_examples=25)
def test_window_is_the_batch_fit_of_its_rows(seed: int, k: int, cache: int, ties: bool) -> None:
    X, y = stream(seed, 70, ties=ties)
    node = MLKNN(3, neighbours=k, cache=cache, labels=3)
    margins = node.predict_then_learn_margins(X, y)[1]
    for i in range(len(X)):
        rows = slice(max(0, i - cache) if cache else 0, i)
        fitted = fit_mlknn(X[rows], y[rows], neighbours=k)
        assert np.array_equal(fitted.margins(X[i : i + 1])[0], margins[i])
    newest = slice(len(X) - cache, None) if cache else slice(None)
    fitted = fit_mlknn(X[newest], y[newest], neighbours=k)
    assert np.array_equal(node.scores(X), fitted.margins(X))
    assert np.array_equal(node.predict(X), fitted.predict(X))


@pytest.mark.parametrize("cache", [0, 50])
def test_own_units_are_standard_deviations(cache: int) -> None:
    """Distances count standard deviations of the first 64 samples from then up to 128."""
    X, y = stream(7, 120)
    X = np.column_stack([X * [1e3, 1.0, 1e-3] + 5.0, X[:, 0] > 0.0, np.full(120, 7.0)])
    node = MLKNN(5, cache=cache, scaling="own", labels=3)
    node.learn(X[:100], y[:100])
    scale = np.append(X[:64, :3].std(axis=0), [1.0, 1.0])
    newest = slice(100 - cache if cache else 0, 100)
    fitted = fit_mlknn(X[newest] / scale, y[newest])
    np.testing.assert_allclose(node.scores(X), fitted.margins(X / scale), atol=1e-12)


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return bool(a == b)


@given(
    cuts=st.lists(st.integers(0, 80), max_size=5),
    cache=st.sampled_from([0, 7, 40, 200]),
    scaling=st.sampled_from(["none", "own"]),
)
@settings(max_examples=30)
def test_blocks_of_mlknn_equal_its_rows(cuts: list[int], cache: int, scaling: str) -> None:
    X, y = stream(1, 80)
    whole, parts = (
        MLKNN(3, neighbours=4, cache=cache, scaling=scaling, labels=3) for _ in range(2)
    )
    predicted = [
        parts.predict_then_learn(X[a:b], y[a:b]) for a, b in pairwise([0, *sorted(cuts), 80])
    ]
    assert equal(whole.predict_then_learn(X, y), np.concatenate(predicted))
    assert equal(whole.export(), parts.export())
    assert equal(whole.parameters(), parts.parameters())


@pytest.mark.parametrize("cache", [0, 30])
@pytest.mark.parametrize("scaling", ["none", "own"])
def test_mlknn_restores_and_continues(cache: int, scaling: str) -> None:
    X, y = stream(2, 150)
    node = MLKNN(3, neighbours=5, cache=cache, scaling=scaling, labels=["a"])
    node.learn(X[:20], y[:20, :1])
    node.admit(["c", "b"])
    node.learn(X[20:70], y[20:70])
    twin = MLKNN.restore(node.export())
    assert equal(node.export(), twin.export())
    assert twin.labels == ("a", "b", "c")
    one, other = (n.predict_then_learn_margins(X[70:], y[70:]) for n in (node, twin))
    assert equal(one[1], other[1])
    assert equal(node.export(), twin.export())


def test_later_labels_were_had_by_no_row_before() -> None:
    X, y = stream(3, 90)
    y[:40, 1:] = 0.0
    grown, known = MLKNN(3, cache=60, labels=["m"]), MLKNN(3, cache=60, labels=["m", "a", "z"])
    grown.learn(X[:40], y[:40, :1])
    grown.admit(["z", "m"])
    grown.admit(["a"])
    assert grown.labels == ("m", "a", "z")
    known.learn(X[:40], y[:40])
    for node in (grown, known):
        node.learn(X[40:], y[40:])
    assert equal(grown.scores(X), known.scores(X))
    empty = MLKNN(3)
    assert empty.predict_then_learn(X, np.zeros((90, 0))).shape == (90, 0)
    empty.admit(["a"])
    empty.learn(X, y[:, :1])
    assert empty.scores(X).shape == (90, 1)


def test_model_of_mlknn_holds_samples_only_where_wanted() -> None:
    X, y = stream(4, 60)
    node, open_ = MLKNN(3, labels=3), MLKNN(3, labels=3, save_samples=True)
    for one in (node, open_):
        one.learn(X, y)
    assert not any(isinstance(value, np.ndarray) for value in node.model().values())
    assert not MLKNN.restore(node.model()).predict(X).any()
    assert equal(MLKNN.restore(open_.model()).scores(X), node.scores(X))


def test_mlknn_says_and_hears_nothing() -> None:
    node = make("mlknn", 3, 0, labels=2)
    assert isinstance(node, MLKNN)
    assert isinstance(node, Labelled)
    assert isinstance(node, Margins)
    assert not node.acts(0)
    assert list(node.messages(0)) == []
    node.combine(0, {}, {"a": 0.5})
    message = Message({"P": np.zeros(2)})
    with pytest.raises(MessageError):
        node.check_message(message)
    with pytest.raises(MessageError, match="'a'"):
        node.combine(0, {"a": message}, {"a": 0.5})
    assert node.predict(np.ones((2, 3))).tolist() == [[0.0, 0.0]] * 2


def test_bad_samples_of_mlknn_change_nothing() -> None:
    X, y = stream(5, 30)
    node = MLKNN(3, labels=3)
    node.learn(X, y)
    before = node.export()
    bad_X, bad_y = X.copy(), y.copy()
    bad_X[6, 1], bad_y[4, 2] = np.inf, 0.5
    for rows, labels, fault in (
        (bad_X, y, r"X\[6, 1\]"), (X, bad_y, r"y\[4, 2\]"), (X[:, :2], y, "shape"),
        (X, y[:, :2], "shape"), (X[0], y[0], "shape"), (X[:4], y, "shape"),
    ):  # fmt: skip
        for act in (node.learn, node.predict_then_learn, node.predict_then_learn_margins):
            with pytest.raises(SampleError, match=fault):
                act(rows, labels)
    with pytest.raises(SampleError, match=r"X\[6, 1\]"):
        node.predict(bad_X)
    assert equal(before, node.export())
    for shape in (np.zeros((2, 3)), np.zeros((3, 1))):
        with pytest.raises(SampleError):
            fit_mlknn(X[:2], shape[:, 0])
        with pytest.raises(SampleError):
            fit_mlknn(X[:2], y[:2]).predict(shape[:, :1])


def test_bad_settings_and_states_of_mlknn_are_refused() -> None:
    for bad in (
        {"neighbours": 0}, {"smoothing": 0.0}, {"cache": -1}, {"save_samples": 1},
        {"names": ["a"]}, {"labels": ["a", "a"]}, {"scaling": "consensus"},
    ):  # fmt: skip
        with pytest.raises(ConfigurationError):
            MLKNN(3, **bad)  # type: ignore[arg-type]
    node = MLKNN(3, labels=3)
    node.learn(*stream(6, 20))
    state = node.export()
    for change in (
        {"schema": 9}, {"kind": "doml"}, {"config": None}, {"config": {}}, {"admitted": [""]},
        {"X": state["X"][:-1]}, {"y": state["y"] * 2}, {"y": "none"}, {"admitted": 7},
        {"config": {**state["config"], "neighbours": 0}}, {"X": state["X"] * np.nan},
        {"config": {**state["config"], "cache": 3}}, {"count": 1.5}, {"units": -state["units"]},
    ):  # fmt: skip
        with pytest.raises(ModelError):
            MLKNN.restore({**state, **change})
    for name in ("config", "admitted", "y", "units", "count"):
        with pytest.raises(ModelError, match=name):
            MLKNN.restore({key: value for key, value in state.items() if key != name})
