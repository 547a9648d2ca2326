"""Companions without neighbours: any number of them see every sample, and nobody hears them."""

from dataclasses import replace

import numpy as np
import pytest
from bytewax.dataflow import Dataflow
from bytewax.recovery import init_db_dir

from anabranch.baselines import BASELINES
from anabranch.errors import ConfigurationError
from operators.learn import learn_on_network, make_hub
from operators.node_plan import POOLED, Lone
from tests.operators.flows import run_flow, run_loop, with_pooled
from tests.operators.label_toy import GrowingSource, label_plan
from tests.operators.toy import Stops, ToyLearner, ToySource, rows
from tests.operators.toy_job import NAMES, toy_plan


class Constant(ToyLearner):
    """Says 2, whatever it has seen."""

    def predict_then_learn(self, X, y):
        self.k += len(y)
        return np.full(len(y), 2)

    @classmethod
    def restore(cls, state):
        new = super().restore(state)
        assert isinstance(new, cls)
        return new


ALWAYS_TWO = Lone(lambda name: Constant(3), Constant.restore, saved=False)


def plan_of(source, rule="hash", **options):
    plan = toy_plan(source.names, rule, **options)
    kept = Lone(lambda name: ToyLearner(3), ToyLearner.restore)
    return replace(plan, lone={"zwei": ALWAYS_TWO, "again": kept})


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("mode", ["synchronous", "asynchronous"])
@pytest.mark.parametrize("rule", ["hash", "partition"])
def test_each_learns_every_sample(rule, mode, workers):
    source = ToySource([120, 90], 8)
    ran = run_flow(source, plan_of(source, rule, mode=mode), workers=workers)
    for name in ("pooled", "zwei", "again"):
        assert ran.final_row(name)["samples"] == 210
        assert ran.final_row(name)["messages"] == 0
        assert ran.final_row(name)["node"] is None
        assert ran.final_row(name)["disagreement"] is None
    twos = sum((rows(part, 0, count)[1] == 2).sum() for part, count in ((0, 120), (1, 90)))
    assert ran.final_row("zwei")["scores"]["Accuracy"] == pytest.approx(twos / 210)
    if mode == "synchronous":
        assert ran.models["pooled"] == ran.models["again"]


def test_nodes_do_not_notice_and_a_baseline_gives_no_model():
    source = ToySource([120, 90], 8)
    plan = plan_of(source, rounds_per_tick=2)
    ran = run_flow(source, plan)
    reference = run_loop(source, plan)
    for node in NAMES:
        assert ran.models[node] == reference.learners[node].w.tobytes(), node
    assert ran.models.keys() == {*NAMES, "pooled", "again"}
    assert ran.final_row()["messages"] == reference.messages


class Stopping(Stops, ToySource):
    """Of ranks."""


class StoppingSets(Stops, GrowingSource):
    """Of sets of labels."""


def set_plan(source):
    plan = label_plan(source.names, "hash")
    lone = {
        name: Lone(lambda node, new=kind: new(3, 0), kind.restore, saved=False)
        for name, kind in BASELINES.items()
        if kind.task == "multilabel"
    }
    assert len(lone) >= 2
    return replace(plan, lone=lone)


@pytest.mark.parametrize(
    ("make", "before", "after"),
    [(plan_of, Stopping, ToySource), (set_plan, StoppingSets, GrowingSource)],
    ids=["ranks", "sets of labels"],
)
def test_they_are_restored_as_what_they_are(tmp_path, make, before, after):
    init_db_dir(tmp_path, 1)
    source = after([120, 90], 8)
    plan = make(source)
    part = run_flow(before([120, 90], 8), plan, store=tmp_path)
    saved = {name for name, lone in plan.lone.items() if lone.saved}
    assert {final.node for final in part.finals} == {*NAMES, "pooled", *saved}
    rest, whole = run_flow(source, plan, store=tmp_path), run_flow(source, plan)
    for name in ("cooperative", "pooled", *plan.lone):
        assert rest.final_row(name) | {"time": 0} == whole.final_row(name) | {"time": 0}
    assert rest.hub.restored > 0
    assert rest.hub.restored + rest.hub.rows == 210  # of nodes, not of companions


def test_a_companion_more_leaves_the_others_where_they_are():
    plan = with_pooled(toy_plan(("p00",)))
    more = replace(plan, lone={"a": ALWAYS_TWO, **plan.lone})
    assert more.members == (*plan.members, "a") == (*NAMES, POOLED, "a")


def start(plan):
    hub = make_hub(plan.placement, lone=plan.lone)
    learn_on_network(Dataflow("f"), ToySource([1], 1), plan, hub)


@pytest.mark.parametrize("name", [NAMES[0], NAMES[-1]])
def test_no_node_may_have_a_companions_name(name):
    plan = replace(toy_plan(("p00",)), lone={name: ALWAYS_TWO})
    with pytest.raises(ConfigurationError, match=f"network.nodes names '{name}'"):
        start(plan)


@pytest.mark.parametrize("name", ["cooperative", "local"])
def test_no_companion_may_be_taken_for_the_nodes_themselves(name):
    plan = replace(toy_plan(("p00",)), lone={name: ALWAYS_TWO})
    with pytest.raises(ConfigurationError, match=f"is named '{name}'; allowed: any name but"):
        start(plan)
