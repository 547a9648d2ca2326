"""The nodes and edges of a process as they are, gathered for whoever watches."""

import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import NamedTuple

from anabranch.evaluation import scores
from anabranch.exchange import wire_size
from anabranch.protocol import Message, NodeId, Task
from anabranch.stream import DeadLetter
from operators.ears import Ear
from operators.hub import Hub, LiveNode
from operators.items import Report
from pipelines.live.records import EdgeNow, Letter, NodeNow, Now

__all__ = ["Gatherer"]

_DETAIL = 300
"""Longest detail of a dead letter that is shown."""


class _Scored(NamedTuple):
    """A report, its scores, and when it was first seen (monotonic, s)."""

    report: Report
    window: Mapping[str, float]
    at: float


class Gatherer:
    """Gathers what a process's nodes have done and heard.

    It reads what the workers write, without a lock: figures of one node may be a round apart.

    Parameters
    ----------
    hub : the process's own
    task : decides the scores

    Notes
    -----
    A node is scored again only when it has reported again: with 1,000 nodes nearly all of the
    time goes into scores.
    """

    def __init__(self, hub: Hub, task: Task) -> None:
        self._hub, self._task = hub, task
        self._scored: dict[NodeId, _Scored] = {}
        self._ended: dict[NodeId, float] = {}

    def gather(self) -> Now:
        """Give everything as it stands."""
        hub, nodes = self._hub, dict(self._hub.nodes)
        return Now(
            process=hub.process,
            time=time.time(),
            nodes={name: self._node(name, node) for name, node in sorted(nodes.items())},
            edges=list(self._edges(nodes)),
            reasons=_plain(hub.reasons),
            examples=_letters(dict(hub.examples)),
            drift=_plain(hub.drift),
            alarms=hub.alarms,
        )

    def _node(self, name: NodeId, node: LiveNode) -> NodeNow:
        core = node.core
        counts = (node.round, core.rows, core.messages, core.bytes)
        known = self._newest(name)
        if known is None:
            return NodeNow(*counts, {})
        heard = round(time.monotonic() - known.at, 3)
        return NodeNow(*counts, dict(known.window), dict(known.report.measures or {}), heard)

    def _newest(self, name: NodeId) -> _Scored | None:
        report, known = self._hub.reports.get(name), self._scored.get(name)
        if report is not None and (known is None or known.report is not report):
            found = scores(self._task, report.window) if report.samples else {}
            window = {metric: value for metric, value in found.items() if isfinite(value)}
            known = self._scored[name] = _Scored(report, window, time.monotonic())
        return known

    def _edges(self, nodes: Mapping[NodeId, LiveNode]) -> Iterator[EdgeNow]:
        """Give every edge; one that has ended, since one of its nodes has, grows no older."""
        now = time.monotonic()
        for name, node in nodes.items():
            if node.done:
                self._ended.setdefault(name, now)
        sizes: dict[int, tuple[Message, int]] = {}
        for receiver, node in sorted(nodes.items()):
            last = self._ended.get(receiver, now)
            for sender, ear in node.ears.heard.items():
                age = max(min(last, self._ended.get(sender, now)) - ear.at, 0.0)
                size = ear.messages * _size(ear, sizes)
                told = round(age, 3) if ear.parcels else -1.0
                yield EdgeNow(sender, receiver, told, ear.messages, size)


def _size(ear: Ear, sizes: dict[int, tuple[Message, int]]) -> int:
    """Measure the newest message; one that went to many is one object, and measured once."""
    message = ear.newest
    if message is None:
        return 0
    known = sizes.get(id(message))
    if known is None:
        # Kept with its size: another message must not get its identity meanwhile.
        known = sizes[id(message)] = message, wire_size(message)
    return known[1]


def _letters(examples: Mapping[str, deque[DeadLetter]]) -> dict[str, list[Letter]]:
    return {
        reason: [
            Letter(one.detail[:_DETAIL], one.source, one.partition, one.position)
            for one in letters.copy()
        ]
        for reason, letters in examples.items()
    }


def _plain(counts: Counter[str]) -> dict[str, int]:
    return dict(counts)
