"""A node's samples where labels come apart: predicted on arrival, learned with their labels."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, repeat
from typing import Any

import numpy as np
from typing_extensions import override

from anabranch.errors import SampleError
from anabranch.label_rows import Label, array_of, columns_of, values_of
from anabranch.late_labels import LateLabels, WaitingLabel, WaitingSample, rows_of
from anabranch.protocol import Array, Learner, NodeId, freeze
from anabranch.sparse import SparseRows
from anabranch.stream import LABEL, SAMPLE, Apart, DeadLetter, Share
from operators.node_plan import NodePlan
from operators.samples import Made, RowEvent, Samples, refused

__all__ = ["LateSamples"]


class LateSamples(Samples):
    """Samples whose labels may come in records of their own.

    A sample alone is predicted as it arrives, and waits. When its label comes, that prediction
    is scored and the sample learned. A sample that finds its label waiting is predicted and
    learned at once, as one that brought it. All rows in their order, whatever the shares.

    Parameters
    ----------
    plan : the job's settings
    node : this node's name
    limit, wait_ms : as for `LateLabels`; a lone companion, which gets the rows of all nodes,
        lets as many wait as all nodes together
    """

    def __init__(self, plan: NodePlan, node: NodeId, limit: int, wait_ms: int | None) -> None:
        super().__init__(plan, node)
        nodes = len(plan.founders) if self.lone else 1
        self.late = LateLabels(limit * nodes, wait_ms)

    @override
    def _take(self, round: int, share: Share) -> list[RowEvent]:
        if share.apart is None:
            return self._whole(round, share)
        events: list[RowEvent] = []
        for kind, rows in _runs(share.apart.kinds):
            part = share.rows(rows)
            if kind == SAMPLE:
                events.extend(self._samples(round, part))
            elif kind == LABEL:
                events.extend(self._labels(part))
            else:
                events.extend(self.late.arrive(int(share.apart.times[rows].max())))
                events.extend(self._whole(round, part))
        return events

    def _samples(self, round: int, share: Share) -> list[RowEvent]:
        """Take samples alone, by turns those without a label here and those with one."""
        apart: Any = share.apart
        events: list[RowEvent] = []
        start, count = 0, len(apart.ids)
        while start < count:
            end = start
            while end < count and not self.late.has_label(apart.ids[end]):
                end += 1
            if end > start:
                events.extend(self._predict(round, share.rows(slice(start, end))))
            labels, letters = self._labels_here(apart, end)
            events.extend(letters)
            start = end + len(labels)
            if labels:
                y, names = self._array(labels)
                found = replace(share.rows(slice(end, start)), y=y, labels=names)
                events.extend(self._whole(round, found))
        return events

    def _labels_here(self, apart: Apart, start: int) -> tuple[list[Label], list[DeadLetter]]:
        """Take out the labels that wait for the rows from `start` on, up to one without."""
        labels: list[Label] = []
        letters: list[DeadLetter] = []
        for row in range(start, len(apart.ids)):
            letters.extend(self.late.arrive(int(apart.times[row])))
            label = self.late.label_for(apart.ids[row])
            if label is None:
                break
            labels.append(label.y)
        return labels, letters

    def _predict(self, round: int, share: Share) -> list[RowEvent]:
        """Predict samples and let them wait, but for a second one of an id."""
        apart: Any = share.apart
        letters: list[RowEvent] = [*self.late.arrive(int(apart.times[0]))]
        try:
            local = None if self.local is None else self.local.predict(share.X)
            made = Made(self.learner.predict(share.X), local, self._margins(share.X))
        except SampleError as error:
            return letters + self._one_by_one(self._predict, round, share, error)
        share = self._unlabelled(share)
        fresh = np.ones(len(share.y), dtype=bool)
        for row, (name, sample) in enumerate(self._waiting(share, made)):
            letters.extend(self.late.arrive(sample.time))
            fresh[row] = not self.late.has_sample(name)
            letters.extend(self.late.keep_sample(name, sample))
        if not fresh.all():
            share, made = share.rows(fresh), made.rows(fresh)
        return [*(self._told(round, share, made) if len(share.y) else []), *letters]

    def _labels(self, share: Share) -> list[RowEvent]:
        """Take labels alone: learn the samples that wait for them, let the others wait."""
        apart: Any = share.apart
        events: list[RowEvent] = []
        found: list[tuple[WaitingSample, Label]] = []
        values = values_of(share.y, self._columns(share))
        columns = (apart.times.tolist(), share.positions.tolist(), values)
        for name, time, position, y in zip(apart.ids, *columns, strict=True):
            events.extend(self.late.arrive(time))
            sample = self.late.sample_for(name)
            if sample is None:
                label = WaitingLabel(share.partition, position, time, y)
                events.extend(self.late.keep_label(name, label))
            else:
                found.append((sample, y))
        return events + (self._learn_late(found) if found else [])

    def _learn_late(self, found: Sequence[tuple[WaitingSample, Label]]) -> list[RowEvent]:
        """Learn samples with their labels, and score what was predicted when they arrived."""
        samples = [sample for sample, _ in found]
        share = _late_share(samples, *self._array([label for _, label in found]))
        try:
            self._learn(share)
        except SampleError as error:
            if len(found) == 1:
                return [refused(share, error)]
            return [event for one in found for event in self._learn_late([one])]
        if not self.plan.batch:
            told = self._predicted(self.learner, [sample.predicted for sample in samples])
            self._scored(share, told)
        if self.local is not None and not self.plan.batch:
            told = self._predicted(self.local, [sample.local for sample in samples])
            self._count(self.local_tally, self.local, share, told)
        self._learned(share)
        return []

    def _array(self, labels: Sequence[Label]) -> tuple[Array, tuple[str, ...] | None]:
        """Give labels as y, and the names of its columns if there are other than the job knows."""
        y, names = array_of(labels, self.plan.labels)
        return y, None if names == self.plan.labels else names

    def _predicted(self, learner: Learner, values: Sequence[Label]) -> Array:
        """Give what was predicted, in the columns that a learner, or the job, has by now."""
        return array_of(values, columns_of(learner, self.plan.labels))[0]

    def _unlabelled(self, share: Share) -> Share:
        """Give samples alone the columns in which they are predicted: all of them to come."""
        if self._columns(share) is None:
            return share
        names = columns_of(self.learner, self.plan.labels)
        return replace(share, y=freeze(np.full((len(share.y), len(names)), np.nan)), labels=names)

    def _waiting(self, share: Share, made: Made) -> Iterator[tuple[str, WaitingSample]]:
        """Give each row as one that waits; with a copy of its features, not the whole block."""
        apart: Any = share.apart
        features = share.X.features if isinstance(share.X, SparseRows) else None
        guesses = values_of(made.predicted, share.labels)
        local: Any = repeat(None)
        if made.local is not None and self.local is not None:
            local = values_of(made.local, columns_of(self.local, share.labels))
        columns = (apart.ids, share.positions.tolist(), apart.times.tolist(), guesses)
        for x, (name, position, time, guess, other) in zip(_bytes(share.X), zip(*columns, local)):  # noqa: B905
            yield (
                name,
                WaitingSample(share.partition, position, time, x, guess, other, features),
            )

    @override
    def last(self, round: int) -> list[RowEvent]:
        unmatched = self.late.give_up()
        return [*super().last(round), *([] if self.lone else unmatched)]

    @override
    def export(self) -> dict[str, Any]:
        return {**super().export(), "late": self.late.export()}

    @override
    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.late.restore(state["late"])


def _runs(kinds: Array) -> Iterator[tuple[int, slice]]:
    """Give the runs of rows of one kind, in order."""
    edges = [0, *(np.flatnonzero(np.diff(kinds)) + 1).tolist(), len(kinds)]
    return ((int(kinds[start]), slice(start, end)) for start, end in pairwise(edges))


def _bytes(X: Any) -> list[bytes]:
    """Give each row of either kind by itself, as `rows_of` takes them."""
    if isinstance(X, SparseRows):
        return [X.row_bytes(row) for row in range(len(X))]
    data, width = X.tobytes(), X.shape[1] * X.itemsize
    return [data[at * width : (at + 1) * width] for at in range(len(X))]


def _late_share(
    samples: Sequence[WaitingSample], y: Array, labels: tuple[str, ...] | None
) -> Share:
    """Give samples and their labels as a share; its partition is the first one's."""
    positions = np.array([sample.position for sample in samples])
    times = np.array([sample.time for sample in samples])
    return Share(
        samples[0].partition, -1, rows_of(samples), y, positions, times=times, labels=labels
    )
