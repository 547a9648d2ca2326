"""Exchanges apart from arrivals: law 1 with several rounds a tick, and what is counted in which."""

import pytest

from anabranch.errors import ConfigurationError
from anabranch.exchange import Policy
from operators.items import Ack
from operators.node_plan import NodePlan
from operators.sites import _rounds_ahead
from operators.synchronous import SynchronousNode
from tests.operators.flows import run_flow, run_loop
from tests.operators.spread import Spread
from tests.operators.toy import ToySource
from tests.operators.toy_job import NAMES, toy_plan


def compare(source, plan, **how):
    reference = run_loop(source, plan)
    ran = run_flow(source, plan, **how)
    for node in NAMES:
        assert ran.models[node] == reference.learners[node].w.tobytes(), node
    row = ran.final_row()
    assert row["messages"] == reference.messages
    assert row["round"] + 1 == reference.rounds
    assert row["samples"] == sum(source.rows)
    return reference


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("each", [2, 5])
@pytest.mark.parametrize("rule", ["round-robin", "partition"])
def test_flow_equals_loop(rule, each, workers):
    source = ToySource([150, 90, 0], 14)
    plan = toy_plan(source.names, rule, rounds_per_tick=each, final_rounds=2)
    reference = compare(source, plan, workers=workers)
    assert reference.rounds == 11 * each + plan.weights.graph.diameter + 2


@pytest.mark.parametrize(
    "policy", [Policy(every=3), Policy(every=7, always_until=6), Policy("event", tolerance=0.05)]
)
@pytest.mark.parametrize("rows", [[60, 0, 35, 10, 60, 7, 21], [3, 90], [0, 0, 40]], ids=str)
def test_every_policy_and_nodes_without_partitions(rows, policy):
    source = ToySource(rows, 7)
    compare(source, toy_plan(source.names, "partition", policy=policy, rounds_per_tick=5))


def test_nothing_to_learn_ends_too():
    source = ToySource([0, 0], 5)
    reference = compare(source, toy_plan(source.names, rounds_per_tick=5))
    assert reference.rounds == toy_plan(source.names).weights.graph.diameter


def test_one_tick_ahead_is_enough():
    source = ToySource([60, 30], 6)
    compare(source, toy_plan(source.names, rounds_per_tick=5), ticks_ahead=1, workers=2)


def test_more_rounds_bring_the_nodes_together():
    source = ToySource([200], 10)
    apart = [
        run_flow(source, toy_plan(source.names, rounds_per_tick=each)).final_row()["disagreement"]
        for each in (1, 5)
    ]
    assert apart[1]["max"] < apart[0]["max"] / 2


def test_ticks_are_acknowledged_when_their_last_round_is_done():
    policy = Policy(every=1000)  # nobody is waited for
    plan = toy_plan((), policy=policy, rounds_per_tick=3, ack_every=2, final_rounds=12)
    node = SynchronousNode(plan, NAMES[0], None)
    events, _ = node.on_batch([])
    rounds = plan.weights.graph.diameter + 12
    assert node.round == rounds
    assert [e.tick for e in events if isinstance(e, Ack)] == [*range(1, rounds // 3, 2)]


def test_letters_are_read_as_many_rounds_ahead_as_ticks_need():
    spread = Spread(((60,), (60,)), rounds_per_tick=5, policy=Policy(every=2))
    plan = spread.link("s0", []).spread(spread.plan("s0"))
    diameter = plan.weights.graph.diameter
    assert _rounds_ahead(plan, 1) == 2 * diameter + 5 * plan.ack_every + 1
    assert _rounds_ahead(plan, 100) == 500


def test_a_tick_without_a_round_is_refused():
    with pytest.raises(ConfigurationError, match=r"exchange\.rounds_per_tick is 0; allowed: 1 or"):
        toy_plan(("p00",), rounds_per_tick=0)
    assert NodePlan.__dataclass_fields__["rounds_per_tick"].default == 1
