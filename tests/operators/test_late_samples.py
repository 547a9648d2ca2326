"""Samples and labels apart: predicted on arrival, scored and learned when the label comes."""

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.learners import make
from anabranch.stream import LABEL, SAMPLE, WHOLE, Predictions
from operators.node_core import NodeCore
from operators.node_plan import POOLED
from tests.operators.flows import with_pooled
from tests.operators.late_oracle import (
    Fussy,
    Oracle,
    bits,
    counts_of,
    letters_of,
    plan,
    share_of,
    stream,
    told_of,
)
from tests.operators.toy import ToyLearner
from tests.operators.toy_job import NAMES

kinds = st.sampled_from([SAMPLE, SAMPLE, LABEL, LABEL, WHOLE])
arrivals = st.lists(
    st.tuples(kinds, st.sampled_from("abcdefghij"), st.integers(0, 50)), min_size=1, max_size=60
)


@settings(deadline=None, max_examples=150)
@given(
    arrivals, st.lists(st.integers(0, 60), max_size=5), st.integers(1, 4),
    st.none() | st.integers(0, 25), st.sampled_from([ToyLearner, Fussy]), st.integers(0, 5),
)  # fmt: skip
def test_blocks_do_what_rows_do_one_by_one(given_rows, cuts, limit, wait, learner, restart):
    rows = stream(given_rows)
    if learner is Fussy:  # a label that the learner does not take, now and then
        rows = [(*row[:5], 3.0 if row[0] % 3 == 0 and row[1] != SAMPLE else row[5]) for row in rows]
    job = plan(limit, wait, learner)
    core, oracle, events = NodeCore(job, NAMES[0]), Oracle(job), []
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    for number, (start, end) in enumerate(pairwise(edges)):
        if number == restart:
            restored = replace(job, restore=learner.restore)
            core = NodeCore(restored, NAMES[0], pickle.loads(pickle.dumps(core.export())))
        events += core.learn(number, [share_of(rows[start:end], number)])
        for row in rows[start:end]:
            oracle.step(row)
        for cooperative in (core.learner, oracle.learner):  # as if it had heard a neighbour
            cooperative.w = cooperative.w + np.array([0.4, -0.3, 0.2])
    assert told_of(events) == oracle.told
    assert letters_of(events) == sorted(oracle.letters)
    assert bits(core.learner) == bits(oracle.learner)
    assert bits(core.samples.local) == bits(oracle.local)
    assert core.rows == len(oracle.pairs)
    mine, companion = core.reports(0, final=False)
    assert mine.totals["counts"].tolist() == counts_of(oracle.pairs)
    assert companion.totals["counts"].tolist() == counts_of(oracle.local_pairs)
    left = core.final(9)
    oracle.letters.clear()
    oracle.keep(oracle.late.give_up())
    assert letters_of(left) == sorted(oracle.letters)
    assert letters_of(core.final(9)) == []


def test_one_label_that_is_refused_leaves_the_others_alone():
    rows = [(0, SAMPLE, "a", 0, np.ones(3), np.nan), (1, SAMPLE, "b", 0, np.ones(3), np.nan)]
    rows += [(2, LABEL, "a", 0, np.zeros(3), 3.0), (3, LABEL, "b", 0, np.zeros(3), 2.0)]
    core = NodeCore(plan(learner=Fussy), NAMES[0])
    assert letters_of(core.learn(0, [share_of(rows)])) == [("refused", 0)]
    assert core.rows == 1
    assert core.reports(0, final=True)[0].totals["counts"].sum() == 1


def test_a_refused_sample_moves_the_clock_too():
    rows = [(0, SAMPLE, "a", 0, np.ones(3), np.nan), (1, SAMPLE, "b", 99, -np.ones(3), np.nan)]
    core = NodeCore(plan(wait=50, learner=Fussy), NAMES[0])
    letters = letters_of(core.learn(0, [share_of(rows)]))
    assert letters == [("label_never_came", 0), ("refused", 1)]


def dsvor_plan(**options):
    return plan(100, ranks=4, **options, learner=lambda d: make("dsvor", d, 4, warm_up=2))


def mixed():
    """Every third sample whole, the others with a label eight records later."""
    rng = np.random.default_rng(5)
    rows, labels = [], {}
    for number in range(120):
        x, y = rng.normal(size=3), float(rng.integers(1, 5))
        if number % 3 == 0:
            rows.append((len(rows), WHOLE, f"i{number}", number, x, y))
        else:
            rows.append((len(rows), SAMPLE, f"i{number}", number, x, np.nan))
            labels[number] = (f"i{number}", y)
        if number - 8 in labels:
            name, y = labels.pop(number - 8)
            rows.append((len(rows), LABEL, name, number, np.zeros(3), y))
    return rows


