"""The feedback edge: a sink and a source that turn a dataflow's end into its beginning.

The queue between them is local to a worker; the keyed shuffle after the source carries a
parcel to its receiver's worker, in this process or another. Parcels in the queue are lost
in a crash, on purpose: a node rebuilt from a snapshot sends its last two again.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from typing_extensions import override

from operators.hub import Hub
from operators.items import Outgoing, Parcel
from operators.thread_state import keep_thread_state

__all__ = ["FeedbackSink", "FeedbackSource"]

_AT_ONCE = datetime(2000, 1, 1, tzinfo=UTC)
_PATIENCE = 10
"""Empty polls after which the source falls back to Bytewax's own 1 ms pause: polling on would
take the core from the very worker whose answer is awaited."""


class _Sink(StatelessSinkPartition[Outgoing]):
    def __init__(self, hub: Hub, worker: int) -> None:
        self._queue = hub.queue(worker)

    @override
    def write_batch(self, items: list[Outgoing]) -> None:
        self._queue.extend(items)


@dataclass(frozen=True)
class FeedbackSink(DynamicSink[Outgoing]):
    """Put what nodes send on the worker's queue. At most once; see the module."""

    hub: Hub

    @override
    def build(self, step_id: str, worker_index: int, worker_count: int) -> _Sink:
        return _Sink(self.hub, worker_index)


class _Source(StatelessSourcePartition[tuple[str, Parcel]]):
    def __init__(self, hub: Hub, worker: int, keys: dict[str, str]) -> None:
        self._hub = hub
        self._queue = hub.queue(worker)
        self._keys = keys
        self._idle = 0

    @override
    def next_batch(self) -> list[tuple[str, Parcel]]:
        if self._hub.stopping:
            raise StopIteration
        batch: list[tuple[str, Parcel]] = []
        for _ in range(len(self._queue)):
            outgoing = self._queue.popleft()
            batch.extend((self._keys[to], outgoing.parcel) for to in outgoing.receivers)
        self._idle = 0 if batch else self._idle + 1
        return batch

    @override
    def next_awake(self) -> datetime | None:
        return _AT_ONCE if self._idle < _PATIENCE else None


@dataclass(frozen=True)
class FeedbackSource(DynamicSource[tuple[str, Parcel]]):
    """Emit the worker's queued parcels, each to its receivers' keys, until told to halt."""

    hub: Hub
    keys: dict[str, str]

    @override
    def build(self, step_id: str, worker_index: int, worker_count: int) -> _Source:
        keep_thread_state()
        return _Source(self.hub, worker_index, self.keys)
