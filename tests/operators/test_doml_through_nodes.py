"""DOML through the dataflow: law 1, labels that grow, resume, sites; late and lost messages."""

import pickle
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from bytewax.recovery import init_db_dir

from anabranch.exchange import Policy
from anabranch.learners import DOML
from operators.asynchronous import AsynchronousNode
from operators.items import Outgoing
from operators.synchronous import SynchronousNode
from tests.operators.flows import run_flow, run_loop
from tests.operators.label_toy import KNOWN, FixedSource, GrowingSource, label_plan
from tests.operators.site_model import play
from tests.operators.spread import Spread
from tests.operators.toy import Stops
from tests.operators.toy_job import NAMES

ALL = ("calm", "late of 0", "late of 1", "sad")


def doml_plan(partitions, rule="hash", labels=(), settings=None, **options):
    settings = {"warm_up": 6, **(settings or {})}
    plan = label_plan(partitions, rule, labels, **options)
    return replace(
        plan, make=lambda node: DOML(3, labels=labels, **settings), restore=DOML.restore
    )  # fmt: skip


def same(model, learner):
    """Tell whether a model is that of a learner, bit for bit."""
    other = learner.model()
    assert model.keys() == other.keys()
    for name, value in other.items():
        assert pickle.dumps(model[name]) == pickle.dumps(value), name


def compare(ran, reference):
    models = {f.node: f.model for f in ran.finals}
    for node in NAMES:
        same(models[node], reference.learners[node])
    row = ran.final_row()
    assert row["messages"] == reference.messages
    assert row["bytes"] == reference.bytes
    assert row["round"] + 1 == reference.rounds
    assert row["scores"] == pytest.approx(reference.scores())


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("each", [1, 5])
@pytest.mark.parametrize("source", [FixedSource, GrowingSource])
def test_flow_equals_loop(source, each, workers):
    source = source([160, 90], 20)
    labels = KNOWN if isinstance(source, FixedSource) else ()
    plan = doml_plan(source.names, labels=labels, rounds_per_tick=each, final_rounds=3)
    ran = run_flow(source, plan, workers=workers)
    compare(ran, run_loop(source, plan))
    assert ran.final_row()["scores"]["MicroF1"] > 0.6
    assert ran.dead == []


@pytest.mark.parametrize(
    "settings", [{"literal": True}, {"cache": 12}, {"predictor": "per-label", "scaling": "none"}]
)
def test_with_other_settings_and_exchange_now_and_then(settings):
    source = GrowingSource([120, 90], 10)
    plan = doml_plan(source.names, settings=settings, policy=Policy(every=2), rounds_per_tick=3)
    compare(run_flow(source, plan), run_loop(source, plan))


def test_a_label_of_one_node_is_predicted_by_all():
    source = GrowingSource([300, 300], 20)
    plan = doml_plan(source.names, "partition", rounds_per_tick=3, final_rounds=30)
    ran = run_flow(source, plan, workers=2)
    compare(ran, run_loop(source, plan))
    learners = {f.node: DOML.restore(f.model) for f in ran.finals}
    assert {learner.labels for learner in learners.values()} == {ALL}
    clear = np.array([[0.0, 0.0, 4.0]])  # what both partitions' late labels go by
    for node, learner in learners.items():
        assert learner.scores(clear)[0, 1] > learner.scores(-clear)[0, 1], node


class Stopping(Stops, GrowingSource):
    """Stops the job on its way."""


@pytest.mark.parametrize("workers", [(1, 2), (2, 1)])
def test_a_job_that_was_stopped_goes_on_as_if_it_had_not_been(tmp_path, workers):
    init_db_dir(tmp_path, 1)
    source = GrowingSource([160, 120], 16)
    plan = doml_plan(source.names, rounds_per_tick=2, final_rounds=3)
    run_flow(Stopping(source.rows, 16), plan, workers=workers[0], store=tmp_path)
    ran = run_flow(source, plan, workers=workers[1], store=tmp_path)
    assert 0 < ran.hub.restored < 280
    compare(ran, run_loop(source, plan))


@pytest.mark.parametrize("crashes", [0, 5])
def test_sites_end_as_one_job(crashes):
    spread = Spread(
        ((90,), (70,)), graph="ring", source_of=GrowingSource, rounds_per_tick=2,
        make=lambda node: DOML(3, warm_up=6),
        options={"task": "multilabel", "restore": DOML.restore},
    )  # fmt: skip
    truth = spread.reference()
    sites = play(spread, 1, crashes)
    for site in sites:
        for name, node in site.nodes.items():
            same(node.core.learner.model(), truth.learners[name])


# Asynchronous time


def test_asynchronous_nodes_agree_and_know_all_labels():
    source = GrowingSource([300, 260], 10)
    plan = doml_plan(source.names, mode="asynchronous", final_rounds=60, rounds_per_tick=2)
    ran = run_flow(source, plan, workers=2)
    row = ran.final_row()
    assert row["samples"] == 560
    assert {tuple(f.model["labels"]) for f in ran.finals} == {ALL}
    assert row["scores"]["MicroF1"] > 0.6
    assert row["disagreement"]["max"] < 0.2


