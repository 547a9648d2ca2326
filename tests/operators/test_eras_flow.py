"""Networks that change while a job runs, through the engine: the reference loop, bit for bit."""

import pytest
from bytewax.recovery import init_db_dir

from anabranch.exchange import Policy
from anabranch.network import Eras, combination_weights, complete, ring
from operators.node_plan import POOLED
from tests.operators.era_model import with_eras
from tests.operators.flows import run_flow, run_loop
from tests.operators.stored import next_change, node_snapshots
from tests.operators.toy import Stops, ToySource
from tests.operators.toy_job import NAMES, toy_plan

GROWN = combination_weights(complete([*NAMES[2:], "x1", "x2"]))
SMALL = combination_weights(ring(["x2", "y1", NAMES[4], NAMES[6]]))


class Stopping(Stops, ToySource):
    """Stops the job by itself."""


def changing(partitions, rule, first, second, **options):
    plan = toy_plan(partitions, rule, **options)
    return with_eras(plan, Eras.of(plan.weights, {first: GROWN, second: SMALL}))


def compare(ran, source, plan, models=None):
    reference = run_loop(source, plan)
    models = ran.models if models is None else models
    assert models.keys() - {POOLED} == set(plan.eras.nodes)
    for node, learner in reference.learners.items():
        assert models[node] == learner.w.tobytes(), node
    row = ran.final_row()
    assert row["round"] + 1 == reference.rounds
    return reference


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("rule", ["hash", "partition"])
def test_nodes_join_and_leave_at_their_round(workers, rule):
    source = ToySource([200, 90, 0], 14)
    plan = changing(source.names, rule, 8, 16, rounds_per_tick=2, final_rounds=2)
    ran = run_flow(source, plan, workers=workers)
    reference = compare(ran, source, plan)
    hub = ran.hub  # shows who is there, and counts what anybody did
    assert hub.nodes.keys() == hub.reports.keys() == set(SMALL.graph.nodes)
    sent = sum(node.core.messages for node in hub.nodes.values())
    assert (hub.rows, sent - hub.sent_before[0]) == (290, reference.messages)
    left = {r["node"]: r for r in ran.rows if "left" in r and r["learner"] == "cooperative"}
    assert {name: row["round"] for name, row in left.items()} == {
        NAMES[0]: 7, NAMES[1]: 7, NAMES[2]: 15, NAMES[3]: 15, NAMES[5]: 15, "x1": 15,
    }  # fmt: skip
    assert sum(r["samples"] for r in left.values()) + ran.final_row()["samples"] == 290
    assert ran.final_row(POOLED)["samples"] == 290
    here = [r["node"] for r in ran.rows if r["learner"] == "cooperative" and r["round"] == 9]
    assert sorted(here, key=str) == sorted([None, *GROWN.graph.nodes], key=str)


@pytest.mark.parametrize("policy", [Policy(every=3), Policy("event", tolerance=0.1)])
def test_new_neighbours_are_told_whatever_the_policy(policy):
    source = ToySource([300], 7)
    plan = changing(source.names, "round-robin", 13, 30, policy=policy)
    compare(run_flow(source, plan, workers=2), source, plan)


def test_a_stream_that_ends_before_a_change_is_as_if_there_were_none():
    source = ToySource([70], 7)
    same = toy_plan(source.names, "partition")
    plan = with_eras(same, Eras.of(same.weights, {100: GROWN}))
    with_, without = run_flow(source, plan), run_flow(source, same)
    assert with_.models == without.models
    assert with_.final_row() | {"time": 0} == without.final_row() | {"time": 0}


def test_change_after_change_through_one_store(tmp_path):
    init_db_dir(tmp_path, 1)
    rows = [200, 20, 120]  # the second ends before anybody joins
    plan = with_eras(toy_plan(("p00", "p01", "p02"), "partition"), Eras.of(toy_plan(()).weights))
    models, stopped = {}, Stopping(rows, 7)
    before = run_flow(stopped, plan, store=tmp_path, workers=2)
    for change, workers in ((GROWN, 1), (SMALL, 2)):
        assert [r for r in before.rows if r["node"] is None and r["drained"]]
        models |= {f.node: f.model["w"].tobytes() for f in before.finals}
        first = next_change(tmp_path, 1)
        plan = with_eras(plan, plan.eras.then({max(first, plan.eras.steps[-1][0] + 1): change}))
        source = LaterStopping(rows, 7, first + 12) if change is GROWN else ToySource(rows, 7)
        before = run_flow(source, plan, store=tmp_path, workers=workers)
    compare(before, source, plan, models | before.models)
    assert before.final_row(POOLED)["samples"] == sum(rows)
    states = node_snapshots(tmp_path)
    assert states.keys() == {*plan.eras.nodes, POOLED}
    assert all(state["place"][2] for state in states.values())
    again = run_flow(ToySource(rows, 7), plan, store=tmp_path)  # who left ends properly, too
    assert not again.finals
    assert not again.rows


class LaterStopping(ToySource):
    """Stops the job when its nodes have done with a few ticks more."""

    def __init__(self, rows, per_tick, tick):
        super().__init__(rows, per_tick)
        self.last = tick

    def build_part(self, *args):
        part = super().build_part(*args)
        pull = part.next_batch

        def next_batch():
            if part.tick < self.last:
                return pull()
            if min(map(self.hub.slowest, self.names)) >= self.last - 4:
                self.hub.drain.set()
            return []

        part.next_batch = next_batch
        return part
