"""What learners tell of themselves reaches scores and status."""

import math
from dataclasses import replace

import pytest

from operators.asynchronous import AsynchronousNode
from operators.items import Report
from operators.learn import make_hub
from operators.measures import measures_of
from operators.node import _noting
from pipelines.gauges import Gauges
from tests.operators.flows import run_flow
from tests.operators.toy import ToyLearner, ToySource
from tests.operators.toy_job import NAMES, toy_plan


class Telling(ToyLearner):
    """Tells its number of steps, and something that is no number."""

    def measures(self):
        return {"steps": self.k, "broken": math.nan, "endless": math.inf}


def telling_plan(source, **options):
    plan = toy_plan(source.names, "hash", **options)
    return replace(plan, make=lambda node: Telling(3), restore=Telling.restore)


@pytest.mark.parametrize("mode", ["synchronous", "asynchronous"])
def test_rows_of_network_nodes_and_companions_have_them(mode):
    source = ToySource([210, 70], 20)
    ran = run_flow(source, telling_plan(source, mode=mode, final_rounds=3))
    samples = [ran.final_row(node=node)["samples"] for node in NAMES]
    assert [ran.final_row(node=node)["measures"] for node in NAMES] == [
        {"steps": count} for count in samples
    ]
    network = {"steps": {"max": max(samples), "mean": pytest.approx(sum(samples) / len(NAMES))}}
    assert ran.final_row()["measures"] == network
    assert ran.final_row("local")["measures"] == network
    assert ran.final_row("pooled")["measures"] == {"steps": {"max": 280, "mean": 280}}


def test_learners_that_tell_nothing_have_none():
    source = ToySource([40], 20)
    ran = run_flow(source, toy_plan(source.names))
    assert {str(row["measures"]) for row in ran.rows} == {"None"}
    assert measures_of(ToyLearner(3)) is None


def test_rows_before_the_last_have_them_too():
    source = ToySource([200], 20)
    ran = run_flow(source, telling_plan(source, report_every=5))
    rows = [row for row in ran.rows if row["learner"] == "pooled"]
    assert len(rows) > 1
    assert all(row["measures"]["steps"]["mean"] == row["samples"] for row in rows)


def test_the_status_of_a_process_sums_its_nodes_up():
    source = ToySource([40], 20)
    plan = telling_plan(source, mode="asynchronous")
    hub = make_hub(plan.placement)
    note = _noting(hub)
    nodes = [AsynchronousNode(plan, name, None).core for name in NAMES[:3]]
    reports = [event for core in nodes for event in core.reports(0, final=False)]
    told = [{"steps": 4.0}, {"steps": 8.0, "diverging": 1.0}, {"steps": 0.0, "diverging": 0.0}]
    own = [report for report in reports if report.learner == "cooperative"]
    items = [replace(report, measures=one) for report, one in zip(own, told, strict=True)]
    others = [replace(report, measures={"steps": 99.0}) for report in reports if report not in own]
    assert note([*items, *others, "something else"]) == [*items, *others]
    status = Gauges(hub).read()
    assert status["measures"]["steps"] == {"max": 8.0, "sum": 12.0, "nodes": 3}
    assert status["diverging"] == [NAMES[1]]
    note([replace(items[1], measures={"diverging": 0.0})])
    assert Gauges(hub).read()["diverging"] == []
    assert isinstance(items[0], Report)
