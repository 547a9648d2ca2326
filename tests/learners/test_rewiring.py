"""Learners whose neighbours may change: a network ends with the model of all who are in it."""

import numpy as np
import pytest

from anabranch.learners import LEARNERS, make
from anabranch.network import Eras, combination_weights, path, ring
from anabranch.simulate import simulate

FOUR, FIVE = "abcd", "abcde"
TICKS, CHANGE, CALM = 16, 8, 250
TRUE = np.array([1.0, -1.0, 0.5, 0.0])


def rows(node, tick):
    rng = np.random.default_rng([ord(node), tick])
    X = rng.normal(size=(5, 4))
    return X, (X @ TRUE + 0.3 * rng.normal(size=5) > 0).astype(float)


def doml(**options):
    shape = {"labels": ["warm"], "predictor": "linear", "cache": 0, "bias": False}
    return make("doml", 4, 0, ridge=1.0, scaling="none", **shape, **options)


def consensus(eras, names, learner=doml, calm=CALM):
    """Run nodes that learn in the ticks in which they are there; give what they agree on."""
    ticks = [{n: (X, y[:, None]) for n in names(t) for X, y in [rows(n, t)]} for t in range(TICKS)]
    learners = {node: learner() for node in eras.nodes}
    simulate(learners, eras, ticks, final_rounds=calm)
    here = np.array([learners[n].parameters() for n in eras.newest.graph.nodes])
    assert np.ptp(here, axis=0).max() < 1e-6
    return here.mean(axis=0)


def ridge_solution(names):
    """The closed form: the nodes' ridges of 1 add up; targets are 0 and 1."""
    blocks = [rows(n, t) for t in range(TICKS) for n in names(t)]
    X = np.concatenate([block[0] for block in blocks])
    y = np.concatenate([block[1] for block in blocks])
    count = len(set(names(TICKS - 1)))
    return np.linalg.solve(X.T @ X + count * np.eye(4), X.T @ y)


@pytest.mark.parametrize("wire", ["dense", "low-rank"])
def test_who_joins_adds_its_samples(wire):
    eras = Eras.of(combination_weights(ring(FOUR)), {CHANGE: combination_weights(ring(FIVE))})

    def there(tick):
        return FOUR if tick < CHANGE else FIVE

    found = consensus(eras, there, lambda: doml(wire=wire))
    assert np.abs(found - ridge_solution(there)).max() < 1e-6


def test_who_leaves_takes_its_samples_along():
    eras = Eras.of(combination_weights(ring(FOUR)), {CHANGE: combination_weights(ring(FOUR[1:]))})
    found = consensus(eras, lambda tick: FOUR if tick < CHANGE else FOUR[1:])
    assert np.abs(found - ridge_solution(lambda tick: FOUR[1:])).max() < 1e-6


def test_other_links_make_no_difference_in_the_end():
    eras = Eras.of(combination_weights(path(FOUR)), {CHANGE: combination_weights(ring(FOUR))})
    found = consensus(eras, lambda tick: FOUR)
    assert np.abs(found - ridge_solution(lambda tick: FOUR)).max() < 1e-6


def test_a_dsvor_node_that_joins_comes_to_know_what_the_network_knows():
    # It has no sample itself: features, units and parameters all come from its neighbours.
    eras = Eras.of(combination_weights(ring(FOUR)), {90: combination_weights(ring(FIVE))})
    ticks = [{n: (X, y + 1) for n in FOUR for X, y in [rows(n, t)]} for t in range(120)]
    learners = {node: make("dsvor", 4, 2, kernel="linear") for node in eras.nodes}
    simulate(learners, eras, ticks, final_rounds=60)
    X = np.random.default_rng(1).normal(size=(400, 4))
    right = 1 + (X @ TRUE > 0)
    assert np.mean(learners["e"].predict(X) == right) > 0.93
    apart = learners["e"].parameters() - learners["a"].parameters()
    assert np.abs(apart).max() < 1e-6


def test_which_learners_say_so():
    assert {kind for kind, one in LEARNERS.items() if getattr(one, "rewires", False)} == {
        "doml", "dsvor", "elastic-net", "npsvor",
    }  # fmt: skip
