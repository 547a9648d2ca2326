"""Asynchronous time: everything is learned, nobody waits, nodes agree in the end."""

import time
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from anabranch.protocol import Message
from anabranch.stream import Share
from operators.asynchronous import AsynchronousNode
from operators.items import Outgoing, Parcel
from tests.operators.flows import run_flow
from tests.operators.toy import ToyLearner, ToySource, rows
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
    time.sleep(0.01)
    assert node._live() == []
    node.on_batch([parcel])
    node.plan = toy_plan(("p00",), mode="asynchronous", stale_after=timedelta(hours=1))
    assert node._live() == list(node.core.neighbours)  # those never heard from the start
    node.plan = plan
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


def test_a_neighbour_never_heard_is_awaited_at_the_end():
    # Nodes without samples, done before the first word came, would end as they began.
    source = ToySource([140], 7)
    plan = toy_plan(source.names, "partition", mode="asynchronous", final_rounds=20)
    ran = run_flow(source, plan, workers=2)
    assert ran.final_row()["disagreement"]["max"] < 0.02
    assert min(np.abs(f.model["w"]).max() for f in ran.finals) > 0.02


def test_exchanges_between_ticks_follow_what_is_heard():
    plan = toy_plan(("p00",), mode="asynchronous", rounds_per_tick=3)
    node = AsynchronousNode(plan, NAMES[0], None)
    friend = node.core.neighbours[0]

    def sent(*values):
        events, _ = node.on_batch([*values])
        return [e.parcel.round for e in events if isinstance(e, Outgoing)]

    def word(round):
        return Parcel(friend, round, Message({"w": np.ones(3)}))

    assert sent(share(0)) == [0]
    assert sent() == []  # nothing was heard
    assert sent(word(0), word(1)) == [1]
    assert sent(word(2)) == [2]
    assert sent(word(3)) == []  # the third was the last of this tick
    assert sent(share(1, count=0)) == [3]  # a tick without rows here is one all the same
    assert sent(word(4)) == [4]
    assert sent(word(5), share(2)) == [5]
    assert sent(word(6)) == [6]


class Noting(ToyLearner):
    """Notes what it hears, as (round, {sender: what it says})."""

    def __init__(self, features):
        super().__init__(features)
        self.inboxes = []

    def combine(self, round, inbox, weights):
        self.inboxes.append((round, {n: float(m.arrays["w"][0]) for n, m in inbox.items()}))
        assert set(weights) >= set(inbox)
        super().combine(round, inbox, weights)


def test_a_learner_hears_the_last_word_again_until_its_sender_is_silent():
    plan = toy_plan(("p00",), mode="asynchronous", stale_after=timedelta(hours=1))
    plan = replace(plan, make=lambda node: Noting(3))
    node = AsynchronousNode(plan, NAMES[0], None)
    friend = node.core.neighbours[0]
    for tick, says in enumerate((3.0, None, 4.0)):
        message = None if says is None else Message({"w": np.full(3, says)})
        # Nothing new is no silence: what was said last stands.
        node.on_batch([Parcel(friend, tick, message, unchanged=message is None), share(tick)])
    node.on_batch([Parcel(friend, 3, None), share(3)])
    node.on_batch([Parcel(friend, 4, Message({"w": np.full(3, 5.0)})), share(4)])
    node.heard_at[friend] -= timedelta(hours=2)
    node.on_batch([share(5)])
    heard = [(round, inbox) for round, inbox in node.core.learner.inboxes]
    assert heard == [
        (0, {friend: 3.0}), (1, {friend: 3.0}), (2, {friend: 4.0}), (3, {}),
        (4, {friend: 5.0}), (5, {}),
    ]  # fmt: skip


def test_what_somebody_said_before_falling_silent_is_heard_once():
    # As an elastic net's server does, which answers and then waits: a slower node must not miss it.
    plan = toy_plan(("p00",), mode="asynchronous", stale_after=timedelta(hours=1))
    node = AsynchronousNode(replace(plan, make=lambda node: Noting(3)), NAMES[0], None)
    friend = node.core.neighbours[0]
    said = [
        Parcel(friend, i, Message({"w": np.full(3, says)})) for i, says in enumerate((3.0, 4.0))
    ]
    node.on_batch([said[0], Parcel(friend, 1, None), Parcel(friend, 2, None), share(0), share(1)])
    node.on_batch([said[0], Parcel(friend, 4, None), said[1], share(2)])
    node.on_batch([share(3)])
    assert node.core.learner.inboxes == [
        (0, {friend: 3.0}), (1, {}), (2, {friend: 4.0}), (3, {friend: 4.0}),
    ]  # fmt: skip
