"""The feedback edge: a sink and a source that turn a dataflow's end into its beginning.

The queue between them is local to a worker; the keyed shuffles after the source carry a
parcel to its receivers' worker, in this process or another, once and together with all that
goes there. Parcels in the queue are lost in a crash, on purpose: a node rebuilt from a
snapshot sends its last two again.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from typing_extensions import override

from anabranch.protocol import NodeId
from operators.hub import Hub
from operators.items import Hello, Outgoing
from operators.post import Bundle, post_keys
from operators.routing import key_hash
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


class _Source(StatelessSourcePartition[tuple[str, Bundle]]):
    def __init__(self, hub: Hub, worker: int, workers: int, keys: dict[str, str]) -> None:
        self._hub = hub
        self._queue = hub.queue(worker)
        self._posts = post_keys(workers)
        self._worker_of = {node: key_hash(key) % workers for node, key in keys.items()}
        mine = [node for node, home in self._worker_of.items() if home == worker]
        self._hellos: Bundle = [(Hello(node), [node]) for node in mine]
        self._worker = worker
        self._idle = 0

    @override
    def next_batch(self) -> list[tuple[str, Bundle]]:
        if self._hub.stopping:
            raise StopIteration
        # A node without samples would not know its name, and its neighbours wait for it.
        bundles: dict[int, Bundle] = {self._worker: self._hellos} if self._hellos else {}
        self._hellos = []
        for _ in range(len(self._queue)):
            outgoing = self._queue.popleft()
            for worker, receivers in self._split(outgoing).items():
                bundles.setdefault(worker, []).append((outgoing.parcel, receivers))
        self._idle = 0 if bundles else self._idle + 1
        return [(self._posts[worker], bundle) for worker, bundle in bundles.items()]

    def _split(self, outgoing: Outgoing) -> dict[int, list[NodeId]]:
        parts: dict[int, list[NodeId]] = {}
        for receiver in outgoing.receivers:
            parts.setdefault(self._worker_of[receiver], []).append(receiver)
        return parts

    @override
    def next_awake(self) -> datetime | None:
        return _AT_ONCE if self._idle < _PATIENCE else None


@dataclass(frozen=True)
class FeedbackSource(DynamicSource[tuple[str, Bundle]]):
    """Emit the worker's queued parcels, one bundle a receiving worker, until told to halt."""

    hub: Hub
    keys: dict[str, str]

    @override
    def build(self, step_id: str, worker_index: int, worker_count: int) -> _Source:
        keep_thread_state()
        return _Source(self.hub, worker_index, worker_count, self.keys)
