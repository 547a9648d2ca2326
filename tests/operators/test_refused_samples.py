"""A sample that the learner refuses is told once, however many learners it was meant for."""

from dataclasses import replace

import numpy as np
import pytest
from bytewax.dataflow import Dataflow

from anabranch.errors import ConfigurationError, SampleError
from anabranch.stream import Share
from operators.learn import learn_on_network, make_hub
from operators.node_core import NodeCore
from tests.operators.flows import run_flow
from tests.operators.toy import ToyLearner, ToySource, rows
from tests.operators.toy_job import NAMES, toy_plan


class Fussy(ToyLearner):
    """Refuses a negative first feature."""

    def predict_then_learn(self, X, y):
        if (X[:, 0] < 0).any():
            raise SampleError("a negative feature")
        return super().predict_then_learn(X, y)


def test_companions_do_not_tell_it_again():
    source = ToySource([60], 12)
    plan = replace(toy_plan(source.names), make=lambda node: Fussy(3))
    ran = run_flow(source, plan, pooled=True)
    learned = ran.final_row()["samples"]
    assert 0 < learned < 60
    assert ran.final_row("pooled")["samples"] == learned
    positions = [letter.position for letter in ran.dead]
    assert len(positions) == len(set(positions)) == 60 - learned


def test_a_refused_sample_is_no_part_of_a_batch_shard():
    X, y = rows(0, 0, 12)
    core = NodeCore(replace(toy_plan(["p00"], batch=True), make=lambda node: Fussy(3)), NAMES[0])
    events = core.learn(0, [Share("p00", 0, X, y, np.arange(12), None, NAMES[0])])
    good = int((X[:, 0] >= 0).sum())
    assert 0 < good < 12
    assert len(events) == 12 - good
    report, *_ = core.reports(0, final=True)
    assert report.samples == report.totals["counts"].sum() == good


def test_no_node_may_take_the_name_of_the_companion():
    plan = toy_plan(["p00"])
    taken = replace(plan, placement=replace(plan.placement, nodes=("a", "pooled")))
    with pytest.raises(ConfigurationError, match="'pooled'"):
        learn_on_network(Dataflow("f"), ToySource([1], 1), taken, make_hub(taken.placement))
