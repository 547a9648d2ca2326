"""Partitions that joined a running job: nobody waits for ticks they do not have."""

import pytest

from anabranch.exchange import Policy
from tests.operators.flows import run_flow, run_loop
from tests.operators.toy import ToySource
from tests.operators.toy_job import NAMES, toy_plan

BEGINS = {
    "in mid-run": ([200, 120], {"p01": 9}),
    "behind the end of all others": ([20, 300], {"p01": 30}),
    "empty": ([90, 63], {"p01": 9}),
    "empty, behind the end of all others": ([20, 210], {"p01": 30}),
    "all": ([70, 140], {"p00": 5, "p01": 7}),
}


@pytest.mark.parametrize("each", [1, 5])
@pytest.mark.parametrize("rule", ["hash", "partition"])
@pytest.mark.parametrize(("rows", "begins"), BEGINS.values(), ids=BEGINS.keys())
def test_synchronous_flow_equals_loop(rule, rows, begins, each):
    source = ToySource(rows, 7, begins)
    options = {"policy": Policy(every=3), "rounds_per_tick": each}
    plan = toy_plan(source.names, rule, begins=begins, **options)
    reference = run_loop(source, plan)
    ran = run_flow(source, plan, ticks_ahead=4)
    for node in NAMES:
        assert ran.models[node] == reference.learners[node].w.tobytes(), node
    assert ran.final_row()["samples"] == learned(source)
    assert ran.final_row()["round"] + 1 == reference.rounds


@pytest.mark.parametrize("rule", ["hash", "partition"])
@pytest.mark.parametrize(("rows", "begins"), BEGINS.values(), ids=BEGINS.keys())
def test_asynchronous_nodes_learn_all_of_it(rule, rows, begins):
    source = ToySource(rows, 7, begins)
    plan = toy_plan(source.names, rule, mode="asynchronous", begins=begins)
    ran = run_flow(source, plan, ticks_ahead=4)
    assert ran.final_row()["samples"] == learned(source)


def learned(source):
    firsts = [source.begins.get(name, 0) for name in source.names]
    return sum(n - 7 * first for n, first in zip(source.rows, firsts, strict=True))
