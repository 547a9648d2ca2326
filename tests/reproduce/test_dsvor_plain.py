"""The whole network in plain numpy: equal to learners that send messages, and to the optimum."""

import numpy as np
import pytest

from anabranch.learners import make
from anabranch.learners.dsvor_optimum import objective, solve_optimum
from anabranch.network import Weights, build_graph, combination_weights, node_names
from anabranch.protocol import Array
from anabranch.reproduce.dsvor_plain import Plain, Shards, at_rounds
from anabranch.reproduce.ordinal_data import OrdinalSplit, dealt, score, synthetic_split
from anabranch.simulate import simulate

NODES, ROUNDS = 6, 30


@pytest.fixture(scope="module")
def split() -> OrdinalSplit:
    return synthetic_split("linear", seed=1, rows=80, tested=50)


@pytest.fixture(scope="module")
def used() -> Weights:
    return combination_weights(build_graph("random", node_names(NODES), degree=3.0, seed=1))


def shards(split: OrdinalSplit, parts: list[Array], *, alone: bool = False) -> Shards:
    return Shards.of(split.X, split.y, split.ranks, parts, alone=alone)


@pytest.mark.parametrize("alpha", [0.0, 0.9])
def test_it_equals_learners_on_the_network(
    split: OrdinalSplit, used: Weights, alpha: float
) -> None:
    # equal shards: the learners have to agree on the mean size of unequal ones first
    parts = dealt(78, NODES, seed=2)
    options = {"kernel": "linear", "scaling": "none", "prune": 0.0, "alpha": alpha}
    learners = {
        name: make("dsvor-batch", split.X.shape[1], split.ranks, **options)
        for name in used.graph.nodes
    }
    for learner, rows in zip(learners.values(), parts, strict=True):
        learner.learn(split.X[rows], split.y[rows])
    simulate(learners, used, [], final_rounds=ROUNDS - used.graph.diameter)
    model = at_rounds(shards(split, parts), used.matrix(), Plain(alpha=alpha), [ROUNDS])[ROUNDS]
    theirs = np.array([learner.parameters() for learner in learners.values()])
    ours = np.concatenate([model.w, model.b], axis=1)
    assert np.abs(ours - theirs).max() < 1e-9


def test_orders_of_steps_differ_only_where_nodes_combine(split: OrdinalSplit) -> None:
    alone = shards(split, dealt(len(split.X), NODES, seed=2), alone=True)
    models = [
        at_rounds(alone, np.eye(NODES), Plain(literal=literal), [20])[20]
        for literal in (False, True)
    ]
    assert np.array_equal(models[0].w, models[1].w)


def test_an_even_ring_with_the_papers_weights_never_agrees(split: OrdinalSplit) -> None:
    ring = build_graph("ring", node_names(NODES))
    dealt_rows = shards(split, dealt(len(split.X), NODES, seed=2))
    apart = {}
    for rule in ("metropolis", "metropolis-hastings"):
        mixing = combination_weights(ring, rule, check=False).matrix()
        w = at_rounds(dealt_rows, mixing, Plain(literal=True), [400])[400].w
        apart[rule] = np.abs(w[::2].mean(axis=0) - w[1::2].mean(axis=0)).max()
    assert apart["metropolis"] > 20.0 * apart["metropolis-hastings"]


def test_nodes_without_rows_follow_the_others(split: OrdinalSplit, used: Weights) -> None:
    parts = [*dealt(40, NODES - 1, seed=2), np.empty(0, dtype=np.int64)]
    model = at_rounds(shards(split, parts), used.matrix(), Plain(), [500])[500]
    errors = [score(split.truth, ranks, 4).error for ranks in model.predict(split.held)]
    assert errors[-1] < np.mean(errors[:-1]) + 0.1
    alone = shards(split, parts, alone=True)
    silent = at_rounds(alone, np.eye(NODES), Plain(), [5])[5]
    assert not silent.w[-1].any()
    assert set(silent.predict(split.held)[-1]) == {1}


def test_rounds_lead_to_the_optimum(split: OrdinalSplit, used: Weights) -> None:
    model = at_rounds(
        shards(split, dealt(len(split.X), NODES, seed=2)), used.matrix(), Plain(), [2000]
    )[2000]
    best = solve_optimum(split.X, split.y, split.ranks, lam=1e-3, alpha=0.9)
    mean = model.w.mean(axis=0), model.b.mean(axis=0)
    reached = objective(split.X, split.y, *mean, lam=1e-3, alpha=0.9)
    assert best.objective <= reached + 1e-9
    assert reached < 1.02 * best.objective
