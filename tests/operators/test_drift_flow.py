"""Drift in the dataflow: what nodes do against it, and the verdict, equal the reference loop's."""

import pickle
from dataclasses import asdict, replace

import pytest
from bytewax.recovery import init_db_dir

from anabranch.drift import Change, DriftRule, Verdict
from anabranch.learners import DSVOR
from anabranch.network import Eras, combination_weights, ring
from operators.drift import Judge, Waiting
from operators.items import Told
from operators.learn import make_hub
from operators.node_core import NodeCore
from tests.operators.era_model import with_eras
from tests.operators.flows import run_flow, run_loop
from tests.operators.toy import Stops, ToySource
from tests.operators.toy_job import NAMES, toy_plan

RULE = DriftRule("page-hinkley", "raise-step", every=10, warm_up=10, nodes=len(NAMES))
NERVOUS = replace(RULE, every=3, delta=0.3, rise=0.01, settle=12)
"""Many signs of many nodes, in nearby rounds."""
KEYS = ("kind", "round", "since", "scope", "nodes", "before", "after")
ROWS, TICK = [600] * len(NAMES), 15


class Turning(ToySource):
    """Labels turn round in some partitions, from tick 20 on."""

    turned = (2, 4)

    def block(self, part, tick, start, count):
        block = super().block(part, tick, start, count)
        return replace(block, y=3.0 - block.y) if tick >= 20 and part in self.turned else block


class Stopping(Stops, Turning):
    """Stops the job on its way, in the midst of the drift."""

    def build_part(self, *args):
        part = Turning.build_part(self, *args)
        pull = part.next_batch

        def next_batch():
            if part.tick < 25:
                return pull()
            if min(map(self.hub.slowest, self.names)) >= 23:
                self.hub.drain.set()
            return []

        part.next_batch = next_batch
        return part


def plan_of(source, rule=RULE, **options):
    plan = toy_plan(source.names, "partition", final_rounds=2, drift=rule, **options)
    return replace(
        plan, make=lambda node: DSVOR(3, 2, kernel="linear", warm_up=4), restore=DSVOR.restore
    )


def told_rows(rows):
    """Give rows, or drifts, with all that both have."""
    return [tuple(r[key] if key != "nodes" else tuple(r[key]) for key in KEYS) for r in rows]


def same_models(ran, loop):
    models = {f.node: f.model for f in ran.finals}
    for node in NAMES:
        state = loop.learners[node].model()
        assert models[node]["w"].tobytes() == state["w"].tobytes(), node
        assert models[node]["progress"].tobytes() == state["progress"].tobytes(), node


@pytest.fixture(scope="module")
def loop():
    source = Turning(ROWS, TICK)
    return run_loop(source, plan_of(source))


def test_the_reference_finds_the_two_and_reacts(loop):
    began = {d.nodes for d in loop.drifts if d.kind == "begin"}
    assert began >= {(NAMES[2],), (NAMES[4],)}
    assert all(d.round >= d.since >= 19 for d in loop.drifts)
    source = Turning(ROWS, TICK)
    still = run_loop(source, plan_of(source, replace(RULE, policy="log")))
    two = (NAMES[2], NAMES[4])
    wrong = [
        sum(
            (y != p).sum() for n in two for y, p in zip(run.truth[n], run.predicted[n], strict=True)
        )
        for run in (loop, still)
    ]
    assert wrong[0] < wrong[1]


@pytest.mark.parametrize("workers", [1, 2])
def test_flow_equals_loop(loop, workers):
    source = Turning(ROWS, TICK)
    ran = run_flow(source, plan_of(source), workers=workers, pooled=workers == 1)
    same_models(ran, loop)
    assert told_rows(ran.drifts) == told_rows(map(asdict, loop.drifts))
    assert {(r["detector"], r["policy"]) for r in ran.drifts} == {("page-hinkley", "raise-step")}
    assert sum(ran.hub.drift.values()) == sum(d.farther for d in loop.drifts)


@pytest.mark.parametrize("workers", [1, 2])
def test_many_drifts_in_nearby_rounds(workers):
    source = Turning(ROWS, TICK)
    rest = combination_weights(ring([name for name in NAMES if name not in (NAMES[0], NAMES[4])]))
    plan = plan_of(source, NERVOUS, rounds_per_tick=2)
    plan = with_eras(plan, Eras.of(plan.weights, {57: rest}))
    ran, loop = run_flow(source, plan, workers=workers, pooled=False), run_loop(source, plan)
    drifts = told_rows(map(asdict, loop.drifts))
    assert len(drifts) > 20
    assert {scope for _, _, _, scope, *_ in drifts} == {"node", "neighbourhood", "network"}
    assert told_rows(ran.drifts) == drifts


