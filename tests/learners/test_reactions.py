"""What learners do against drift: part of their state, and what it is said to be."""

import pickle

import numpy as np
import pytest

from anabranch.drift import react, reactions_of
from anabranch.learners import LEARNERS, make
from anabranch.learners.elastic_net_moments import CoMoments
from anabranch.synthetic import nonlinear
from anabranch.synthetic_labels import labelled
from tests.learners.law_cases import equal

CASES = {
    "dsvor": {"dimension": 20},
    "dsvor cache": {"dimension": 20, "cache": 30},
    "npsvor": {},
    "doml": {"labels": 3, "cache": 80},
    "elastic-net": {"shape": "graph"},
    "elastic-net window": {"shape": "graph", "window": 90, "panes": 9},
    "elastic-net decay": {"decay": 0.99},
}


def made(case, **more):
    return make(case.split()[0], 4 if case == "doml" else 2, 4, **CASES[case], **more)


def rows(case, start, count):
    return (labelled(4, 3) if case == "doml" else nonlinear()).block(start, count)


def taught(case, count=200):
    role = {"role": "hub"} if case.startswith("elastic-net") else {}
    learner, other = made(case), made(case, **role)
    for start in range(0, count, 20):
        for place, node in enumerate((learner, other)):
            node.predict_then_learn(*rows(case, start + place * 10_000, 20))
        talk(start // 20, learner, other)
    return learner, other


def talk(round, *nodes):
    """Let two nodes exchange."""
    told = [next(iter(n.messages(round)), None) if n.acts(round) else None for n in nodes]
    for own, node in enumerate(nodes):
        heard = {} if told[1 - own] is None else {f"n{1 - own}": told[1 - own]}
        node.combine(round, heard, {f"n{1 - own}": 0.4})


@pytest.mark.parametrize("case", CASES)
def test_a_reaction_is_part_of_the_state(case):
    for policy in reactions_of(made(case))[1:]:
        learner, other = taught(case)
        before = pickle.dumps(learner.export())
        react(learner, policy, 30)
        assert pickle.dumps(learner.export()) != before
        restored = type(learner).restore(pickle.loads(pickle.dumps(learner.export())))
        for node in (learner, restored):
            peer = type(other).restore(other.export())
            for round in range(10, 14):
                node.predict_then_learn(*rows(case, 500 + 20 * round, 20))
                talk(round, node, peer)
        assert equal(learner.export(), restored.export())
        assert np.isfinite(learner.parameters()).all()


def test_who_can_do_what():
    assert {case: reactions_of(made(case))[1:] for case in CASES} == {
        "dsvor": ("raise-step",),
        "dsvor cache": ("raise-step", "refit"),
        "npsvor": ("raise-step",),
        "doml": ("shrink-window", "refit"),
        "elastic-net": ("shrink-window",),
        "elastic-net window": ("shrink-window",),
        "elastic-net decay": ("shrink-window",),
    }
    assert reactions_of(make("doml", 4, 0, labels=3, cache=0)) == ("log",)
    assert reactions_of(LEARNERS["dsvor-batch"](2, 3)) == ("log",)


@pytest.mark.parametrize("case", CASES)
def test_what_a_learner_has_not_changes_nothing(case):
    learner, _ = taught(case, 40)
    before = pickle.dumps(learner.export())
    for policy in {"log", "raise-step", "shrink-window", "refit"} - {*reactions_of(learner)[1:]}:
        react(learner, policy, 10)
    assert pickle.dumps(learner.export()) == before


def test_dsvor_steps_are_four_floors_and_come_down():
    def step(learner):
        before = learner.export()["b"][0]
        learner.learn(np.array([[-50.0]]), np.array([2.0]))
        return float(np.abs(learner.export()["b"][0] - before).max())

    learner = make("dsvor", 1, 2, kernel="linear", scaling="none", decay=0.1)
    X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(2000, 1))
    learner.learn(X, 1.0 + (X[:, 0] > 0.0))
    calm, again = (type(learner).restore(learner.export()) for _ in range(2))
    react(again, "raise-step", 100)
    assert [step(calm), step(again)] == pytest.approx([0.5, 2.0])
    state = again.export()
    state["w"][:], state["b"][:] = learner.export()["w"], learner.export()["b"]
    assert step(type(learner).restore(state)) == pytest.approx(5.0 / 2.6)


