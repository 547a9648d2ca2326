"""Asynchronous time: everything is learned, nobody waits, nodes agree in the end."""

from datetime import timedelta

import numpy as np
import pytest

from anabranch.stream import Share
from operators.asynchronous import AsynchronousNode
from operators.items import Parcel
from tests.operators.flows import run_flow
from tests.operators.toy import ToySource, rows
from tests.operators.toy_job import NAMES, toy_plan


@pytest.mark.parametrize("workers", [1, 2])
def test_every_sample_is_learned_once(workers):
    source = ToySource([400, 150], 20)
    plan = toy_plan(source.names, "hash", mode="asynchronous", final_rounds=5)
    ran = run_flow(source, plan, workers=workers)
    row = ran.final_row()
    assert row["samples"] == 550
    assert ran.final_row("pooled")["samples"] == 550
    assert row["scores"]["Accuracy"] > 0.7
    assert row["disagreement"]["max"] < 0.1


def test_skewed_sources_do_not_block_each_other():
    # One partition is a hundred times longer: its ticks are acknowledged on their own.
    source = ToySource([2000, 20], 20)
    plan = toy_plan(source.names, "partition", mode="asynchronous")
    ran = run_flow(source, plan)
    assert ran.final_row()["samples"] == 2020


def share(tick, count=2):
    X, y = rows(0, tick * count, count)
    return Share("p00", tick, X, y, np.arange(count), None, NAMES[0])


def test_a_stale_neighbour_is_left_out_and_taken_back():
    plan = toy_plan(("p00",), mode="asynchronous", stale_after=timedelta(milliseconds=1))
    node = AsynchronousNode(plan, NAMES[0], None)
    friend = node.core.neighbours[0]
    other = AsynchronousNode(plan, friend, None)
    (parcel, *_) = [o.parcel for o in other.core.send(0)]
    assert node._live() == []
    node.on_batch([parcel])
    node.plan = toy_plan(("p00",), mode="asynchronous", stale_after=timedelta(hours=1))
    assert node._live() == [friend]
    node.plan = plan
    import time

    time.sleep(0.01)
    assert node._live() == []
    node.on_batch([Parcel(friend, 1, parcel.message)])
    assert friend in node.heard


def test_a_repeated_share_is_learned_once():
    plan = toy_plan(("p00",), mode="asynchronous")
    node = AsynchronousNode(plan, NAMES[0], None)
    node.on_batch([share(0), share(0), share(1)])
    assert node.core.rows == 4
    rebuilt = AsynchronousNode(plan, NAMES[0], node.snapshot())
    rebuilt.on_batch([share(1), share(2)])
    assert rebuilt.core.rows == 6
