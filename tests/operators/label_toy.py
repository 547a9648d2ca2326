"""A tiny learner of sets of labels, and sources whose labels are known or grow."""

from dataclasses import replace

import numpy as np

from anabranch.errors import SampleError
from anabranch.labels import aligned, joined, named
from anabranch.protocol import Message, freeze
from anabranch.stream import Block
from tests.operators.toy import ToySource, rows
from tests.operators.toy_job import toy_plan

KNOWN = ("calm", "sad")
LATE = 60
"""Position from which a partition has a label of its own."""


class LabelToy:
    """A running mean of +-x for each label, averaged with the neighbours'.

    A label admitted late misses what came before, so its bits tell when that was.
    """

    kind = "label-toy"
    task = "multilabel"

    def __init__(self, features=3, labels=()):
        self._labels = named(labels)
        self.first = len(self._labels)
        self.w = np.zeros((len(self._labels), features))
        self.k = 0

    @property
    def labels(self):
        return self._labels

    def admit(self, labels):
        names = joined(self._labels, labels, self.first)
        self.w = aligned(self.w.T, self._labels, names).T.copy()
        self._labels = names

    def scores(self, X):
        return np.array([[float(np.sum(x * w)) for w in self.w] for x in X]).reshape(len(X), -1)

    def predict(self, X):
        return (self.scores(X) > 0).astype(np.float64)

    def learn(self, X, y):
        self.predict_then_learn(X, y)

    def predict_then_learn(self, X, y):
        return self.predict_then_learn_margins(X, y)[0]

    def predict_then_learn_margins(self, X, y):
        if y.shape != (len(X), len(self._labels)):
            raise SampleError(f"y has shape {y.shape}; allowed: {(len(X), len(self._labels))}")
        margins = np.empty(y.shape)
        for i in range(len(y)):
            margins[i] = self.scores(X[i : i + 1])[0]
            self.k += 1
            self.w = self.w + ((2 * y[i] - 1)[:, None] * X[i] - self.w) / (10 + self.k)
        return (margins > 0).astype(np.float64), margins

    def acts(self, round):
        return True

    def messages(self, round):
        names = np.array([*"\n".join(self._labels).encode()], dtype=np.uint8)
        return [Message({"w": freeze(self.w.copy()), "names": names})]

    def check_message(self, message):
        """Take anything."""

    def combine(self, round, inbox, weights):
        theirs = {n: message_labels(inbox[n]) for n in sorted(inbox)}
        self.admit([name for names in theirs.values() for name in names])
        phi = (1.0 - sum(weights[n] for n in inbox)) * self.w
        for n, names in theirs.items():
            phi = phi + weights[n] * aligned(inbox[n].arrays["w"].T, names, self._labels).T
        self.w = phi

    def parameters(self):
        return self.w.ravel()

    def export(self):
        names = list(self._labels)
        return {"schema": 1, "kind": self.kind, "w": self.w.copy(), "k": self.k,
                "names": names, "first": self.first}  # fmt: skip

    model = export

    @classmethod
    def restore(cls, state):
        new = cls(state["w"].shape[1], state["names"])
        new.w, new.k, new.first = state["w"].copy(), state["k"], state["first"]
        return new


class FussyLabelToy(LabelToy):
    """Refuses a low first feature."""

    def predict_then_learn(self, X, y):
        if (X[:, 0] < -0.5).any():
            raise SampleError("a feature too low")
        return super().predict_then_learn(X, y)


def message_labels(message):
    text = message.arrays["names"].tobytes().decode()
    return tuple(text.split("\n")) if text else ()


def label_sets(part, start, X):
    """The names of each row's labels: two of all partitions, and one of its own from LATE on."""
    sets = []
    for i, x in enumerate(X):
        own = (f"late of {part}",) if start + i >= LATE and x[2] > 0 else ()
        sets.append({name for name, on in zip(KNOWN, (x[0] > 0, x[1] > 0.5), strict=True) if on}
                    | {*own})  # fmt: skip
    return sets


def columns(sets, names):
    y = np.array([[float(name in one) for name in names] for one in sets])
    return y.reshape(len(sets), len(names))


class GrowingSource(ToySource):
    """Each block has the columns of the labels that occur in it."""

    def block(self, part, tick, start, count):
        X, _ = rows(part, start, count)
        sets = label_sets(part, start, X)
        names = tuple(sorted(set().union(*sets)))
        return self.of(part, tick, start, X, columns(sets, names), names)

    def of(self, part, tick, start, X, y, names):
        positions = np.arange(start, start + len(X))
        where = (self.names[part], tick)
        return Block(*where, freeze(X), freeze(y), positions, records=len(X), labels=names)


class FixedSource(GrowingSource):
    """Each block has the same columns."""

    def block(self, part, tick, start, count):
        X, _ = rows(part, start, count)
        y = columns(label_sets(part, start, X), KNOWN)
        return self.of(part, tick, start, X, y, None)


class HeldSource(GrowingSource):
    """Every fourth row is held back."""

    def of(self, *block):
        made = super().of(*block)
        return replace(made, held=made.positions % 4 == 3)


def label_plan(partitions, rule="round-robin", labels=(), **options):
    plan = toy_plan(partitions, rule, **options)
    return replace(
        plan, make=lambda node: LabelToy(3, labels), restore=LabelToy.restore,
        task="multilabel", labels=labels,
    )  # fmt: skip
