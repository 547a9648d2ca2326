"""Law 1: the dataflow gives what the reference loop gives, bit for bit."""

import pytest

from anabranch.exchange import Policy
from anabranch.stream import End
from operators.synchronous import SynchronousNode
from tests.operators.flows import run_flow, run_loop
from tests.operators.toy import ToySource
from tests.operators.toy_job import NAMES, toy_plan


def compare(source, plan, **how):
    reference = run_loop(source, plan)
    ran = run_flow(source, plan, **how)
    assert ran.models.keys() - {"pooled"} == set(NAMES)
    for node in NAMES:
        assert ran.models[node] == reference.learners[node].w.tobytes(), node
    row = ran.final_row()
    assert row["messages"] == reference.messages
    assert row["bytes"] == reference.bytes
    assert row["round"] + 1 == reference.rounds
    assert row["samples"] == sum(source.rows)
    return ran


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("rule", ["round-robin", "hash", "partition"])
def test_every_placement_and_both_worker_counts(workers, rule):
    source = ToySource([200, 90, 0], 14)
    compare(source, toy_plan(source.names, rule, final_rounds=2), workers=workers)


@pytest.mark.parametrize(
    "policy",
    [
        Policy(every=3),
        Policy(every=3, always_until=5),
        Policy("event", tolerance=0.05),
        Policy("event", every=2, tolerance=0.2, always_until=3),
    ],
)
def test_every_communication_policy(policy):
    source = ToySource([300], 7)
    compare(source, toy_plan(source.names, policy=policy), workers=2)


def test_event_triggered_exchange_sends_less_and_still_learns():
    source = ToySource([600], 7)
    always = compare(source, toy_plan(source.names))
    event = compare(source, toy_plan(source.names, policy=Policy("event", tolerance=0.1)))
    assert event.final_row()["messages"] < always.final_row()["messages"] / 2
    assert event.final_row()["scores"]["Accuracy"] > always.final_row()["scores"]["Accuracy"] - 0.05


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    "rows", [[60, 0, 35, 10, 60, 7, 21], [3, 90], [90, 90], [5] * 16, [0, 0, 40]], ids=str
)
def test_a_node_waits_for_its_own_partitions_only(workers, rows):
    # More partitions than nodes, fewer, and empty ones: some nodes have no feed at all.
    source = ToySource(rows, 7)
    for policy in (Policy(), Policy(every=3)):
        compare(source, toy_plan(source.names, "partition", policy=policy), workers=workers)


@pytest.mark.parametrize("policy", [Policy(), Policy(every=4)], ids=["every", "fourth"])
def test_nodes_that_take_one_round_a_turn(policy, monkeypatch):
    monkeypatch.setattr("operators.synchronous.TURN", -1.0)
    source = ToySource([120, 60], 14)
    ran = compare(source, toy_plan(source.names, policy=policy, final_rounds=9), workers=2)
    assert "pooled" in ran.models


def test_a_long_way_alone_lets_others_have_their_turn(monkeypatch):
    monkeypatch.setattr("operators.synchronous.TURN", -1.0)
    source = ToySource([60], 14)
    plan = toy_plan(source.names, policy=Policy(every=50), final_rounds=30)
    node = SynchronousNode(plan, NAMES[0], None)
    assert node.notify_at() is None
    node.on_batch([End(source.names[0], -1)])
    assert (node.round, node.notify_at() is not None) == (1, True)
    node.on_notify()
    assert node.round == 2


def test_a_single_row_a_tick_and_ticks_larger_than_the_source():
    for per_tick in (1, 1000):
        source = ToySource([23, 5], per_tick)
        compare(source, toy_plan(source.names, "hash"), ticks_ahead=1)


def test_nothing_to_learn_ends_too():
    source = ToySource([0, 0], 5)
    ran = compare(source, toy_plan(source.names))
    assert ran.final_row()["samples"] == 0


def test_the_pooled_companion_learns_every_row_in_order():
    source = ToySource([120], 8)
    plan = toy_plan(source.names)
    ran = compare(source, plan)
    from tests.operators.toy import ToyLearner, rows

    alone = ToyLearner(3)
    for start in range(0, 120, 8):
        alone.learn(*rows(0, start, 8))
        alone.combine(0, {}, {})
    for _ in range(plan.weights.graph.diameter):
        alone.combine(0, {}, {})
    assert ran.models["pooled"] == alone.w.tobytes()
    assert ran.final_row("pooled")["samples"] == 120