@pytest.mark.parametrize("workers", [(1, 2), (2, 1)])
def test_stopped_and_resumed(loop, tmp_path, workers):
    init_db_dir(tmp_path, 1)
    source = Turning(ROWS, TICK)
    first = run_flow(
        Stopping(ROWS, TICK), plan_of(source), workers=workers[0], pooled=False, store=tmp_path
    )
    ran = run_flow(source, plan_of(source), workers=workers[1], pooled=False, store=tmp_path)
    assert 0 < ran.hub.restored < sum(ROWS)
    assert first.drifts
    same_models(ran, loop)
    # What waits for nodes that are behind is in the snapshot: it is told once they have come.
    assert told_rows(first.drifts + ran.drifts) == told_rows(map(asdict, loop.drifts))


def test_a_drift_is_over_when_its_node_leaves():
    source = Turning(ROWS, TICK)
    rest = combination_weights(ring([name for name in NAMES if name != NAMES[2]]))
    plan = plan_of(source)
    plan = with_eras(plan, Eras.of(plan.weights, {24: rest}))
    ran, loop = run_flow(source, plan, pooled=False), run_loop(source, plan)
    same_models(ran, loop)
    ends = [told for told in told_rows(ran.drifts) if told[0] == "end" and NAMES[2] in told[4]]
    assert [end[1] for end in ends] == [23]
    assert told_rows(ran.drifts) == told_rows(map(asdict, loop.drifts))


def test_signs_wait_for_nodes_that_are_behind():
    plan = toy_plan(("a",))
    plan = with_eras(plan, Eras.of(plan.weights, {30: combination_weights(ring(NAMES[1:]))}))
    late, early, gone = (
        Change(NAMES[2], "begin", 29, 26, 0.1, 0.5),
        Change(NAMES[3], "begin", 24, 21, 0.2, 0.6),
        Change(NAMES[0], "end", 29, 20, 0.1, 0.5, left=True),
    )
    waiting = Waiting(plan, {}, ())
    assert waiting.take([gone, late, *(Told(name, 29) for name in NAMES if name != NAMES[3])]) == []
    waiting = Waiting(plan, **pickle.loads(pickle.dumps(waiting.export())))
    assert waiting.take([early, Told(NAMES[3], 28)]) == [early]
    assert waiting.take([Told(NAMES[3], 27)]) == []
    # Who leaves does so after the round; from the next one on nobody waits for it.
    assert waiting.take([Told(NAMES[3], 29)]) == [late, gone]
    then = Change(NAMES[1], "end", 30, 20, 0.1, 0.1)
    assert waiting.take([then, *(Told(name, 30) for name in NAMES[1:])]) == [then]
    assert waiting.export()["changes"] == []


def test_a_verdict_goes_on_from_an_older_snapshot():
    plan, change = toy_plan(("a",), drift=RULE), Change(NAMES[2], "begin", 29, 26, 0.1, 0.5)
    old = Verdict(plan.neighbours, lambda _: len(NAMES), RULE.most)
    old.take(change)
    judge = Judge(RULE, plan, make_hub(plan.placement), old.export())
    end = replace(change, kind="end", round=40)
    rows, _ = judge.on_batch([end, *(Told(name, 39) for name in NAMES)])
    assert rows == []
    judge = Judge(RULE, plan, make_hub(plan.placement), judge.snapshot())
    rows, _ = judge.on_batch([Told(name, 49) for name in NAMES])
    assert [(row["kind"], row["nodes"]) for row in rows] == [("end", [NAMES[2]])]


@pytest.mark.parametrize(("rule", "mode"), [(None, "synchronous"), (RULE, "asynchronous")])
def test_no_marks_where_nothing_waits(rule, mode):
    plan = toy_plan(("a",), drift=rule, mode=mode)
    core = NodeCore(plan, NAMES[0])
    events = [*core.due(9), *core.parting(9), *core.leaving(9), *core.final(9)]
    assert not any(isinstance(event, Told) for event in events)


def test_asynchronous_nodes_tell_of_drift_too():
    source = Turning(ROWS, TICK)
    ran = run_flow(source, plan_of(source, mode="asynchronous"), pooled=False)
    assert {NAMES[2], NAMES[4]} <= {name for row in ran.drifts for name in row["nodes"]}


def test_without_a_rule_nobody_looks():
    source = Turning([60] * len(NAMES), TICK)
    ran = run_flow(source, plan_of(source, None))
    assert ran.drifts == []
    assert ran.hub.drift == {}
