"""When a node's severity has risen and stays: a rule with a memory, and what it tells."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

from anabranch.learners.options import check_whole
from anabranch.protocol import NodeId
from anabranch.stream import Predictions

__all__ = ["Alarm", "AlarmRule", "AlarmWatch"]


@dataclass(frozen=True, slots=True)
class AlarmRule:
    """When an alarm is raised and when it is over.

    Parameters
    ----------
    rise : ranks above the baseline from which a prediction counts
    stay : predictions in a row that must count
    ignore : first predictions of a node that are not looked at, while its learner is new

    Raises
    ------
    ConfigurationError
        A number is too small.
    """

    rise: int = 1
    stay: int = 5
    ignore: int = 0

    def __post_init__(self) -> None:
        for name, least in (("rise", 1), ("stay", 1), ("ignore", 0)):
            check_whole(name, getattr(self, name), least)


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm, or its end.

    Attributes
    ----------
    node : whose predictions
    kind : "raised" or "cleared"
    before, after : rank that it rose (or fell) from, and the one it has stayed at since: the lowest
        since it rose, the highest since it fell
    partition, position, time : of the first prediction at the new rank; time (ms since 1970) is
        None where samples have none
    at : position of the prediction that decided
    """

    node: NodeId
    kind: Literal["raised", "cleared"]
    before: int
    after: int
    partition: str
    position: int
    time: int | None
    at: int


class _Seen(NamedTuple):
    """A prediction: its rank, and of what."""

    rank: int
    partition: str
    position: int
    time: int | None


class _Run(NamedTuple):
    """Predictions in a row that count: how many, the rank they keep, the first of them."""

    length: int
    rank: int
    first: _Seen


class AlarmWatch:
    """Watches the predictions of one node.

    The baseline is the highest of the first `stay` ranks, and falls when all of `stay` in a row are
    lower. An alarm is raised when `stay` in a row are at least `rise` above it, and again when they
    are as much above the rank of the last alarm. It is cleared when `stay` in a row are less than
    `rise` above the baseline; single predictions neither raise nor clear anything.

    Parameters
    ----------
    rule : when an alarm is raised
    node : whose predictions these are

    Examples
    --------
    >>> watch = AlarmWatch(AlarmRule(rise=1, stay=2), "n00")
    >>> ranks = [1, 1, 2, 1, 2, 3, 1, 1]
    >>> alarms = [a for at, rank in enumerate(ranks) for a in watch.see(rank, "p", at)]
    >>> [(a.kind, a.before, a.after, a.position) for a in alarms]
    [('raised', 1, 2, 4), ('cleared', 2, 1, 6)]
    """

    def __init__(self, rule: AlarmRule, node: NodeId) -> None:
        self.rule = rule
        self.node = node
        self.seen = 0
        self.baseline: int | None = None
        self.raised: int | None = None
        self._runs: dict[str, _Run] = {}

    def take(self, item: Predictions) -> Iterator[Alarm]:
        """Look at what a node predicted for a share, row by row; not at rows held back."""
        if item.held:
            return
        times = [None] * len(item.positions) if item.times is None else item.times.tolist()
        rows = zip(item.predicted.tolist(), item.positions.tolist(), times, strict=True)
        for rank, position, time in rows:
            yield from self.see(int(rank), item.partition, position, time)

    def see(
        self, rank: int, partition: str, position: int, time: int | None = None
    ) -> Iterator[Alarm]:
        """Look at one prediction."""
        now = _Seen(rank, partition, position, time)
        self.seen += 1
        if self.seen <= self.rule.ignore:
            return
        if self.baseline is None:
            first = self._stayed("first", True, max, now)
            self.baseline = first.rank if first else None
            return
        risen = self.baseline + self.rule.rise
        level = risen if self.raised is None else self.raised + self.rule.rise
        up = self._stayed("up", rank >= level, min, now)
        down = self._stayed("down", self.raised is not None and rank < risen, max, now)
        lower = self._stayed("lower", rank < self.baseline, max, now)
        if up:
            before, self.raised = self.raised or self.baseline, up.rank
            yield self._alarm("raised", before, up, position)
        if down and self.raised is not None:
            before, self.raised = self.raised, None
            yield self._alarm("cleared", before, down, position)
        if lower:
            self.baseline = lower.rank

    def _stayed(
        self, name: str, counts: bool, keep: Callable[[int, int], int], now: _Seen
    ) -> _Run | None:
        """Count a prediction in a run, or end the run; give the run once it is long enough."""
        run = self._runs.pop(name, _Run(0, now.rank, now))
        if not counts:
            return None
        run = _Run(run.length + 1, keep(run.rank, now.rank), run.first)
        if run.length >= self.rule.stay:
            return run
        self._runs[name] = run
        return None

    def _alarm(self, kind: Literal["raised", "cleared"], before: int, run: _Run, at: int) -> Alarm:
        first = run.first
        where = (first.partition, first.position, first.time)
        return Alarm(self.node, kind, before, run.rank, *where, at)

    def export(self) -> dict[str, Any]:
        """Give the state as plain values."""
        runs = {name: (run.length, run.rank, tuple(run.first)) for name, run in self._runs.items()}
        levels = {"baseline": self.baseline, "raised": self.raised}
        return {"node": self.node, "seen": self.seen, **levels, "runs": runs}

    @classmethod
    def restore(cls, rule: AlarmRule, state: Mapping[str, Any]) -> Self:
        """Go on from what `export` gave."""
        watch = cls(rule, state["node"])
        watch.seen, watch.baseline, watch.raised = state["seen"], state["baseline"], state["raised"]
        runs = state["runs"].items()
        watch._runs = {
            name: _Run(length, rank, _Seen(*first)) for name, (length, rank, first) in runs
        }
        return watch
