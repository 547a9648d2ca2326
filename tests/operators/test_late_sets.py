"""Sets of labels that come apart from their samples: blocks against rows one by one."""

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.errors import SampleError
from anabranch.evaluation import tally_for
from anabranch.protocol import Message
from anabranch.stream import LABEL, SAMPLE, WHOLE, Apart, Predictions, Share
from operators.node_core import NodeCore
from tests.operators.label_toy import LabelToy, columns
from tests.operators.late_oracle import PARTS, Oracle, letters_of
from tests.operators.toy_job import NAMES, toy_plan

KNOWN = ("calm", "sad")


class SumToy(LabelToy):
    """Sums the rows of each label: when a label was admitted does not show in it."""

    def predict_then_learn_margins(self, X, y):
        if (X[:, 0] < -0.8).any():
            raise SampleError("a feature too low")
        margins = np.empty(y.shape)
        for i in range(len(y)):
            margins[i] = self.scores(X[i : i + 1])[0]
            self.w = self.w + y[i][:, None] * X[i]
        return (margins > 0).astype(np.float64), margins


class SetOracle(Oracle):
    """One row at a time; a label is the names that are there."""

    def learn(self, position, x, y, guesses):
        y = tuple(y)
        try:
            for node in (self.learner, self.local):
                node.admit(y)
                node.learn(x, columns([set(y)], node.labels))
        except SampleError:
            self.letters.append(("refused", position))
            return False
        self.pairs.append((y, guesses[0]))
        self.local_pairs.append((y, guesses[1]))
        return True

    def guess(self, position, x):
        return tuple(
            tuple(n for n, on in zip(node.labels, node.predict(x)[0], strict=True) if on)
            for node in (self.learner, self.local)
        )


def plan(labels=(), **options):
    options = {"predictions": True, "late": (5, None), **options}
    return replace(
        toy_plan(PARTS, "id", **options), make=lambda node: SumToy(3, labels),
        restore=SumToy.restore, task="multilabel", labels=labels,
    )  # fmt: skip


def stream(kinds_ids_times, names):
    rng = np.random.default_rng(5)
    rows = []
    for position, (kind, name, time) in enumerate(kinds_ids_times):
        x = rng.normal(size=3) if kind != LABEL else np.zeros(3)
        y = tuple(n for n in names if rng.random() < 0.4)
        rows.append((position, kind, name, time, x, None if kind == SAMPLE else y))
    return rows


def share_of(rows, tick, fixed):
    times = np.array([row[3] for row in rows], dtype=np.int64)
    names = fixed or tuple(sorted({name for row in rows for name in row[5] or ()}))
    y = np.array(
        [np.full(len(names), np.nan) if row[5] is None else columns([set(row[5])], names)[0]
         for row in rows]
    ).reshape(len(rows), len(names))  # fmt: skip
    return Share(
        "s:0", tick, np.array([row[4] for row in rows]).reshape(-1, 3), y,
        np.array([row[0] for row in rows], dtype=np.int64), node=NAMES[0], times=times,
        apart=Apart(np.array([row[1] for row in rows], dtype=np.uint8), [r[2] for r in rows],
                    times),
        labels=None if fixed else names,
    )  # fmt: skip


def told_of(events):
    told = {}
    for made in (e for e in events if isinstance(e, Predictions)):
        assert made.y.shape == made.predicted.shape == (len(made.positions), len(made.labels))
        for position, y, guess in zip(made.positions.tolist(), made.y, made.predicted, strict=True):
            named = [tuple(np.array(made.labels)[row == 1].tolist()) for row in (guess, y)]
            told[position] = (named[0], None if np.isnan(y).all() and len(y) else named[1])
    return told


def totals_of(pairs):
    tally = tally_for("multilabel")
    for y, guess in pairs:
        names = sorted({*y, *guess})
        tally.add(columns([set(y)], names), columns([set(guess)], names), names)
    return counts_of(tally.totals(), ())


def counts_of(totals, known):
    by_name = dict(zip(known, totals["labels"].tolist(), strict=True))
    by_name |= {n[6:]: v.tolist() for n, v in totals.items() if n.startswith("label:")}
    return totals["samples"].tolist(), {n: v for n, v in by_name.items() if any(v)}


def learned(learner):
    """Weights by label; one that only refused samples have may be there, and is 0."""
    return {name: w.tobytes() for name, w in zip(learner.labels, learner.w, strict=True) if w.any()}


kinds = st.sampled_from([SAMPLE, SAMPLE, LABEL, LABEL, WHOLE])
arrivals = st.lists(
    st.tuples(kinds, st.sampled_from("abcdefghij"), st.integers(0, 50)), min_size=1, max_size=60
)


@pytest.mark.parametrize("fixed", [(), KNOWN], ids=["grow", "fixed"])
@settings(deadline=None, max_examples=60)
@given(
    given_rows=arrivals, cuts=st.lists(st.integers(0, 60), max_size=5), restart=st.integers(0, 5)
)
def test_blocks_do_what_rows_do_one_by_one(fixed, given_rows, cuts, restart):
    rows = stream(given_rows, fixed or ("calm", "new", "sad"))
    job = plan(fixed)
    core, oracle, events = NodeCore(job, NAMES[0]), SetOracle(job), []
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    names = np.array([*b"heard\nsad"], dtype=np.uint8)
    word = {"friend": Message({"w": np.array([[0.4, -0.3, 0.2], [-1, 0.2, 0.1]]), "names": names})}
    for number, (start, end) in enumerate(pairwise(edges)):
        if number == restart:
            core = NodeCore(job, NAMES[0], pickle.loads(pickle.dumps(core.export())))
        events += core.learn(number, [share_of(rows[start:end], number, fixed)])
        for row in rows[start:end]:
            oracle.step(row)
        for cooperative in (core.learner, oracle.learner):
            cooperative.combine(number, word, {"friend": 0.5})
    seen, expected = told_of(events), oracle.told
    assert {p: guess for p, (guess, _) in seen.items()} == {p: g for p, (g, _) in expected.items()}
    assert {p: y for p, (_, y) in seen.items() if y} == {
        p: y for p, (_, y) in expected.items() if y
    }
    assert letters_of(events) == sorted(oracle.letters)
    assert learned(core.learner) == learned(oracle.learner)
    assert learned(core.samples.local) == learned(oracle.local)
    assert core.rows == len(oracle.pairs)
    mine, companion = core.reports(0, final=False)
    for report, pairs in ((mine, oracle.pairs), (companion, oracle.local_pairs)):
        found, wanted = counts_of(report.totals, fixed), totals_of(pairs)
        assert found[1] == wanted[1]
        assert found[0] == pytest.approx(wanted[0])


def test_labels_left_without_samples_are_told_by_their_names():
    core = NodeCore(plan(), NAMES[0])
    row = (0, LABEL, "a", 7, np.zeros(3), ("calm", "sad"))
    core.learn(0, [share_of([row], 0, ())])
    letters = [event for event in core.final(1) if hasattr(event, "reason")]
    assert [(one.reason, one.raw, one.time) for one in letters] == [
        ("sample_never_came", b"calm;sad", 7)
    ]
