"""Months of rows, and samples of awkward magnitude."""

import warnings
from typing import Any

import numpy as np
import pytest

from anabranch.evaluation import OrdinalTally, scores
from anabranch.learners import DSVOR, make
from anabranch.protocol import Array, Learner
from anabranch.synthetic import linear, nonlinear

TRILLION = 1e12


def error(node: Learner, X: Array, y: Array) -> float:
    return float(np.abs(node.predict(X) - y).mean())


def aged(state: dict[str, Any], rows: float) -> dict[str, Any]:
    """The state after so many rows of the same kind."""
    progress = state["progress"].copy()
    growth = rows / progress[0]
    progress[[0, 3, 4, 7]] = rows
    return {**state, "progress": progress, "M2": state["M2"] * growth}


@pytest.mark.parametrize("cache", [1, 20])
@pytest.mark.parametrize("closed", [False, True])
def test_a_trillion_rows_later_it_still_counts_and_learns(cache: int, closed: bool) -> None:
    stream = nonlinear(seed=1)
    node = make("dsvor", 2, 4, cache=cache)
    node.learn(*stream.block(0, 3000))
    for t in range(20 if closed else 0):
        node.combine(t, {}, {})
    old = DSVOR.restore(aged(node.export(), TRILLION))
    fresh = stream.block(10**6, 2000)
    X, y = stream.block(3000, 5000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        old.learn(X, 5.0 - y)  # the world turns round: the floor of the step must follow
    progress = old.export()["progress"]
    assert progress[[3, 4]].tolist() == [TRILLION + 5000] * 2
    assert progress[0] == TRILLION + (0 if closed else 5000)
    assert error(old, fresh[0], 5.0 - fresh[1]) < 0.2
    moments = old.export()
    deviation = np.sqrt(moments["M2"] / progress[0])
    np.testing.assert_allclose(deviation, np.sqrt(1.0 / 12.0), rtol=0.05)


def test_a_batch_node_counts_on_too() -> None:
    node = make("dsvor-batch", 3, 4, kernel="linear", scaling="none")
    node.learn(*linear(seed=1).block(0, 200))
    state = node.export()
    state["progress"][3] = TRILLION
    old = type(node).restore(state)
    old.combine(0, {}, {})
    assert old.export()["progress"][3] == TRILLION + 1
    assert np.isfinite(old.parameters()).all()


def test_a_tally_of_trillions_scores_exactly() -> None:
    state = OrdinalTally(ranks=3).export()
    state["counts"] = np.array([[3, 1, 0], [0, 4, 2], [1, 0, 5]]) * 10**15
    tally = OrdinalTally.restore(state)
    tally.add(np.array([1.0]), np.array([1]))
    totals = tally.totals()
    assert totals["counts"][0, 0] == 3 * 10**15 + 1
    small = scores("ordinal", {"counts": state["counts"] // 10**15})
    assert scores("ordinal", totals) == pytest.approx(small, rel=1e-12)


def test_what_decays_ends_as_zero_and_not_as_a_denormal_number() -> None:
    node = make("dsvor", 8, 3, kernel="linear", scaling="none", alpha=1.0)
    X = np.zeros((120_000, 8))
    X[:200] = np.random.default_rng(0).normal(size=(200, 8))
    X[200:, 7] = np.where(np.arange(119_800) % 2, 5.0, -5.0)  # soon without any hinge
    node.learn(X, 1.0 + 2.0 * (X[:, 7] > 0.0))
    current, served = node.export()["w"]
    assert served[7] != 0.0
    assert (current[:7] == 0.0).all()
    assert (served[:7] == 0.0).all()


def test_mixing_decays_to_zero_too() -> None:
    silent, learned = (make("dsvor", 2, 3, kernel="linear", scaling="none") for _ in range(2))
    learned.learn(np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([1, 3]))
    zero = silent.messages(0)[0]
    for t in range(3000):
        learned.combine(t, {"a": zero}, {"a": 0.5})
    assert not learned.parameters().any()


PLACES = {
    "far from zero": (1e8, 1.0),
    "small": (0.0, 1e-9),
    "small beside one": (1.0, 1e-9),
    "large": (0.0, 1e90),
}


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
@pytest.mark.parametrize("place", PLACES)
def test_unit_and_origin_of_the_fields_do_not_matter(place: str, kernel: str) -> None:
    offset, scale = PLACES[place]
    X, y = linear(seed=1).block(0, 4000)
    fresh, labels = linear(seed=1).block(10**6, 2000)
    errors = []
    for a, b in ((0.0, 1.0), (offset, scale)):
        node = make("dsvor", 3, 4, kernel=kernel)
        node.learn(a + b * X[:1000], y[:1000])
        for t in range(20):
            node.combine(t, {}, {})
        node.learn(a + b * X[1000:], y[1000:])
        errors.append(error(node, a + b * fresh, labels))
    assert errors[1] == pytest.approx(errors[0], abs=0.01)


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e8, -3e-9, 1e90])
def test_a_constant_field_changes_nothing(constant: float) -> None:
    X, y = linear(seed=1).block(0, 2000)
    plain, padded = make("dsvor", 3, 4, kernel="linear"), make("dsvor", 4, 4, kernel="linear")
    for start in (0, 1000):
        rows = slice(start, start + 1000)
        plain.learn(X[rows], y[rows])
        padded.learn(np.column_stack([X[rows], np.full(1000, constant)]), y[rows])
        for t in range(20):
            plain.combine(t, {}, {})
            padded.combine(t, {}, {})
    w, b = padded.parameters()[:4], padded.parameters()[4:]
    assert w[3] == 0.0
    np.testing.assert_allclose([*w[:3], *b], plain.parameters(), atol=1e-12)
