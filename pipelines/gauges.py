"""What a process tells of itself: samples, partitions, outputs, sites."""

import os
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from operators.hub import Hub

__all__ = ["Gauges", "Output", "Partitions", "open_files", "resident_memory"]


class Partitions(Protocol):
    """How far a process has come in the partitions it reads."""

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences that somebody should read."""
        ...

    def rows(self) -> dict[str, dict[str, Any]]:
        """Give each partition's row."""
        ...


class Output(Protocol):
    """How far a process has come in writing one topic."""

    topic: str
    sent: int
    failure: str | None
    hurried: bool

    @property
    def waiting(self) -> int:
        """Records that are not acknowledged yet."""
        ...

    @property
    def error(self) -> str | None:
        """Why they are not, if they should be."""
        ...


@dataclass
class Gauges:
    """A process's own figures, gathered when they are asked for.

    Attributes
    ----------
    hub : rows learned, refused messages, sites heard, what learners tell of themselves
    partitions : the partitions it reads
    outputs : the topics it writes
    before : samples told by the process that this one follows; told on until it learns its first,
        since its nodes come from their snapshots one by one
    """

    hub: Hub
    partitions: Sequence[Partitions] = ()
    outputs: Sequence[Output] = ()
    before: int = 0
    _recent: deque[tuple[float, int]] = field(default_factory=deque)

    def read(self) -> dict[str, Any]:
        """Give every figure, as JSON values."""
        now = time.monotonic()
        return {
            "time": time.time(),
            "clock": now,
            "samples": max(self.hub.restored + self.hub.rows, 0 if self.hub.rows else self.before),
            "learned": self.hub.rows,
            "dead": self.hub.dead,
            "rate": self._rate(now),
            "draining": self.hub.drain.is_set(),
            "memory": resident_memory(),
            "files": open_files(),
            **self._progress(),
            **self._ends(),
            "refused": dict(self.hub.refused),
            "reasons": dict(self.hub.reasons),
            "drift": dict(self.hub.drift),
            "alarms": self.hub.alarms,
            **_measures(dict(self.hub.measures)),
            "sites": {
                site: {"silent": now - heard.at, "round": heard.round, "ended": heard.ended}
                for site, heard in dict(self.hub.sites).items()
            },
        }

    def hurry(self) -> None:
        """Let outputs no longer wait long for brokers that are away."""
        for output in self.outputs:
            output.hurried = True

    @property
    def failure(self) -> str | None:
        """Why a source or an output cannot go on, for good."""
        failures = (self.hub.failure, *(out.failure for out in self.outputs))
        return next((failure for failure in failures if failure), None)

    def _progress(self) -> dict[str, Any]:
        """Give the lowest and the highest round here, and what was sent since the start."""
        nodes = dict(self.hub.nodes)
        rounds = [node.round for node in nodes.values()]
        silent = sorted(name for name, node in nodes.items() if node.core.silent)
        messages, size = self.hub.sent_before
        return {
            "rounds": [min(rounds), max(rounds)] if rounds else None,
            "messages": sum(node.core.messages for node in nodes.values()) - messages,
            "bytes": sum(node.core.bytes for node in nodes.values()) - size,
            "waiting": sum(node.waiting for node in nodes.values()),
            "diverged": silent,
        }

    def _ends(self) -> dict[str, Any]:
        """Give how far it has come in what it reads and writes."""
        return {
            "partitions": {k: v for read in self.partitions for k, v in read.rows().items()},
            "notices": [notice for read in self.partitions for notice in read.notices],
            "outputs": {
                out.topic: {"sent": out.sent, "queued": out.waiting, "error": out.error}
                for out in self.outputs
            },
        }

    def _rate(self, now: float) -> float:
        """Samples a second over the last ten seconds or so."""
        self._recent.append((now, self.hub.rows))
        while len(self._recent) > 2 and now - self._recent[1][0] > 10:
            self._recent.popleft()
        (begin, before), (end, after) = self._recent[0], self._recent[-1]
        return (after - before) / (end - begin) if end > begin else 0.0


def _measures(nodes: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """Give each measure's largest value, sum and number of nodes, and the nodes that diverge."""
    found: dict[str, dict[str, float]] = {}
    for told in nodes.values():
        for name, value in told.items():
            known = found.setdefault(name, {"max": value, "sum": 0.0, "nodes": 0})
            known["max"] = max(known["max"], value)
            known["sum"] += value
            known["nodes"] += 1
    diverging = sorted(node for node, told in nodes.items() if told.get("diverging", 0.0) > 0.0)
    return {"measures": found, "diverging": diverging}


def resident_memory() -> int:
    """Give this process's resident memory in bytes; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def open_files() -> int:
    """Give how many files, sockets included, this process has open; 0 where nobody tells."""
    try:
        return len(os.listdir("/proc/self/fd")) - 1  # the listing itself is one
    except OSError:
        return 0
