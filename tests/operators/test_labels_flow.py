"""Sets of labels through the dataflow: law 1, labels that grow, rows held back, predictions."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from anabranch.evaluation import scores, tally_for
from anabranch.exchange import Policy
from anabranch.label_rows import paired
from operators.node_core import NodeCore
from operators.scoring import Scoring
from tests.operators.flows import run_flow, run_loop
from tests.operators.label_toy import (
    KNOWN,
    FixedSource,
    FussyLabelToy,
    GrowingSource,
    HeldSource,
    LabelToy,
    columns,
    label_plan,
    label_sets,
)
from tests.operators.toy import rows
from tests.operators.toy_job import NAMES

ALL = ("calm", "late of 0", "late of 1", "sad")


def compare(source, plan, **how):
    reference = run_loop(source, plan)
    ran = run_flow(source, plan, **how)
    models = {f.node: f.model for f in ran.finals}
    for node in NAMES:
        learner = reference.learners[node]
        assert models[node]["names"] == list(learner.labels), node
        assert models[node]["w"].tobytes() == learner.w.tobytes(), node
    row = ran.final_row()
    assert row["messages"] == reference.messages
    assert row["bytes"] == reference.bytes
    assert row["round"] + 1 == reference.rounds
    told = reference.scores()
    assert row["scores"] == pytest.approx(told)
    assert ran.dead == []
    return ran, reference


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("rule", ["round-robin", "hash", "partition"])
@pytest.mark.parametrize("source", [GrowingSource, FixedSource])
def test_flow_equals_loop(source, rule, workers):
    source = source([160, 90, 0], 14)
    labels = KNOWN if isinstance(source, FixedSource) else ()
    ran, _ = compare(source, label_plan(source.names, rule, labels), workers=workers)
    assert ran.final_row()["scores"]["MicroF1"] > 0.7


@pytest.mark.parametrize("policy", [Policy(every=3), Policy("event", tolerance=0.05)])
def test_with_every_policy_and_more_rounds_a_tick(policy):
    source = GrowingSource([160, 90], 14)
    compare(source, label_plan(source.names, policy=policy, rounds_per_tick=2), workers=2)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_label_first_seen_at_one_node_is_taken_up_by_all(workers):
    source = GrowingSource([120, 100], 10)
    plan = label_plan(source.names, "partition", labels=("sad",), rounds_per_tick=2)
    ran, reference = compare(source, plan, workers=workers)
    # Two nodes have samples; each knows a label that no other node has met.
    met = {node: set(names[-1]) for node, names in reference.labels.items()}
    assert len(met) == 2
    models = {f.node: f.model for f in ran.finals}
    for node in (*NAMES, "pooled"):
        assert models[node]["names"] == ["sad", "calm", "late of 0", "late of 1"], node
        assert np.abs(models[node]["w"]).sum(axis=1).min() > 0
    assert ran.final_row()["disagreement"] is not None


def test_nodes_that_do_not_know_the_same_labels_yet_have_no_disagreement():
    source = GrowingSource([120], 10)
    ran = run_flow(source, label_plan(source.names, "partition"))
    first = [r for r in ran.rows if r["learner"] == "cooperative" and r["node"] is None]
    spreads = {r["round"]: r["disagreement"] for r in first}
    assert spreads[0] is None
    assert spreads[9] is not None
    # Nor have those who know as many, but others.
    plan = label_plan(("p00",))
    scoring, rows_ = Scoring(plan.task, 2, False, None), []
    for node, name in zip(NAMES[:2], KNOWN, strict=True):
        core = NodeCore(replace(plan, make=lambda node, name=name: LabelToy(3, [name])), node)
        rows_ += scoring.on_batch(core.reports(0, final=False)[:1])[0]
    assert rows_[0]["node"] is None
    assert rows_[0]["disagreement"] is None


def test_before_any_label_nodes_agree():
    plan = label_plan(("p00",))
    scoring, rows_ = Scoring(plan.task, 2, False, None), []
    for node in NAMES[:2]:
        rows_ += scoring.on_batch(NodeCore(plan, node).reports(0, final=False)[:1])[0]
    assert rows_[0]["disagreement"] == {"max": 0.0, "mean": 0.0}


def test_the_local_companion_hears_of_no_labels():
    source = GrowingSource([120, 100], 10)
    ran = run_flow(source, label_plan(source.names, "partition"))
    here = ran.final_row("local", NAMES[0])["samples"], ran.final_row("local", NAMES[1])["samples"]
    assert here == (120, 100)
    alone = LabelToy(3)
    tally = tally_for("multilabel")
    for start in range(0, 120, 10):
        X, _ = rows(0, start, 10)
        sets = label_sets(0, start, X)
        alone.admit(sorted(set().union(*sets)))
        y = columns(sets, alone.labels)
        tally.add(y, alone.predict_then_learn(X, y), alone.labels)
        alone.combine(0, {}, {})
    assert alone.labels == ("calm", "late of 0", "sad")
    assert ran.final_row("local", NAMES[0])["scores"] == scores("multilabel", tally.totals())


def test_predictions_have_the_names_of_their_columns():
    source = GrowingSource([120, 100], 10)
    plan = label_plan(source.names, "hash", predictions=True, margins=True, final_rounds=1)
    ran, reference = compare(source, plan)
    seen = {}
    for made in ran.predictions:
        assert made.y.shape == made.predicted.shape == (len(made.positions), len(made.labels))
        assert ((made.margins > 0) == made.predicted).all()
        for position, row in zip(made.positions.tolist(), made.y, strict=True):
            part = source.names.index(made.partition)
            names = {made.labels[i] for i in np.flatnonzero(row)}
            X, _ = rows(part, position, 1)
            assert names == label_sets(part, position, X)[0]
            seen.setdefault(part, []).append(position)
    assert {part: sorted(got) for part, got in seen.items()} == {0: [*range(120)], 1: [*range(100)]}
    assert {made.labels for made in ran.predictions} >= {("calm", "sad"), ALL}
    told = sum(p.predicted.sum() for p in ran.predictions)
    assert told == sum(p.sum() for got in reference.predicted.values() for p in got)


def test_rows_held_back_are_scored_and_predicted_with_all_their_labels():
    source = HeldSource([120], 10)
    plan = label_plan(source.names, predictions=True)
    ran = run_flow(source, plan)
    held = [made for made in ran.predictions if made.held]
    assert sorted(np.concatenate([m.positions for m in held])) == [*range(3, 120, 4)]
    tally = tally_for("multilabel")
    for made in held:
        tally.add(made.y, made.predicted, made.labels)
    row = ran.final_row()
    assert row["samples"] == 90
    assert row["held"] == pytest.approx(scores("multilabel", tally.totals()))
    assert row["held"]["MicroF1"] > 0.6


def test_a_label_that_occurs_in_held_rows_alone_is_missed_not_lost():
    y, predicted, names = paired(np.array([[1.0, 1.0]]), ("b", "z"), np.array([[1.0]]), ("b",))
    assert (y.tolist(), predicted.tolist(), names) == ([[1.0, 1.0]], [[1.0, 0.0]], ("b", "z"))


@pytest.mark.parametrize("source", [GrowingSource, FixedSource])
def test_a_batch_job_is_scored_after_its_rounds(source):
    source = source([160, 90], 1000)
    labels = KNOWN if isinstance(source, FixedSource) else ()
    plan = label_plan(source.names, labels=labels, batch=True, final_rounds=5)
    reference = run_loop(source, plan)
    ran = run_flow(source, plan)
    tally = tally_for("multilabel", labels=labels)
    for node, learner in reference.learners.items():
        for part, count in ((0, 160), (1, 90)):
            X, _ = rows(part, 0, count)
            mine = np.arange(count) % len(NAMES) == NAMES.index(node)
            sets = [one for one, on in zip(label_sets(part, 0, X), mine, strict=True) if on]
            tally.add(columns(sets, learner.labels), learner.predict(X[mine]), learner.labels)
    assert ran.final_row()["scores"] == pytest.approx(scores("multilabel", tally.totals()))
    assert ran.final_row()["samples"] == 250


@pytest.mark.parametrize("batch", [False, True])
def test_a_bad_row_is_refused_alone(batch):
    source = GrowingSource([90], 15)
    make = partial(FussyLabelToy, 3)
    plan = replace(label_plan(source.names, batch=batch), make=lambda node: make())
    ran = run_flow(source, plan)
    bad = [i for i in range(90) if rows(0, i, 1)[0][0, 0] < -0.5]
    assert sorted(letter.position for letter in ran.dead) == bad
    assert {letter.reason for letter in ran.dead} == {"refused"}
    for learner in ("cooperative", "local", "pooled"):
        assert ran.final_row(learner)["samples"] == 90 - len(bad)


def test_asynchronous_nodes_take_labels_up_too():
    source = GrowingSource([200, 160], 10)
    plan = label_plan(source.names, "partition", mode="asynchronous", final_rounds=5)
    ran = run_flow(source, plan, workers=2)
    assert {tuple(f.model["names"]) for f in ran.finals} == {ALL}
    row = ran.final_row()
    assert row["samples"] == 360
    assert row["disagreement"]["max"] < 1.0