def test_dsvor_fits_only_the_new_part_of_its_cache():
    learner = make("dsvor", 2, 4, kernel="linear", scaling="none", cache=50)
    X, y = nonlinear().block(0, 120)
    learner.learn(X, y)
    react(learner, "refit", 20)
    state = learner.export()
    assert state["cache"][:, :2].tolist() == X[-20:].tolist()
    assert state["cache"][:, 2].tolist() == y[-20:].tolist()


@pytest.mark.parametrize(("drifting", "raised"), [(5, True), (1, False), (0, False)])
def test_npsvor_raises_steps_only_where_most_nodes_drift(drifting, raised):
    rng = np.random.default_rng(0)
    names = [f"n{i}" for i in range(5)]
    nodes = {name: make("npsvor", 2, 4) for name in names}
    for round in range(60):
        for place, node in enumerate(nodes.values()):
            X = rng.normal(size=(20, 2))
            y = 1.0 + np.digitize(X[:, 0] + X[:, 1], [-1.0, 0.0, 1.0])
            node.learn(X, 5.0 - y if round > 57 and place < drifting else y)
        told = {name: node.messages(round) for name, node in nodes.items() if node.acts(round)}
        for name, node in nodes.items():
            heard = {n: next(m for m in each if m.to in (None, name))
                     for n, each in told.items() if n != name}  # fmt: skip
            node.combine(round, heard, dict.fromkeys(sorted({*names} - {name}), 0.2))
    node = type(nodes["n0"]).restore(nodes["n0"].export())
    before = node.export()["squares"]
    react(node, "raise-step", 40)
    np.testing.assert_allclose(node.export()["squares"], before / 16.0 if raised else before)


def test_npsvor_raises_steps_where_it_is_alone():
    node = make("npsvor", 2, 4)
    node.learn(*nonlinear().block(0, 200))
    before = node.export()["squares"]
    react(node, "raise-step", 80)
    np.testing.assert_allclose(node.export()["squares"], before / 16.0)


def test_doml_keeps_the_newest_samples():
    X, y = labelled(4, 3).block(0, 300)
    learner, fresh = (make("doml", 4, 0, labels=3, scaling="none") for _ in range(2))
    learner.learn(X, y)
    fresh.learn(X[-40:], y[-40:])
    react(learner, "shrink-window", 40)
    for node in (learner, fresh):
        node.combine(0, {}, {})
    assert learner.measures()["rows"] == 40
    np.testing.assert_allclose(learner.parameters(), fresh.parameters(), rtol=1e-10, atol=1e-12)


def test_weights_of_old_samples_shrink_to_those_of_the_new():
    X, y = np.random.default_rng(0).normal(size=(100, 2)), np.arange(100.0)
    moments, twin = CoMoments(2), CoMoments(2)
    for one in (moments, twin):
        one.observe(X, y)
    moments.shrink(25)
    assert moments.count == 25
    np.testing.assert_allclose(moments.total()[1], twin.total()[1])
    np.testing.assert_allclose(4.0 * moments.total()[2], twin.total()[2])
    assert moments.rows != twin.rows


@pytest.mark.parametrize(("samples", "kept"), [(3, 5), (5, 5), (6, 15), (15, 15), (40, 45)])
def test_panes_from_before_the_drift_go(samples, kept):
    moments = CoMoments(1, window=100, panes=10)
    moments.observe(np.zeros((85, 1)), np.arange(85.0))
    moments.shrink(samples)
    assert moments.count == kept
    assert moments.total()[1][-1] == pytest.approx(np.arange(85.0)[-kept:].mean())
