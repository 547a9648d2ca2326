"""Networks in time: which holds when, and what simulation makes of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import NetworkError, UnknownNodeError
from anabranch.network import Eras, combination_weights, complete, path, ring
from anabranch.placement import Placement, Placements, known_rows, strangers
from anabranch.simulate import simulate
from anabranch.stream import Block
from tests.operators.toy import ToyLearner, rows

OLD, NEW = combination_weights(path("abc")), combination_weights(ring("bcde"))
TICKS = [{n: rows(i, 4 * t, 4) for i, n in enumerate("bc")} for t in range(6)]


def run(eras, **options):
    return simulate({n: ToyLearner(3) for n in eras.nodes}, eras, TICKS, **options)


def bits(ran):
    return {node: learner.w.tobytes() for node, learner in ran.learners.items()}


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((), "none; they need one at least"),
        (((2, OLD),), "of round 2; allowed: 0"),
        (((0, OLD), (5, NEW), (5, OLD)), "of round 5 follows that of round 5; allowed: later"),
        (((0, OLD), (5, NEW), (9, OLD)), "'a' joins in round 9 and has left before; allowed"),
    ],
)
def test_eras_that_do_not_follow_one_another_are_refused(steps, words):
    with pytest.raises(NetworkError, match=words):
        Eras(steps)


def test_a_node_that_never_is_has_no_rounds():
    with pytest.raises(UnknownNodeError, match="no network ever has a node 'z'; allowed: a, b, c"):
        Eras.of(OLD).first_round("z")


@given(st.lists(st.integers(1, 60), max_size=5, unique=True), st.integers(0, 70))
def test_each_round_has_one_network_and_a_node_is_in_its_own(starts, round):
    names = [f"n{i}" for i in range(8)]
    changes = {
        start: combination_weights(complete(names[i : i + 3]))
        for i, start in enumerate(sorted(starts), start=1)
    }
    eras = Eras.of(combination_weights(complete(names[:3])), changes)
    assert {n for n in eras.nodes if eras.present(n, round)} == set(eras.at(round).graph.nodes)
    assert eras.start(round) == max(s for s in [0, *starts] if s <= round)
    assert eras.change_after(round) == min((s for s in starts if s > round), default=None)
    assert eras.nodes[:3] == tuple(names[:3])
    assert eras.then({100: eras.newest}).nodes == eras.nodes  # later changes only append


@given(st.integers(1, 12), st.integers(1, 3))
def test_a_change_to_the_same_network_is_none(round, each):
    same = run(Eras.of(OLD), rounds_per_tick=each)
    assert bits(run(Eras.of(OLD, {round: OLD}), rounds_per_tick=each)) == bits(same)


def test_a_change_after_the_end_is_none():
    assert bits(run(Eras.of(OLD, {30: OLD}))) == bits(run(Eras.of(OLD)))
    ran = run(Eras.of(OLD, {8: NEW}))  # 6 ticks, diameter 2
    assert ran.rounds == 8
    assert bits(ran)["d"] == ToyLearner(3).w.tobytes()


def test_who_leaves_stays_as_it_was_and_who_joins_begins_fresh():
    before = simulate({n: ToyLearner(3) for n in "abc"}, OLD, TICKS[:3], final_rounds=-2)
    assert before.rounds == 3
    ran = run(Eras.of(OLD, {3: NEW}), final_rounds=40)
    assert bits(ran)["a"] == bits(before)["a"]
    spread = np.ptp([ran.learners[n].w for n in "bcde"], axis=0).max()
    assert spread < 1e-9  # of one mind with those that joined
    assert np.abs(ran.learners["e"].w).max() > 0.01


def test_rounds_without_samples_keep_the_mean_of_whoever_is_there():
    # Weights of a symmetric, doubly stochastic matrix: parameters are mixed, none is lost.
    eras = Eras.of(OLD, {2: NEW})
    learners = {n: ToyLearner(3) for n in eras.nodes}
    for i, learner in enumerate(learners.values()):
        learner.w = rows(i, 0, 1)[0][0]
    total = sum(learner.w for learner in learners.values())
    simulate(learners, eras, [], final_rounds=9)
    assert np.allclose(sum(learner.w for learner in learners.values()), total, atol=1e-12)


def test_rows_of_a_node_that_is_not_there_are_refused():
    ticks = [{"a": rows(0, t, 1)} for t in range(3)]
    with pytest.raises(UnknownNodeError, match=r"rows of 'a'; allowed: \['b', 'c', 'd', 'e'\]"):
        simulate({n: ToyLearner(3) for n in "abcde"}, OLD, ticks, changes={2: NEW}, final_rounds=1)


def test_rows_that_name_a_node_of_another_time_become_dead_letters():
    eras = Eras.of(OLD, {4: NEW})
    placements = Placements.of(Placement(NEW.graph.nodes, "key", ("p",)), eras, 2)
    X, y = rows(0, 0, 4)
    block = Block("p", 1, X, y, np.arange(7, 11), keys=["a", "d", "b", "e"], held=y > 1)
    kept, letters = known_rows(block, placements.at(1)), strangers(block, placements.at(1))
    assert (kept.keys, kept.positions.tolist()) == (["a", "b"], [7, 9])
    assert kept.X.tobytes() == X[[0, 2]].tobytes()
    assert kept.held.tolist() == (y > 1)[[0, 2]].tolist()
    assert [(one.reason, one.position) for one in letters] == [
        ("unknown_node", 8),
        ("unknown_node", 10),
    ]
    assert letters[0].detail == "node 'd' is not in the network in tick 1"
    assert strangers(block, placements.at(2))[0].position == 7
    known = strangers(block, placements.at(1), ever=["a", "b", "c", "d"])
    assert [one.reason for one in known] == ["absent_node", "unknown_node"]
