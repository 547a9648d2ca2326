"""What a changing network asks of nodes, keys, flow control and scores, each by itself."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest
from bytewax.dataflow import Dataflow
from bytewax.recovery import init_db_dir

from anabranch.errors import ConfigurationError, ModelError
from anabranch.learners import NPSVOR
from anabranch.network import Eras, combination_weights, complete, ring
from anabranch.stream import End
from operators.asynchronous import AsynchronousNode
from operators.boundary import first_free_round
from operators.hub import Hub
from operators.items import Done, Final, Outgoing, Report
from operators.learn import learn_on_network, make_hub
from operators.routing import balanced_keys
from operators.synchronous import SynchronousNode
from operators.turns import EVER
from tests.operators.era_model import with_eras
from tests.operators.flows import run_flow, with_pooled
from tests.operators.spread import Spread
from tests.operators.toy import ToySource
from tests.operators.toy_job import NAMES, toy_plan

GROWN = combination_weights(complete([*NAMES[2:], "a0", "x2"]))
SMALL = combination_weights(ring(["x2", "b1", NAMES[4], NAMES[6]]))


def plan_of(changes, partitions=("p00",), rule="hash", **options):
    plan = toy_plan(partitions, rule, **options)
    return with_eras(plan, Eras.of(plan.weights, changes))


def test_nobody_gets_another_key_through_changes():
    keys = [
        balanced_keys(with_pooled(plan).members)
        for plan in (toy_plan(()), plan_of({}), plan_of({5: GROWN}), plan_of({5: GROWN, 9: SMALL}))
    ]
    assert keys[0] == keys[1]
    for before, after in pairwise(keys):
        assert after | before == after
    assert keys[3].keys() == {*NAMES, "pooled", "a0", "x2", "b1"}


def test_a_plan_for_another_network_than_the_newest_is_refused():
    with pytest.raises(ConfigurationError, match="newest network has 7 nodes, and weights or"):
        replace(plan_of({5: GROWN}), weights=toy_plan(()).weights)


def test_a_network_of_several_sites_does_not_change():
    spread = Spread(((60,), (60,)))
    plan = spread.plan("s0")
    plan = replace(plan, eras=Eras.of(plan.weights), placement=replace(
        plan.placement, nodes=plan.weights.graph.nodes
    ))  # fmt: skip
    with pytest.raises(ConfigurationError, match="allowed: changes where all nodes are of one"):
        learn_on_network(
            Dataflow("f"), spread.site_source("s0"), plan, make_hub(plan.placement),
            link=spread.link("s0", []),
        )  # fmt: skip


def test_a_change_that_a_snapshot_is_beyond_is_refused():
    node = SynchronousNode(plan_of({}), NAMES[0], None)
    node.round = 7
    state = node.snapshot()
    assert first_free_round([state], 2) == 8
    later = SynchronousNode(plan_of({8: GROWN}), NAMES[0], state)
    assert later.round == 7
    with pytest.raises(ModelError, match="the network changes in round 7, which node 'n00'"):
        SynchronousNode(plan_of({7: GROWN}), NAMES[0], state)


def test_ticks_wait_for_nobody_who_is_not_there():
    hub = Hub(0, 1, 1, {"p": ["a", "b"], "q": ["b"]})
    hub.take_turns({"p": {"a": ((0, 9),), "c": ((10, None),)}, "q": {"b": ((3, 5), (20, None))}})
    assert (hub.slowest("p"), hub.slowest("q")) == (-1, 2)
    hub.acknowledge("a", 7, None)
    assert hub.slowest("p") == 7
    hub.acknowledge("a", 9, None)  # it leaves, and is waited for no more
    assert hub.slowest("p") == 9
    hub.acknowledge("c", 12, "p")
    hub.acknowledge("b", 5, None)
    assert (hub.slowest("p"), hub.slowest("q")) == (12, 19)
    hub.take_turns({"p": {"a": ((0, 9),)}})
    hub.acknowledge("a", 9, None)
    assert hub.slowest("p") == EVER


# Asynchronous time: the newest network holds at once


class Stopping(ToySource):
    """Stops the job when its nodes have done with 6 ticks of the first partition."""

    def build_part(self, step_id, for_part, resume_state):
        part = super().build_part(step_id, for_part, resume_state)
        pull = part.next_batch

        def next_batch():
            if part.tick < 6:
                return pull()
            if self.hub.slowest("p00") >= 5:
                self.hub.drain.set()
            return []

        part.next_batch = next_batch
        return part


@pytest.mark.parametrize("rule", ["hash", "partition"])
def test_asynchronous_nodes_go_on_in_the_newest_network(tmp_path, rule):
    init_db_dir(tmp_path, 1)
    # The second partition has ended before anybody joins, the third has nothing more but its end.
    rows = [600, 20, 42]
    options = {"mode": "asynchronous", "idle_every": timedelta(milliseconds=20)}
    plan = plan_of({}, ("p00", "p01", "p02"), rule, final_rounds=20, **options)
    before = run_flow(Stopping(rows, 7), plan, store=tmp_path, ticks_ahead=8)
    assert [row for row in before.rows if row["drained"] and row["node"] is None]
    plan = with_eras(plan, plan.eras.then({40: GROWN}))
    ran = run_flow(ToySource(rows, 7), plan, store=tmp_path, workers=2)
    left = {r["node"]: r for r in ran.rows if "left" in r and r["learner"] == "cooperative"}
    assert left.keys() == {*NAMES[:2]}
    row = ran.final_row()
    assert sum(r["samples"] for r in left.values()) > 0
    for name in ("cooperative", "local"):  # with what those have learned that left
        assert ran.final_row(name)["samples"] == sum(rows)
        network = [r for r in before.rows + ran.rows if (r["learner"], r["node"]) == (name, None)]
        assert (seen := [r["samples"] for r in network]) == sorted(seen)
        assert all(np.sum(r["confusion"]) == r["samples"] for r in network)
    assert {f.node for f in ran.finals} == {*NAMES, "a0", "x2", "pooled"}
    assert row["disagreement"]["max"] < 0.05


def test_asynchronous_npsvor_nodes_agree_on_every_change_told(tmp_path):
    init_db_dir(tmp_path, 1)
    options = {"mode": "asynchronous", "idle_every": timedelta(milliseconds=20)}
    plan = plan_of({}, ("p00", "p01"), final_rounds=40, **options)
    plan = replace(plan, make=lambda node: NPSVOR(3, 2, wire="double"), restore=NPSVOR.restore)
    run_flow(Stopping([400, 42], 7), plan, store=tmp_path, ticks_ahead=8)
    plan = with_eras(plan, plan.eras.then({40: GROWN}))
    ran = run_flow(ToySource([400, 42], 7), plan, store=tmp_path, workers=2)
    assert ran.dead == []
    models = [f.model for f in ran.finals if f.node in GROWN.graph.nodes]
    squares = np.array([model["squares"] for model in models])
    assert len(squares) == len(GROWN.graph.nodes)
    assert np.abs(squares.mean(axis=2) - squares[0].mean(axis=1)).max() < 1e-9 * squares.max()


def test_an_asynchronous_node_that_is_none_any_more_ends():
    plan = toy_plan(("p00",), mode="asynchronous")
    state = AsynchronousNode(plan, NAMES[0], None).snapshot()
    plan = plan_of({5: GROWN}, mode="asynchronous")
    gone = AsynchronousNode(plan, NAMES[0], state)
    events, _ = gone.on_notify()
    kinds = [type(event) for event in events]
    assert (kinds.count(Final), kinds.count(Done), kinds.count(Outgoing)) == (1, 1, 0)
    assert not any(event.present for event in events if type(event) is Report)
    assert [type(event) for event in gone.on_notify()[0]] == [Done]
    again = AsynchronousNode(plan, NAMES[0], gone.snapshot())
    assert [type(event) for event in again.on_batch([End("p00", 3)])[0]] == []
    assert [type(event) for event in again.on_notify()[0]] == [Done]
    never = AsynchronousNode(plan_of({5: GROWN, 9: SMALL}, mode="asynchronous"), "a0", None)
    assert [type(event) for event in never.on_batch([])[0]] == [Done]
