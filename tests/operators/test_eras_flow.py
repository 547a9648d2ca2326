"""Networks that change while a job runs, through the engine: the reference loop, bit for bit."""

import random
from dataclasses import replace

import numpy as np
import pytest
from bytewax.recovery import init_db_dir

from anabranch.exchange import Policy
from anabranch.network import Eras, combination_weights, complete, ring
from operators.items import Report
from operators.node_plan import COOPERATIVE, POOLED
from operators.scoring import Scoring
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
    assert ran.final_row()["samples"] == 290  # those of who left, too
    assert sum(r["samples"] for r in left.values()) > 0
    assert ran.final_row()["messages"] == reference.messages
    for name in ("cooperative", "local"):
        network = [r for r in ran.rows if (r["learner"], r["node"]) == (name, None)]
        network.sort(key=lambda r: r["round"])
        assert (seen := [r["samples"] for r in network]) == sorted(seen)
        assert seen[-1] == 290
        assert all(np.sum(r["confusion"]) == r["samples"] for r in network)
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
    for name in (POOLED, "cooperative", "local"):
        assert before.final_row(name)["samples"] == sum(rows)
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


FEW = Eras.of(combination_weights(ring("abcd")), {2: combination_weights(ring("bcd"))})


def report(node, round, **how):
    counts = {"counts": np.eye(2, dtype=np.int64) * (round + 1)}
    numbers = (2 * (round + 1), counts, {"counts": np.eye(2)}, None, np.ones(1), round + 1, 8)
    final = how.pop("final", False)
    return Report(node, COOPERATIVE, round, *numbers, final, **how)


def in_any_order(seed, state=None):
    """Rows of a job whose nodes report four rounds, "a" leaving after the second."""
    rng, scoring, rows = random.Random(seed), Scoring("ordinal", 3, False, state, eras=FEW), []
    told = {node: [report(node, round) for round in range(4)] for node in "bcd"}
    told = {node: [*some, report(node, 4, final=True)] for node, some in told.items()}
    told["a"] = [report("a", 0), report("a", 1), report("a", 1, final=True, present=False)]
    while any(told.values()):
        node = rng.choice([node for node in told if told[node]])
        rows += scoring.on_batch([told[node].pop(0)])[0]
        if rng.random() < 0.2:
            scoring = Scoring("ordinal", 3, False, scoring.snapshot(), eras=FEW)
    return rows


def test_the_networks_rows_do_not_depend_on_when_a_leaving_node_is_heard():
    def network(seed):
        rows = [row | {"time": ""} for row in in_any_order(seed) if row["node"] is None]
        assert [row["round"] for row in rows] == [0, 1, 2, 3, 4]
        return rows

    first = network(0)
    assert [row["samples"] for row in first] == [8, 16, 22, 28, 34]
    assert [row["messages"] for row in first] == [4, 8, 11, 14, 17]
    assert all(network(seed) == first for seed in range(1, 30))


def test_what_older_snapshots_have_of_nodes_that_left_is_read():
    gone = report("a", 1, final=True, present=False)
    gone = replace(gone, drained=True, totals={}, window={}, parameters=None)
    old = {(COOPERATIVE, -1, False, True): {"a": gone}}
    scoring = Scoring("ordinal", 3, False, old, eras=FEW)
    rows = [row for n in "bcd" for row in scoring.on_batch([report(n, 2)])[0]]
    assert rows[0]["samples"] == 3 * 6 + 4
    rows = [row for n in "bcd" for row in scoring.on_batch([report(n, 3, drained=True)])[0]]
    assert [row["node"] for row in rows] == [None, "b", "c", "d"]
    assert rows[0]["samples"] == 3 * 8 + 4
