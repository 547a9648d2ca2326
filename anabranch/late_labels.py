"""Samples that wait for their labels, and labels that wait for their samples."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from anabranch.errors import ConfigurationError
from anabranch.label_rows import Label
from anabranch.protocol import State
from anabranch.sparse import SparseRows
from anabranch.stream import RAW_LIMIT, DeadLetter, features_text, row_text, source_of

__all__ = ["LateLabels", "WaitingLabel", "WaitingSample", "rows_of"]

_SHOWN = 100
"""Characters of an id in a sentence."""


class WaitingSample(NamedTuple):
    """A sample whose label is to come.

    `x` holds its float64 features, or where `features` is their number `SparseRows.row_bytes`;
    `predicted` and `local` are what the node and its companion
    predicted when it arrived, as plain values: numbers, or the names of sets of labels.
    """

    partition: str
    position: int
    time: int
    x: bytes
    predicted: Any
    local: Any = None
    features: int | None = None

    def text(self) -> bytes:
        """Give the features as text, for a dead letter."""
        return features_text(rows_of([self]), 0)


def rows_of(samples: Sequence[WaitingSample]) -> Any:
    """Give the features of samples of one kind, at least one, as rows."""
    features, data = samples[0].features, [sample.x for sample in samples]
    if features is not None:
        return SparseRows.from_bytes(data, features)
    return np.frombuffer(b"".join(data)).reshape(len(data), -1)


class WaitingLabel(NamedTuple):
    """A label, or set of labels, whose sample is to come."""

    partition: str
    position: int
    time: int
    y: Label

    def text(self) -> bytes:
        """Give the label as text, for a dead letter; sets by names, as `a;b`."""
        if isinstance(self.y, tuple):
            return ";".join(self.y).encode("utf-8", "replace")[:RAW_LIMIT]
        return row_text([self.y])


W = TypeVar("W", WaitingSample, WaitingLabel)


class _Queue(Generic[W]):
    """What waits, by id, in the order of arrival, with the clock at arrival.

    The clock never goes back, so whoever has waited longest is always in front.
    """

    def __init__(self, reason: str, own: str, other: str) -> None:
        self.reason, self.own, self.other = reason, own, other
        self.waiting: OrderedDict[str, tuple[int, W]] = OrderedDict()

    def first_out(self, why: str) -> DeadLetter:
        name, (_, item) = self.waiting.popitem(last=False)
        return self.letter(self.reason, name, item, f"came without its {self.other} {why}")

    def letter(self, reason: str, name: str, item: W, what: str) -> DeadLetter:
        detail = f"the {self.own} of id {name[:_SHOWN]!r} {what}"
        where = (source_of(item.partition), item.partition, item.position)
        return DeadLetter(reason, detail, *where, item.text(), time=item.time)


class LateLabels:
    """One node's memory of samples and labels that arrive apart; bounded, whatever comes.

    A sample waits for the label with its id, a label for its sample; whoever leaves without
    the other is told as a dead letter: "label_never_came", "sample_never_came". So does a
    second sample (or label) of an id that still waits: "duplicate_id"; the first stays.

    Parameters
    ----------
    limit : how many samples may wait, and how many labels; the oldest leave first
    wait_ms : how long each may wait, in ms; None for as long as there is room. The clock is
        the newest time of any record seen, and it counts from an arrival: records whose own
        times are old, as of a partition that lags behind the others, have as long as all.

    Raises
    ------
    ConfigurationError
        `limit` or `wait_ms` is out of range.

    Examples
    --------
    >>> late = LateLabels(limit=2, wait_ms=1000)
    >>> late.arrive(5000), late.keep_sample("a", WaitingSample("p", 0, 5000, bytes(8), 1))
    ([], [])
    >>> late.sample_for("a").predicted
    1
    >>> late.keep_label("b", WaitingLabel("p", 1, 5000, 2.0))
    []
    >>> [letter.reason for letter in late.arrive(6001)]
    ['sample_never_came']
    """

    def __init__(self, limit: int, wait_ms: int | None = None) -> None:
        if limit < 1:
            raise ConfigurationError(f"limit = {limit} lets no sample wait; allowed: 1 or more")
        if wait_ms is not None and wait_ms < 0:
            raise ConfigurationError(f"wait_ms = {wait_ms} is negative; allowed: 0 or more, none")
        self._limit, self._wait = limit, wait_ms
        self._clock = 0
        self._samples = _Queue[WaitingSample]("label_never_came", "sample", "label")
        self._labels = _Queue[WaitingLabel]("sample_never_came", "label", "sample")

    def __len__(self) -> int:
        """Give how many samples wait."""
        return len(self._samples.waiting)

    def arrive(self, time: int) -> list[DeadLetter]:
        """Take note of a record's time (ms); give up whoever has waited too long by it."""
        if time <= self._clock:
            return []
        self._clock = time
        if self._wait is None:
            return []
        horizon, letters = time - self._wait, []
        for queue in (self._samples, self._labels):
            while queue.waiting and next(iter(queue.waiting.values()))[0] < horizon:
                letters.append(queue.first_out(f"within {self._wait} ms"))
        return letters

    def has_sample(self, name: str) -> bool:
        """Tell whether a sample of this id waits for its label."""
        return name in self._samples.waiting

    def has_label(self, name: str) -> bool:
        """Tell whether a label waits for the sample of this id."""
        return name in self._labels.waiting

    def label_for(self, name: str) -> WaitingLabel | None:
        """Take out the label that waits for the sample of this id, if there is one."""
        found = self._labels.waiting.pop(name, None)
        return None if found is None else found[1]

    def sample_for(self, name: str) -> WaitingSample | None:
        """Take out the sample that waits for the label of this id, if there is one."""
        found = self._samples.waiting.pop(name, None)
        return None if found is None else found[1]

    def keep_sample(self, name: str, sample: WaitingSample) -> list[DeadLetter]:
        """Let a sample wait; give what leaves for it: itself, where its id waits already."""
        return self._keep(self._samples, name, sample)

    def keep_label(self, name: str, label: WaitingLabel) -> list[DeadLetter]:
        """Let a label wait; give what leaves for it: itself, where its id waits already."""
        return self._keep(self._labels, name, label)

    def _keep(self, queue: _Queue[W], name: str, item: W) -> list[DeadLetter]:
        if name in queue.waiting:
            return [queue.letter("duplicate_id", name, item, "came twice; the first still waits")]
        queue.waiting[name] = (self._clock, item)
        too_many = range(len(queue.waiting) - self._limit)
        return [queue.first_out(f"before {self._limit} others had come") for _ in too_many]

    def give_up(self) -> list[DeadLetter]:
        """Give up all who wait, at the end of a job."""
        return [
            queue.first_out("before the end of the job")
            for queue in (self._samples, self._labels)
            for _ in range(len(queue.waiting))
        ]

    def export(self) -> State:
        """Give the whole state; nothing in it changes afterwards."""
        return {
            "schema": 1,
            "kind": "late-labels",
            "clock": self._clock,
            "samples": _plain(self._samples.waiting.items()),
            "labels": _plain(self._labels.waiting.items()),
        }

    def restore(self, state: State) -> None:
        """Take over what `export` gave; who waits beyond a smaller `limit` leaves for the next."""
        self._clock = state["clock"]
        samples = ((n, (came, WaitingSample(*v))) for n, came, v in state["samples"])
        self._samples.waiting = OrderedDict(samples)
        labels = ((n, (came, WaitingLabel(*v))) for n, came, v in state["labels"])
        self._labels.waiting = OrderedDict(labels)


def _plain(waiting: Iterable[tuple[str, tuple[int, W]]]) -> list[tuple[str, int, tuple[Any, ...]]]:
    return [(name, came, tuple(item)) for name, (came, item) in waiting]
