"""Flow control and graceful stop around any source of blocks."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from typing_extensions import override

from anabranch.stream import Block, End
from operators.hub import Hub

__all__ = ["PacedSource", "TickedPartition"]

_ROWS_A_POLL = 4096


class TickedPartition(Protocol):
    """A source partition that knows the number of the tick it will emit next."""

    @property
    def tick(self) -> int:
        """Number of the next tick."""
        ...

    def next_batch(self) -> list[Block | End]:
        """Give at most one tick's block, or the end; nothing if none is there yet."""
        ...

    def next_awake(self) -> datetime | None:
        """Tell when to be asked again, as Bytewax's partitions do."""
        ...

    def snapshot(self) -> Any:
        """Give the next position."""
        ...

    def close(self) -> None:
        """Clean up."""
        ...


class _PacedPartition(StatefulSourcePartition[Block | End, Any]):
    def __init__(
        self, inner: TickedPartition, name: str, hub: Hub, ticks_ahead: int, at_once: bool
    ) -> None:
        if at_once:
            hub.begin(name, inner.tick - 1)
        self._inner = inner
        self._name = name
        self._hub = hub
        self._ahead = ticks_ahead
        self._limit = hub.slowest(name) + ticks_ahead
        self._ended = False

    @override
    def next_batch(self) -> list[Block | End]:
        if self._ended or self._hub.stopping:
            raise StopIteration
        batch: list[Block | End] = []
        rows = 0
        while rows < _ROWS_A_POLL and self._may_emit():
            items = self._pull()
            if not items:
                break
            batch.extend(items)
            rows += sum(item.records + 1 for item in items if isinstance(item, Block))
        return batch

    def _pull(self) -> list[Block | End]:
        try:
            with self._hub.telling():
                return self._inner.next_batch()
        except StopIteration:
            self._ended = True
            return []

    def _may_emit(self) -> bool:
        if self._inner.tick > self._limit:
            self._limit = self._hub.slowest(self._name) + self._ahead
        return self._inner.tick <= self._limit

    @override
    def next_awake(self) -> datetime | None:
        return self._inner.next_awake()

    @override
    def snapshot(self) -> Any:
        return self._inner.snapshot()

    @override
    def close(self) -> None:
        self._inner.close()


@dataclass(frozen=True)
class PacedSource(FixedPartitionedSource[Block | End, Any]):
    """Let each partition run at most `ticks_ahead` ticks beyond the slowest node.

    So memory is bounded whatever the backlog. When the process is told to drain, every
    partition ends at its next poll; its snapshot is the next record, so a resumed job
    goes on exactly there. `homes` says which process reads a partition: the one that hosts
    its node, where it feeds one alone. `at_once` says that nodes have learned all ticks that a
    snapshot is behind, so that who joins then is not waited for in those.
    """

    inner: FixedPartitionedSource[Block | End, Any]
    hub: Hub
    ticks_ahead: int
    homes: Mapping[str, int]
    at_once: bool = False

    @override
    def list_parts(self) -> list[str]:
        return [part for part in self.inner.list_parts() if self.homes[part] == self.hub.process]

    @override
    def build_part(self, step_id: str, for_part: str, resume_state: Any | None) -> _PacedPartition:
        with self.hub.telling():
            part = self.inner.build_part(step_id, for_part, resume_state)
        inner: Any = part
        return _PacedPartition(inner, for_part, self.hub, self.ticks_ahead, self.at_once)