class Post:
    """Carries parcels between asynchronous nodes: so many turns late, and not all."""

    def __init__(self, plan, late=0, loss=0.0):
        self.nodes = {n: AsynchronousNode(plan, n, None) for n in plan.placement.nodes}
        self.late, self.loss = late, loss
        self.turn, self.way, self.asleep = 0, [], set()
        self.rng = np.random.default_rng(0)

    def play(self, shares, turns):
        """One turn: each node gets what is due, then its share, then exchanges."""
        for turn in range(turns):
            due = [w for w in self.way if w[0] <= self.turn]
            self.way = [w for w in self.way if w[0] > self.turn]
            for name, node in self.awake:
                mail = [parcel for _, to, parcel in due if to == name]
                self.act(node, [*mail, *shares(name, turn)])
            self.turn += 1

    def act(self, node, values):
        events = [*node.on_batch(values)[0], *node.on_notify()[0]]
        for sent in (e for e in events if isinstance(e, Outgoing)):
            for to in sent.receivers:
                if self.rng.random() >= self.loss:
                    self.way.append((self.turn + 1 + self.late, to, sent.parcel))

    @property
    def awake(self):
        return [(name, node) for name, node in self.nodes.items() if name not in self.asleep]

    def parameters(self):
        return np.array([node.core.learner.parameters() for _, node in self.awake])

    def spread_of(self):
        P = self.parameters()
        return np.abs(P - P.mean(axis=0)).max() / np.abs(P).max()


def shares_of(source, plan, ticks):
    def shares(name, turn):
        if turn >= ticks:
            return []
        block = source.block(0, turn, turn * source.per_tick, source.per_tick)
        return [plan.placement.shares(block)[name]]

    return shares


@pytest.mark.parametrize("late", [0, 3])
def test_late_parcels_are_seen_as_late_and_damped(late):
    source = FixedSource([210], 21)
    options = {"stale_after": timedelta(hours=1), "mode": "asynchronous"}
    plan = doml_plan(source.names, "round-robin", KNOWN, **options)
    post = Post(plan, late)
    post.play(shares_of(source, plan, 10), 200)
    for node in post.nodes.values():
        told = node.core.learner.measures()
        assert told["delay"] >= late
        assert told["delay"] <= 2 * late + 2
        assert told["damping"] == 1 / (1 + told["delay"])
    assert post.spread_of() < 0.05


def test_what_is_late_makes_the_literal_algorithm_diverge_and_not_the_damped():
    source = FixedSource([7], 7)
    ends = []
    for settings in ({"literal": True}, {"literal": True, "damped": True}, {"scaling": "none"}):
        options = {"settings": settings, "stale_after": timedelta(hours=1), "mode": "asynchronous"}
        plan = doml_plan(source.names, "round-robin", KNOWN, **options)
        post = Post(plan, late=1)
        post.play(shares_of(source, plan, 1), 150)
        ends.append((np.abs(post.parameters()).max(), post.spread_of()))
    assert ends[0][0] > 1e6
    assert max(size for size, _ in ends[1:]) < 1.0
    assert max(spread for _, spread in ends[1:]) < 0.1


def test_half_the_parcels_are_lost_and_nodes_leave_and_join():
    source = FixedSource([210], 21)
    options = {"stale_after": timedelta(hours=1), "mode": "asynchronous"}
    plan = doml_plan(source.names, "round-robin", KNOWN, **options)
    post = Post(plan, 1, loss=0.5)
    post.asleep = {NAMES[2]}
    post.play(shares_of(source, plan, 10), 60)
    assert post.spread_of() < 0.2
    post.asleep = {NAMES[5]}  # its neighbours go on with its last word
    post.play(shares_of(source, plan, 0), 250)
    assert post.spread_of() < 0.05
    post.asleep = set()
    post.play(shares_of(source, plan, 0), 100)
    assert post.spread_of() < 0.05


def test_a_neighbour_that_fell_silent_counts_with_its_last_word():
    source = FixedSource([210], 21)
    options = {"stale_after": timedelta(hours=1), "mode": "asynchronous"}
    plan = doml_plan(source.names, "round-robin", KNOWN, **options)
    post = Post(plan, 0)
    post.play(shares_of(source, plan, 10), 100)
    node = post.nodes[NAMES[0]]
    before = node.core.learner.measures()
    node.heard_at = dict.fromkeys(node.heard_at, node.exchanged_at - timedelta(hours=2))
    assert node._live() == []
    for _ in range(50):
        node.on_notify()
    after = node.core.learner.measures()
    assert after["w"] == before["w"] > 0  # its neighbours are all still there
    assert after["disagreement"] < 0.1


def test_a_site_that_comes_back_with_an_older_state_is_heard_again():
    source = FixedSource([210], 21)
    options = {"stale_after": timedelta(hours=1), "mode": "asynchronous"}
    plan = doml_plan(source.names, "round-robin", KNOWN, **options)
    post = Post(plan, 0)
    post.play(shares_of(source, plan, 10), 12)
    old = pickle.dumps(post.nodes[NAMES[0]].snapshot())
    post.play(shares_of(source, plan, 0), 60)
    post.nodes[NAMES[0]] = AsynchronousNode(plan, NAMES[0], pickle.loads(old))
    post.play(shares_of(source, plan, 0), 100)
    assert post.spread_of() < 0.05
    assert max(node.core.learner.measures()["delay"] for node in post.nodes.values()) < 5


def test_a_snapshot_does_not_change_with_the_node():
    source = FixedSource([40], 20)
    plan = doml_plan(source.names, "round-robin", KNOWN)
    node = SynchronousNode(plan, NAMES[0], None)
    block = source.block(0, 0, 0, 20)
    node.on_batch([plan.placement.shares(block)[NAMES[0]]])
    taken = node.snapshot()
    bits = pickle.dumps(taken)
    later = source.block(0, 1, 20, 20)
    node.core.learn(1, [plan.placement.shares(later)[NAMES[0]]])
    node.core.combine(1, {})
    assert pickle.dumps(taken) == bits
