"""A tiny learner and source, so that the dataflow is tested apart from any algorithm."""

import numpy as np
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition

from anabranch.protocol import Message, freeze
from anabranch.stream import Block, End


class ToyLearner:
    """A running mean of y * x, averaged with the neighbours': order-sensitive in its bits."""

    kind = "toy"
    task = "ordinal"

    def __init__(self, features: int) -> None:
        self.w = np.zeros(features)
        self.k = 0

    def predict(self, X):
        return 1 + (X @ self.w > 0).astype(np.int64)

    def learn(self, X, y):
        self.predict_then_learn(X, y)

    def predict_then_learn(self, X, y):
        out = np.empty(len(y), dtype=np.int64)
        for i in range(len(y)):
            out[i] = 1 + int(float(np.sum(X[i] * self.w)) > 0)
            self.k += 1
            self.w = self.w + (X[i] * (2 * y[i] - 3) - self.w) / (10 + self.k)
        return out

    def acts(self, round):
        return True

    def messages(self, round):
        return [Message({"w": freeze(self.w.copy())})]

    def combine(self, round, inbox, weights):
        own = 1.0 - sum(weights[n] for n in inbox)
        phi = own * self.w
        for n in sorted(inbox):
            phi = phi + weights[n] * inbox[n].arrays["w"]
        self.w = phi

    def parameters(self):
        return self.w

    def export(self):
        return {"schema": 1, "kind": "toy", "w": self.w.copy(), "k": self.k}

    model = export

    @classmethod
    def restore(cls, state):
        new = cls(len(state["w"]))
        new.w, new.k = state["w"].copy(), state["k"]
        return new


def rows(part: int, start: int, count: int, features: int = 3):
    """Rows of a partition by position, the same whoever asks."""
    X = np.empty((count, features))
    for i in range(count):
        X[i] = np.random.default_rng([7, part, start + i]).normal(size=features)
    y = 1.0 + (X.sum(axis=1) > 0)
    return X, y


class ToyPartition(StatefulSourcePartition):
    """One tick a call; the position is the next tick."""

    def __init__(self, source, name, state):
        self.source, self.name = source, name
        self.tick, self.ended = state

    def next_batch(self):
        if self.ended:
            raise StopIteration
        part = self.source.names.index(self.name)
        total = self.source.rows[part]
        start = self.tick * self.source.per_tick
        if start >= total:
            self.ended = True
            return [End(self.name, self.tick - 1)]
        count = min(self.source.per_tick, total - start)
        block = self.source.block(part, self.tick, start, count)
        self.tick += 1
        return [block]

    def next_awake(self):
        return None

    def snapshot(self):
        return (self.tick, self.ended)


class ToySource(FixedPartitionedSource):
    """Partitions of given lengths; some may begin at a later tick, and at its rows."""

    def __init__(self, rows, per_tick, begins=()):
        self.rows, self.per_tick, self.begins = rows, per_tick, dict(begins)
        self.names = [f"p{i:02d}" for i in range(len(rows))]

    def block(self, part, tick, start, count):
        """Give the block of a tick."""
        X, y = rows(part, start, count)
        positions = np.arange(start, start + count)
        return Block(self.names[part], tick, freeze(X), freeze(y), positions, records=count)

    def list_parts(self):
        return self.names

    def build_part(self, step_id, for_part, resume_state):
        fresh = (self.begins.get(for_part, 0), False)
        return ToyPartition(self, for_part, resume_state or fresh)


class Stops:
    """A source that tells the job to stop when its nodes have done with 4 ticks, or a few more."""

    def build_part(self, *args):
        part = super().build_part(*args)
        pull = part.next_batch

        def next_batch():
            if part.tick < 6:
                return pull()
            if min(map(self.hub.slowest, self.names)) >= 3:
                self.hub.drain.set()
            return []

        part.next_batch = next_batch
        return part