def test_margins_are_those_of_the_moment_of_the_prediction():
    job, rows = dsvor_plan(margins=True), mixed()
    core, twin = NodeCore(job, NAMES[0]), job.make(NAMES[0])
    events = core.learn(0, [share_of(rows[:70])])
    job = replace(job, restore=type(core.learner).restore)
    core = NodeCore(job, NAMES[0], pickle.loads(pickle.dumps(core.export())))
    events += core.learn(1, [share_of(rows[70:], 1)])
    seen = {
        int(position): (margins, int(time))
        for made in events
        for position, margins, time in zip(made.positions, made.margins, made.times, strict=True)
    }
    waiting, expected = {}, {}
    for position, kind, name, time, x, y in rows:
        if kind != LABEL:
            expected[position] = (twin.scores(x[None])[0], time)
        if kind == SAMPLE:
            waiting[name] = x
        else:
            twin.learn((waiting[name] if kind == LABEL else x)[None], np.array([y]))
    assert seen.keys() == expected.keys()
    for position, (margins, time) in expected.items():
        assert seen[position][0].tobytes() == margins.tobytes()
        assert seen[position][1] == time
    assert core.learner.parameters().tobytes() == twin.parameters().tobytes()


@pytest.mark.parametrize(
    ("options", "learner"), [({"margins": False}, None), ({"margins": True}, ToyLearner)]
)
def test_without_margins_there_are_none(options, learner):
    job = plan(**options, ranks=4, learner=learner) if learner else dsvor_plan(**options)
    events = NodeCore(job, NAMES[0]).learn(0, [share_of(mixed()[:6])])
    assert len(events) == 4
    assert all(made.margins is None for made in events)


def test_margins_of_whole_and_held_rows():
    job = replace(dsvor_plan(margins=True), late=None)
    rows = [row for row in mixed() if row[1] == WHOLE]
    share = replace(share_of(rows), held=np.arange(len(rows)) % 4 == 0, apart=None)
    core, twin = NodeCore(job, NAMES[0]), job.make(NAMES[0])
    (made,) = core.learn(0, [share])
    predicted, margins = twin.predict_then_learn_margins(share.X[~share.held], share.y[~share.held])
    assert made.margins.tobytes() == margins.tobytes()
    assert made.predicted.tolist() == predicted.tolist()
    assert made.times.tolist() == share.times[~share.held].tolist()
    (kept,) = [e for e in core.final(0) if isinstance(e, Predictions)]
    assert kept.held
    assert kept.margins.tobytes() == twin.scores(share.X[share.held]).tobytes()
    assert kept.times.tolist() == share.times[share.held].tolist()


def test_the_pooled_companion_learns_the_same_way_and_says_nothing():
    rows = stream(
        [(SAMPLE, name, 0) for name in "abcdefgh"] + [(LABEL, name, 0) for name in "habczab"]
    )
    limit = 2  # a node's; seven nodes' rows may wait here
    core = NodeCore(with_pooled(plan(limit)), POOLED)
    assert core.learn(0, [share_of(rows, node=POOLED)]) == []
    assert core.rows == 4
    (report,) = core.reports(0, final=True)
    assert report.totals["counts"].sum() == 4
    assert [type(event).__name__ for event in core.final(0)] == ["Final"]
    alone = NodeCore(plan(limit), NAMES[0])
    letters = letters_of(alone.learn(0, [share_of(rows)]))
    assert [position for reason, position in letters if reason == "label_never_came"] == [*range(6)]
    assert alone.rows == 1


def test_a_batch_job_gathers_samples_as_their_labels_come():
    job = plan(batch=True, local=False)
    rows = stream([(SAMPLE, "a", 0), (SAMPLE, "b", 0), (LABEL, "b", 0), (WHOLE, "c", 0)])
    core = NodeCore(job, NAMES[0])
    assert core.learn(0, [share_of(rows)]) == []
    report, *_ = core.reports(0, final=True)
    assert report.samples == report.totals["counts"].sum() == 2
    assert letters_of(core.final(0)) == [("label_never_came", 0)]


def test_rows_that_are_never_apart_are_learned_as_without_late_labels():
    rows = stream([(WHOLE, "a", 0)] * 12)
    share = replace(share_of(rows), apart=None)
    late, plain = NodeCore(plan(), NAMES[0]), NodeCore(replace(plan(), late=None), NAMES[0])
    made = [core.learn(0, [share])[0] for core in (late, plain)]
    assert made[0].predicted.tolist() == made[1].predicted.tolist()
    assert bits(late.learner) == bits(plain.learner)
