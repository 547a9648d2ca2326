"""Learners that begin from models: they predict as those did, and go on as the job says."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from anabranch.errors import ModelError
from anabranch.learners import make
from anabranch.network import combination_weights, complete, node_names, path, star
from anabranch.protocol import Learner
from anabranch.simulate import Simulation, simulate
from anabranch.synthetic import nonlinear
from anabranch.warm_start import warm_started
from tests.learners.law_cases import CASES, Case, trained

SETS = {"labels": ("hot", "loud")}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_it_predicts_as_the_model_and_learns_on(case: Case) -> None:
    old = trained(case)
    X, y = case.data(40, seed=5)
    known = type(old).restore(old.model()).predict(X)
    new = warm_started(case.make(), old.model())
    np.testing.assert_array_equal(new.predict(X), known)
    new.learn(X, y)
    new.combine(0, {}, {})
    assert np.isfinite(new.parameters()).all()
    np.testing.assert_array_equal(type(old).restore(old.model()).predict(X), known)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_its_state_is_one_that_can_be_saved(case: Case) -> None:
    new = warm_started(case.make(), trained(case).model())
    X = case.data(40, seed=5)[0]
    again = type(new).restore(new.export())
    np.testing.assert_array_equal(again.predict(X), new.predict(X))
    again.learn(*case.data(20, seed=6))
    new.learn(*case.data(20, seed=6))
    for learner in (again, new):
        learner.combine(0, {}, {})
    np.testing.assert_array_equal(again.predict(X), new.predict(X))


def test_how_to_learn_is_the_jobs_affair() -> None:
    old = make("dsvor", 2, 3, kernel="linear", seed=1, step=1.0, warm_up=7)
    new: Any = warm_started(make("dsvor", 2, 3, kernel="linear", seed=2, step=3.0), old.model())
    assert (new.settings.step, new.settings.seed) == (3.0, 2)
    assert new.settings.warm_up == 7  # what lies behind the model


@pytest.mark.parametrize(
    ("kind", "its", "own", "told"),
    [
        ("dsvor", {"kernel": "linear"}, {"kernel": "gaussian"}, "kernel = 'linear'"),
        ("dsvor", {"seed": 1}, {"seed": 2}, "seed = 1"),
        ("dsvor", {"names": ["a", "b"]}, {"names": ["b", "a"]}, r"names = \['a', 'b'\]"),
        ("npsvor", {"bias": True}, {"bias": False}, "bias = True"),
        ("doml", SETS, {"labels": ("loud", "hot")}, r"labels = \['hot', 'loud'\]"),
        ("elastic-net", {"window": 100}, {"window": 200}, "window = 100"),
    ],
)
def test_settings_that_say_what_parameters_mean_must_agree(
    kind: str, its: dict[str, Any], own: dict[str, Any], told: str
) -> None:
    old, new = (make(kind, 2, 3, **options) for options in (its, own))
    with pytest.raises(ModelError, match=f"the model has {told}, and the learner has .*; allowed"):
        warm_started(new, old.model())


def test_another_kind_and_a_damaged_model_are_refused() -> None:
    fresh = make("dsvor", 2, 3)
    with pytest.raises(ModelError, match="of kind 'npsvor', and the learner of 'dsvor'"):
        warm_started(fresh, make("npsvor", 2, 3).model())
    with pytest.raises(ModelError, match="damaged state: config"):
        warm_started(fresh, {"kind": "dsvor", "schema": 1})
    with pytest.raises(ModelError, match="damaged state: w is missing"):
        warm_started(fresh, {k: v for k, v in fresh.model().items() if k != "w"})


@pytest.mark.parametrize("shape", ["server", "graph"])
def test_a_network_that_begins_from_moments_finds_the_optimum_of_all_samples(shape: str) -> None:
    """Whatever network they come from: the answers are those of one node with all samples."""
    draw = np.random.default_rng(4)
    X = draw.normal(size=(240, 3))
    y = X @ [1.0, -2.0, 0.0] + 0.5 + 0.1 * draw.normal(size=240)
    old = _network("server", 3, X[:120], y[:120])
    models = {name: learner.model() for name, learner in old.items()}
    new = _network(shape, 3, X[120:], y[120:], models)
    alone = make("elastic-net-batch", 3, 0)
    alone.learn(X, y)
    alone.combine(0, {}, {})
    for learner in new.values():
        np.testing.assert_allclose(learner.predict(X), alone.predict(X), rtol=1e-8)


def _network(
    shape: str, count: int, X: Any, y: Any, models: dict[str, Any] | None = None
) -> dict[str, Learner]:
    names = node_names(count)
    graph = star(names) if shape == "server" else path(names)
    hub = names[0]
    nodes = {
        name: make("elastic-net-batch", 3, 0, shape=shape, role="hub" if name == hub else "node")
        for name in names
    }
    if models:
        nodes = {name: warm_started(node, models[name]) for name, node in nodes.items()}
    rows = np.array_split(np.arange(len(y)), count)
    ticks = [{name: (X[r], y[r]) for name, r in zip(names, rows, strict=True)}]
    return simulate(nodes, combination_weights(graph), ticks, final_rounds=400).learners


def test_a_warm_network_is_ahead_and_takes_one_without_a_model_along() -> None:
    stream, graph = nonlinear(seed=1), complete(node_names(3))
    weights = combination_weights(graph)

    def nodes() -> dict[str, Learner]:
        options = {"dimension": 100, "warm_up": 20}
        return {name: make("dsvor", 2, stream.ranks, **options) for name in graph.nodes}

    def run(learners: dict[str, Learner], first: int, last: int) -> Simulation:
        ticks = (
            {n: stream.block(3 * t + i, 1) for i, n in enumerate(graph.nodes)}
            for t in range(first, last)
        )
        return simulate(learners, weights, ticks)

    old = run(nodes(), 0, 1000).learners
    cold = run(nodes(), 1000, 1200)
    warm = run(_warm(nodes(), old), 1000, 1200)
    error = {name: r.scores(stream.ranks)["MAE"] for name, r in (("cold", cold), ("warm", warm))}
    assert error["warm"] < 0.7 * error["cold"]
    late = "n02"
    mixed = run(_warm(nodes(), old, but=late), 1000, 1200).learners
    X, y = stream.block(9000, 500)
    errors = {name: float(np.abs(one.predict(X) - y).mean()) for name, one in mixed.items()}
    assert errors[late] < errors["n00"] + 0.02


def _warm(
    nodes: dict[str, Learner], old: Mapping[str, Learner], but: str = ""
) -> dict[str, Learner]:
    return {
        name: node if name == but else warm_started(node, old[name].model())
        for name, node in nodes.items()
    }
