"""A broadcast to processes: each has the sink part of its own number.

The set of parts is fixed, whatever the number of processes, since a recovery store that knows
a part cannot be resumed without it. Parts beyond the last process are dealt round and unused.
"""

from dataclasses import dataclass

from bytewax.outputs import FixedPartitionedSink, StatefulSinkPartition
from typing_extensions import override

from operators.hub import Hub
from operators.items import Ack

__all__ = ["HALT", "MOST_PROCESSES", "ProcessSink", "process_key"]

MOST_PROCESSES = 32

HALT = None
"""The sign that every node has done its last round."""


def process_key(process: int) -> str:
    """Name a process's part.

    >>> process_key(3)
    '00003'
    """
    return f"{process:05d}"


class _Part(StatefulSinkPartition[Ack | None, None]):
    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    @override
    def write_batch(self, values: list[Ack | None]) -> None:
        for value in values:
            if value is None:
                self._hub.halt.set()
            else:
                self._hub.acknowledge(value.node, value.tick, value.partition)

    @override
    def snapshot(self) -> None:
        return None


@dataclass(frozen=True)
class ProcessSink(FixedPartitionedSink[Ack | None, None]):
    """Deliver acknowledgements and the halt to the hub of the process they are keyed to.

    Every process must have its own number, below `MOST_PROCESSES`: were two to name the same
    part, one of them would never hear the halt.
    """

    hub: Hub

    @override
    def list_parts(self) -> list[str]:
        mine = range(self.hub.process, MOST_PROCESSES, self.hub.processes)
        return [process_key(number) for number in mine]

    @override
    def part_fn(self, item_key: str) -> int:
        return int(item_key)

    @override
    def build_part(self, step_id: str, for_part: str, resume_state: None) -> _Part:
        return _Part(self.hub)
