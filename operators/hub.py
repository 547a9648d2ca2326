"""What the workers of one process share: queues, acknowledgements, the signs to stop."""

from collections import deque
from collections.abc import Iterable, Mapping
from threading import Event

from anabranch.protocol import NodeId
from operators.items import Outgoing

__all__ = ["Hub"]


class Hub:
    """One a process, made before the dataflow and captured by its sources and sinks.

    Nothing here survives a crash and nothing needs to: nodes acknowledge and send again
    when they are rebuilt.

    Parameters
    ----------
    process, processes : this process's number, and how many there are
    workers : workers a process
    fed : for each partition, who acknowledges its ticks
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
        self.rows = 0
        self.restored = 0
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

    @property
    def stopping(self) -> bool:
        """Tell whether sources must end now."""
        return self.halt.is_set() or self.drain.is_set()
