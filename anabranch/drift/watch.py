"""One node's errors, watched: its drift begins, and is over."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from anabranch.drift.detector import Detector
from anabranch.drift.reactions import react
from anabranch.drift.rule import DriftRule
from anabranch.protocol import Array, Learner, NodeId

__all__ = ["Change", "NodeWatch", "errors_of"]

_RECENT = 10
"""Chunks whose mean tells whether errors have come down."""
_DOWN = 0.25
"""Share of the rise that may be left then."""


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to a node's errors.

    Attributes
    ----------
    kind : "begin", "worse" (a drift on top of one that is not over) or "end"
    round : in which it was noticed
    since : round in which the drift began, as the detector estimates it
    before, after : mean error before the drift and since; at its end, that of the newest chunks
    left : whether it is over only since the node leaves the network, after its last round
    """

    node: NodeId
    kind: Literal["begin", "worse", "end"]
    round: int
    since: int
    before: float
    after: float
    left: bool = False


class _Drift(NamedTuple):
    """A drift that is not over: its figures, chunks since it was noticed, the newest of them."""

    since: int
    before: float
    after: float
    chunks: int
    recent: tuple[float, ...]


def errors_of(y: Array, predicted: Array) -> Array:
    """Give each sample's error, (n,): |y - predicted|, its mean over labels where y is (n, q).

    >>> errors_of(np.array([[1, 0], [1, 1]]), np.array([[0, 1], [1, 0]])).tolist()
    [1.0, 0.5]
    """
    errors = np.abs(np.asarray(y, np.float64) - predicted)
    if errors.ndim == 2:
        errors = errors.mean(axis=1) if errors.shape[1] else np.zeros(len(errors))
    return np.asarray(errors)


class NodeWatch:
    """Watches the errors of one node, and lets its learner react to a drift.

    Only errors that have grown are drift: those that get smaller while a node learns are not.
    How samples are cut into blocks does not matter, but when rounds are closed does.

    Parameters
    ----------
    rule : when errors count as drift
    node : whose errors these are

    Examples
    --------
    >>> watch = NodeWatch(DriftRule("page-hinkley", every=10), "n00")
    >>> draw = np.random.default_rng(0).random((600, 10))
    >>> found = []
    >>> for at, u in enumerate(draw):
    ...     watch.see(np.zeros(10), u < (0.6 if 300 <= at < 400 else 0.2))
    ...     found += watch.close(at)
    >>> [(change.kind, change.since) for change in found]
    [('begin', 300), ('end', 300)]
    """

    def __init__(self, rule: DriftRule, node: NodeId) -> None:
        self.rule = rule
        self.node = node
        self._detector = Detector(rule)
        self._errors = np.empty(rule.every)
        self._filled = 0
        self._began = -1
        """Round in which the chunk began that is not full, -1 where it has no sample."""
        self._means: list[float] = []
        self._level: float | None = None
        """Lowest mean before a rise too small to be drift: many of them may be one."""
        self._drift: _Drift | None = None

    def see(self, y: Array, predicted: Array) -> None:
        """Take samples, in order: y (n,) or (n, q), and what was predicted for them before."""
        errors = errors_of(y, predicted)
        # Parameters that are not finite are told elsewhere.
        errors = errors[np.isfinite(errors)]
        while len(errors):
            taken = errors[: self.rule.every - self._filled]
            self._errors[self._filled : self._filled + len(taken)] = taken
            self._filled += len(taken)
            errors = errors[len(taken) :]
            if self._filled == self.rule.every:
                self._means.append(float(self._errors.mean()))
                self._filled = 0

    def close(self, round: int, learner: Learner | None = None) -> list[Change]:
        """Look at what came in a round, when all of it has been learned.

        A learner given reacts to a drift that begins or gets worse, as the rule says; then every
        ten chunks until it is over, by the newest ten, or half of those since it was noticed.
        """
        began = round if self._began < 0 else self._began
        means, self._means = self._means, []
        changes: list[Change] = []
        for mean in means:
            changes.extend(self._chunk(began, round, mean, learner))
            began = round
        self._began = began if self._filled else -1
        return changes

    def _chunk(
        self, began: int, round: int, mean: float, learner: Learner | None
    ) -> Iterator[Change]:
        length = self._detector.add(began, mean)
        if length:
            yield from self._changed(length, round, learner)
        elif self._drift is not None:
            yield from self._lasts(self._drift, round, mean, learner)

    def _changed(self, length: int, round: int, learner: Learner | None) -> Iterator[Change]:
        since, (before, after) = self._detector.rounds[-length], self._detector.means(length)
        level = before if self._level is None else min(before, self._level)
        if after <= before or after < (1.0 + self.rule.rise) * level:
            self._level = level if after > before else None
            self._detector.restart(length)
            return
        kind: Literal["begin", "worse"] = "begin"
        if self._drift is not None:
            kind, since, level = "worse", self._drift.since, self._drift.before
        self._drift, self._level = _Drift(since, level, after, 0, ()), None
        self._detector.restart(0)
        self._react(learner, length)
        yield Change(self.node, kind, round, since, level, after)

    def _react(self, learner: Learner | None, chunks: int, *, again: bool = False) -> None:
        if learner is not None:
            samples = chunks * self.rule.every + self._filled
            react(learner, self.rule.policy, samples, again=again)

    def _lasts(
        self, drift: _Drift, round: int, mean: float, learner: Learner | None
    ) -> Iterator[Change]:
        """Tell whether a drift is over: errors are down again, or have stayed as they are.

        What is not over may be gradual: most of what the first reaction kept was from before.
        """
        recent = (*drift.recent[1 - _RECENT :], mean)
        now = float(np.mean(recent))
        self._drift = drift = drift._replace(chunks=drift.chunks + 1, recent=recent)
        down = now <= drift.before + _DOWN * (drift.after - drift.before)
        if (down and len(recent) == _RECENT) or drift.chunks >= self.rule.settle:
            self._drift = None
            yield Change(self.node, "end", round, drift.since, drift.before, now)
        elif drift.chunks % _RECENT == 0:
            self._react(learner, max(_RECENT, drift.chunks // 2), again=True)

    def leave(self, round: int) -> list[Change]:
        """Give the end of a drift that is not over when the node leaves the network."""
        drift, self._drift = self._drift, None
        if drift is None:
            return []
        return [Change(self.node, "end", round, drift.since, drift.before, drift.after, True)]

    def export(self) -> dict[str, Any]:
        """Give the state as plain values."""
        return {
            "detector": self._detector.export(),
            "errors": self._errors[: self._filled].tolist(),
            "began": self._began,
            "level": self._level,
            "drift": None if self._drift is None else tuple(self._drift),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over what `export` gave between two rounds."""
        self._detector.restore(state["detector"])
        self._filled = len(state["errors"])
        self._errors[: self._filled] = state["errors"]
        self._began, self._level = state["began"], state["level"]
        self._drift = None if state["drift"] is None else _Drift(*state["drift"])
