"""One node's rows with labels apart, one at a time in plain steps: what blocks are held against."""

from dataclasses import replace

import numpy as np

from anabranch.errors import SampleError
from anabranch.late_labels import LateLabels, WaitingLabel, WaitingSample
from anabranch.stream import LABEL, SAMPLE, WHOLE, Apart, DeadLetter, Predictions, Share
from tests.operators.toy import ToyLearner
from tests.operators.toy_job import NAMES, toy_plan

PARTS = ("l:0", "s:0")


class Fussy(ToyLearner):
    """Refuses a low first feature, and a label 3."""

    def predict(self, X):
        if (X[:, 0] < -0.5).any():
            raise SampleError("a feature too low")
        return super().predict(X)

    def learn(self, X, y):
        self.predict_then_learn(X, y)

    def predict_then_learn(self, X, y):
        if (X[:, 0] < -0.5).any() or (y == 3).any():
            raise SampleError("a feature too low, or a label too high")
        return super().predict_then_learn(X, y)


def plan(limit=5, wait=None, learner=ToyLearner, **options):
    options = {"predictions": True, "ranks": 3, "late": (limit, wait), **options}
    return replace(toy_plan(PARTS, "id"), make=lambda node: learner(3), **options)


def stream(kinds_ids_times):
    """Rows in the order of arrival: (position, kind, id, time, x, y)."""
    rng = np.random.default_rng(3)
    rows = []
    for position, (kind, name, time) in enumerate(kinds_ids_times):
        x = rng.normal(size=3) if kind != LABEL else np.zeros(3)
        y = np.nan if kind == SAMPLE else float(rng.integers(1, 3))
        rows.append((position, kind, name, time, x, y))
    return rows


def share_of(rows, tick=0, node=NAMES[0]):
    times = np.array([row[3] for row in rows], dtype=np.int64)
    kinds = np.array([row[1] for row in rows], dtype=np.uint8)
    return Share(
        "s:0", tick,
        np.array([row[4] for row in rows]).reshape(-1, 3),
        np.array([row[5] for row in rows]),
        np.array([row[0] for row in rows], dtype=np.int64),
        node=node, times=times, apart=Apart(kinds, [row[2] for row in rows], times),
    )  # fmt: skip


class Oracle:
    """One row at a time, in plain steps."""

    def __init__(self, plan):
        self.learner, self.local = plan.make(NAMES[0]), plan.make(NAMES[0])
        self.late = LateLabels(*plan.late)
        self.told, self.letters, self.pairs, self.local_pairs = {}, [], [], []

    def both(self, x):
        return int(self.learner.predict(x)[0]), int(self.local.predict(x)[0])

    def learn(self, position, x, y, guesses):
        try:
            for node in (self.learner, self.local):
                node.learn(x, np.array([y]))
        except SampleError:
            self.letters.append(("refused", position))
            return False
        self.pairs.append((y, guesses[0]))
        self.local_pairs.append((y, guesses[1]))
        return True

    def keep(self, letters):
        self.letters += [(letter.reason, letter.position) for letter in letters]

    def step(self, row):
        position, kind, name, time, x, y = row
        self.keep(self.late.arrive(time))
        if kind == LABEL:
            self.label(position, name, time, y)
        elif kind == WHOLE:
            self.whole(position, x[None], y)
        else:
            self.sample(position, name, time, x[None])

    def label(self, position, name, time, y):
        sample = self.late.sample_for(name)
        if sample is None:
            self.keep(self.late.keep_label(name, WaitingLabel("s:0", position, time, y)))
        else:
            x, guesses = np.frombuffer(sample.x)[None], (sample.predicted, sample.local)
            self.learn(sample.position, x, y, guesses)

    def whole(self, position, x, y):
        guesses = self.guess(position, x)
        if guesses and self.learn(position, x, y, guesses):
            self.told[position] = (guesses[0], y)

    def sample(self, position, name, time, x):
        label = self.late.label_for(name)
        if label is not None:
            self.whole(position, x, label.y)
            return
        guesses = self.guess(position, x)
        if guesses:
            if not self.late.has_sample(name):
                self.told[position] = (guesses[0], None)
            sample = WaitingSample("s:0", position, time, x.tobytes(), *guesses)
            self.keep(self.late.keep_sample(name, sample))

    def guess(self, position, x):
        try:
            return int(self.learner.predict(x)[0]), int(self.local.predict(x)[0])
        except SampleError:
            self.letters.append(("refused", position))
            return None


def told_of(events):
    told = {}
    for made in (e for e in events if isinstance(e, Predictions)):
        for position, y, guess in zip(made.positions, made.y, made.predicted, strict=True):
            assert int(position) not in told
            told[int(position)] = (int(guess), None if np.isnan(y) else float(y))
    return told


def letters_of(events):
    return sorted((e.reason, e.position) for e in events if isinstance(e, DeadLetter))


def counts_of(pairs, ranks=3):
    counts = np.zeros((ranks, ranks), dtype=int)
    for y, guess in pairs:
        counts[int(y) - 1, guess - 1] += 1
    return counts.tolist()


def bits(learner):
    return learner.w.tobytes(), learner.k
