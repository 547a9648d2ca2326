"""What the partitions of all sources here share: ticks, then an end, then nothing."""

from abc import abstractmethod
from typing import TypedDict

from bytewax.inputs import StatefulSourcePartition
from typing_extensions import override

from anabranch.errors import ConfigurationError
from anabranch.stream import Block, End

__all__ = ["PartState", "TickPartition"]


class PartState(TypedDict):
    """Where a partition goes on: plain values only.

    `phase` is "reading", "end" (the End is still to come) or "done". `record` is the number of
    the next record and `offset` where it begins, when the source reads bytes; `tick` is the next
    (older snapshots lack it). `rows_per_tick`, `seed` and `print` (length and checksum of the
    file's beginning) must be the same on resume.
    """

    phase: str
    record: int
    offset: int
    tick: int
    rows_per_tick: int
    seed: int | None
    print: tuple[int, int]


class TickPartition(StatefulSourcePartition[Block | End, PartState]):
    """Emits one tick's block a call, then one End, then stops."""

    def __init__(
        self,
        partition: str,
        rows_per_tick: int,
        state: PartState | None,
        seed: int | None = None,
    ) -> None:
        self.partition = partition
        self.rows_per_tick = rows_per_tick
        self.seed = seed
        self.phase = "reading"
        self.record = self.tick = 0
        """Numbers of the record and the tick that come next."""
        if state is not None:
            self._check("rows_per_tick", state["rows_per_tick"], rows_per_tick)
            self._check("shuffle_seed", state["seed"], seed)
            self.phase, self.record = state["phase"], state["record"]
            self.tick = state.get("tick", -(-self.record // rows_per_tick))

    def _check(self, key: str, before: int | None, now: int | None) -> None:
        if before != now:
            raise ConfigurationError(
                f"source.{key} is {now}, but the job to resume was started with {before}: the"
                " ticks would not be the same; resume with the old value or start anew"
            )

    @abstractmethod
    def read_tick(self) -> Block | None:
        """Give the next block, or None: nothing yet, or, with `phase` set to "end", no more."""
        ...

    @override
    def next_batch(self) -> list[Block | End]:
        if self.phase == "done":
            raise StopIteration
        if self.phase == "reading":
            block = self.read_tick()
            if block is not None:
                self.tick = block.tick + 1
                return [block]
            if self.phase == "reading":
                return []
        self.phase = "done"
        return [End(self.partition, self.tick - 1)]

    def state(self, offset: int = 0, print: tuple[int, int] = (0, 0)) -> PartState:
        """Give the snapshot for a position."""
        return PartState(
            phase=self.phase,
            record=self.record,
            offset=offset,
            tick=self.tick,
            rows_per_tick=self.rows_per_tick,
            seed=self.seed,
            print=print,
        )
