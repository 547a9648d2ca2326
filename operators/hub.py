"""What the workers of one process share: queues, acknowledgements, the signs to stop."""

import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, Lock
from typing import NamedTuple, Protocol

from anabranch.errors import AnabranchError
from anabranch.letters import SiteNews
from anabranch.protocol import NodeId
from anabranch.stream import DeadLetter
from operators.ears import Ears
from operators.items import Outgoing, Report
from operators.turns import Turns, idle_until

__all__ = ["PARAMETERS", "Counts", "Heard", "Hub", "LiveNode"]

PARAMETERS = "\0parameters"
"""Stands among the partitions for the letters of other sites; no partition has such a name."""
EXAMPLES = 5
"""Dead letters of one reason that are kept to be shown."""


class Heard(NamedTuple):
    """The newest round heard of a site, -1 for none, when (monotonic, s), and whether it ends."""

    round: int
    at: float
    ended: bool = False


class Counts(Protocol):
    """What a node has done so far: samples learned, messages and bytes sent.

    `silent`: it has nothing fit to be sent, since its parameters are not finite.
    """

    messages: int
    bytes: int
    silent: bool

    @property
    def rows(self) -> int:
        """Number of samples learned."""
        ...


class LiveNode(Protocol):
    """What can be read of a node while it works, without asking it.

    `waiting`: it has done all it can of its round until its neighbours have spoken.
    """

    round: int
    done: bool
    waiting: bool
    ears: Ears

    @property
    def core(self) -> Counts:
        """Its samples and messages, counted."""
        ...


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
    nodes : the nodes here, companions left out, and what they have heard from their neighbours
    reasons : dead letters made here, by reason
    examples : the newest dead letters of each reason, a few
    drift : drifts found here, by how far they reach
    alarms : alarms raised here
    rows, dead : rows learned and dead letters made here since the process began
    restored : rows that nodes here had learned before
    sent_before : messages and bytes that they had sent before
    """

    def __init__(
        self, process: int, processes: int, workers: int, fed: Mapping[str, Iterable[NodeId]]
    ) -> None:
        self.process = process
        self.processes = processes
        self.workers = workers
        self._acks = {part: dict.fromkeys(nodes, -1) for part, nodes in fed.items()}
        self._turns: Mapping[str, Mapping[NodeId, Turns]] = {}
        self.halt = Event()
        self.drain = Event()
        self.bad_input: str | None = None
        self.failure: str | None = None
        self.rows = 0
        self.dead = 0
        self.restored = 0
        self.sent_before = (0, 0)
        self.sites: dict[str, Heard] = {}
        self.refused: Counter[str] = Counter()
        self.measures: dict[NodeId, Mapping[str, float]] = {}
        self.reports: dict[NodeId, Report] = {}
        self.nodes: dict[NodeId, LiveNode] = {}
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
                done = idle_until(self._turns[part][node], tick) if part in self._turns else tick
                acks[node] = max(acks[node], done)

    def slowest(self, partition: str) -> int:
        """Give the last tick of a partition that every node has done with, or -1."""
        return min(self._acks[partition].values())

    def take_turns(self, turns: Mapping[str, Mapping[NodeId, Turns]]) -> None:
        """Have partitions acknowledged by other nodes, each for the ticks that it is fed.

        Nobody is waited for in ticks that are not its own: neither who joins later, nor who left.
        """
        self._turns = turns
        for part, nodes in turns.items():
            self._acks[part] = {node: idle_until(ticks, -1) for node, ticks in nodes.items()}

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

    def watch(self, name: NodeId, node: LiveNode) -> None:
        """Take up a node that begins here, fresh or from a snapshot."""
        core = node.core
        with self._lock:
            self.restored += core.rows
            messages, size = self.sent_before
            self.sent_before = messages + core.messages, size + core.bytes
            self.nodes[name] = node

    def unwatch(self, name: NodeId) -> None:
        """Show a node no more that has left the network; what it sent still counts."""
        with self._lock:
            node = self.nodes.pop(name, None)
            if node is not None:
                messages, size = self.sent_before
                self.sent_before = messages - node.core.messages, size - node.core.bytes
            self.reports.pop(name, None)
            self.measures.pop(name, None)

    def refuse(self, reason: str) -> None:
        """Count a message that was refused."""
        with self._lock:
            self.refused[reason] += 1

    def raise_alarms(self, count: int) -> None:
        """Count alarms."""
        with self._lock:
            self.alarms += count

    def set_aside(self, letter: DeadLetter) -> None:
        """Count a dead letter, and keep it as an example of its reason: all but the record."""
        with self._lock:
            self.dead += 1
            self.reasons[letter.reason] += 1
            if letter.reason == "refused_message":
                self.refused[letter.reason] += 1
            examples = self.examples.setdefault(letter.reason, deque(maxlen=EXAMPLES))
            examples.append(replace(letter, raw=b"", key=None, headers=()))

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
