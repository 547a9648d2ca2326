"""What the workers of one process share: queues, acknowledgements, the signs to stop."""

import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Lock
from typing import NamedTuple

from anabranch.errors import AnabranchError
from anabranch.letters import SiteNews
from anabranch.protocol import NodeId
from anabranch.stream import DeadLetter
from operators.ears import Ears
from operators.items import Outgoing, Report

__all__ = ["PARAMETERS", "Heard", "Hub"]

PARAMETERS = "\0parameters"
"""Stands among the partitions for the letters of other sites; no partition has such a name."""


class Heard(NamedTuple):
    """The newest round heard of a site, -1 for none, when (monotonic, s), and whether it ends."""

    round: int
    at: float
    ended: bool = False


class Hub:
    """One a process, made before the dataflow and captured by its sources and sinks.

    Nothing here survives a crash and nothing needs to: nodes acknowledge and send again
    when they are rebuilt.

    Parameters
    ----------
    process, processes : this process's number, and how many there are
    workers : workers a process
    fed : for each partition, who acknowledges its ticks

    Attributes
    ----------
    sites : what was heard of each other site, for the status
    refused : how many messages of neighbours were refused, by reason
    failure : why a source cannot go on, for good
    measures : what the learner of each node here told of itself last
    reports : each node's newest report, without parameters
    ears : what each node here has heard from each neighbour
    reasons : dead letters made here, by reason
    examples : the newest dead letters of each reason, a few
    drift : drifts found here, by how far they reach
    alarms : alarms raised here
    rows, dead : rows learned and dead letters made here since the process began
    """

    def __init__(
        self, process: int, processes: int, workers: int, fed: Mapping[str, Iterable[NodeId]]
    ) -> None:
        self.process = process
        self.processes = processes
        self.workers = workers
        self._acks = {part: dict.fromkeys(nodes, -1) for part, nodes in fed.items()}
        self.halt = Event()
        self.drain = Event()
        self.bad_input: str | None = None
        self.failure: str | None = None
        self.rows = 0
        self.dead = 0
        self.restored = 0
        self.sites: dict[str, Heard] = {}
        self.refused: Counter[str] = Counter()
        self.measures: dict[NodeId, Mapping[str, float]] = {}
        self.reports: dict[NodeId, Report] = {}
        self.ears: dict[NodeId, Ears] = {}
        self.reasons: Counter[str] = Counter()
        self.examples: dict[str, deque[DeadLetter]] = {}
        self.drift: Counter[str] = Counter()
        self.alarms = 0
        self._lock = Lock()
        self._queues: dict[int, deque[Outgoing]] = {}

    def queue(self, worker: int) -> deque[Outgoing]:
        """Give the feedback queue of a worker."""
        return self._queues.setdefault(worker, deque())

    def acknowledge(self, node: NodeId, tick: int, partition: str | None) -> None:
        """Note that a node has done with a tick of one partition, or of all."""
        for part in self._acks if partition is None else (partition,):
            acks = self._acks[part]
            if node in acks:
                acks[node] = max(acks[node], tick)

    def slowest(self, partition: str) -> int:
        """Give the last tick of a partition that every node has done with, or -1."""
        return min(self._acks[partition].values())

    def expect(self, sites: Iterable[str]) -> None:
        """Name the other sites; they are silent from now until they are heard."""
        self.sites = dict.fromkeys(sites, Heard(-1, time.monotonic()))

    def begin(self, partition: str, before: int) -> None:
        """Let a partition's ticks start after `before`."""
        for node in self._acks[partition]:
            self.acknowledge(node, before, partition)

    def hear(self, sender: str, news: Mapping[str, SiteNews]) -> None:
        """Note what a letter from a site tells of it and of others."""
        now = time.monotonic()
        with self._lock:
            for site in self.sites:
                known = self.sites[site]
                heard = news.get(site, SiteNews(known.round))
                ended = known.ended or heard.last_tick is not None
                if site == sender or heard.round > known.round or ended > known.ended:
                    self.sites[site] = Heard(max(heard.round, known.round), now, ended)

    def refuse(self, reason: str) -> None:
        """Count a message that was refused."""
        with self._lock:
            self.refused[reason] += 1

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Note why a source cannot go on before the engine, which may lose it, is told."""
        try:
            yield
        except AnabranchError as error:
            self.failure = self.failure or str(error)
            raise

    @property
    def stopping(self) -> bool:
        """Tell whether sources must end now."""
        return self.halt.is_set() or self.drain.is_set()
