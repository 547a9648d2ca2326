"""One partition of a topic as ticks of blocks."""

from collections import deque
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import TypedDict

from bytewax.inputs import StatefulSourcePartition
from typing_extensions import override

from anabranch.errors import ConfigurationError
from anabranch.stream import Block, End
from connectors.kafka.feed import Record
from connectors.kafka.ranges import Range
from connectors.kafka.session import Session
from connectors.kafka.ticks import Parser, Tick, make_ticks

__all__ = ["KafkaPartition", "KafkaState"]

_AHEAD = 256
"""Records parsed at once where ticks are smaller."""
_SOONEST, _LATEST = 0.001, 0.016
"""Seconds until the next look for records: at once after some came, seldom when none do."""
_LOOK = 0.0003
"""Seconds between looks of all partitions: looking takes three percent of a core at most."""


class KafkaState(TypedDict):
    """Where a partition goes on: plain values only.

    `phase` is "reading", "end" (the End is still to come) or "done"; `offset` is the next
    record's, `record` counts those before it from the partition's start, `tick` is the next.
    """

    phase: str
    offset: int
    record: int
    tick: int
    rows_per_tick: int


class KafkaPartition(StatefulSourcePartition[Block | End, KafkaState]):
    """Emits one tick's block a call, at the end one End, then stops.

    A tick holds `rows_per_tick` records, whatever offsets are missing between them. With
    `linger`, a tick is given up on being full once its first record has waited so long.

    Parameters
    ----------
    name : the partition
    range : what to read of it
    rows_per_tick : records in a tick
    linger : seconds, or None: every tick but the last is full
    parser : makes rows of messages
    session : where records come from
    state : a snapshot to go on from
    """

    def __init__(
        self,
        name: str,
        range: Range,
        rows_per_tick: int,
        linger: float | None,
        parser: Parser,
        session: Session,
        state: KafkaState | None,
    ) -> None:
        self._name, self._rows_per_tick, self._linger = name, rows_per_tick, linger
        self._parser, self._session = parser, session
        if linger is None and state is not None:
            _check_ticks(state["rows_per_tick"], rows_per_tick)
        self._state = _begin(range, rows_per_tick, state)
        self._pending: list[Record] = []
        self._ready: deque[Tick] = deque()
        self._most = max(_AHEAD // rows_per_tick, 1) * rows_per_tick
        self._since = self._rest = 0.0
        self._position, self._end = self._state["offset"], range.end
        session.progress.open(name, self._position, range.end)
        if self._state["phase"] == "reading":
            session.read(name, self._position, range.end)
        elif range.end is not None:
            session.progress.move(name, range.end)

    @property
    def tick(self) -> int:
        """Number of the tick that comes next."""
        return self._state["tick"]

    @override
    def next_batch(self) -> list[Block | End]:
        state = self._state
        if state["phase"] == "done":
            raise StopIteration
        if state["phase"] == "reading":
            if self._ready or self._fill():
                return [self._block()]
            if not self._session.reader.ended(self._name):
                self._idle()
                return []
            state["phase"] = "end"
            if self._pending:
                self._parse(len(self._pending))
                return [self._block()]
        state["phase"] = "done"
        if self._end is not None:
            self._session.progress.move(self._name, self._end)
        return [End(self._name, state["tick"] - 1)]

    def _fill(self) -> bool:
        """Take what is there; tell whether it makes a tick."""
        pending, size = self._pending, self._rows_per_tick
        reader = self._session.reader
        if self._linger is not None and not pending:
            self._since = reader.since(self._name) or self._since
        pending += reader.take(self._name, self._most - len(pending))
        whole = len(pending) - len(pending) % size
        if whole:
            self._parse(whole)
            self._since = monotonic()  # of the rest, about
        elif pending and self._linger is not None and self._waited() >= self._linger:
            self._parse(len(pending))
        return bool(self._ready)

    def _waited(self) -> float:
        return monotonic() - self._since

    def _parse(self, count: int) -> None:
        records, self._pending = self._pending[:count], self._pending[count:]
        self._ready.extend(make_ticks(self._parser, records, self._rows_per_tick))

    def _block(self) -> Block:
        tick, state = self._ready.popleft(), self._state
        block = tick.rows.block(self._name, state["tick"], None)
        state["offset"] = self._position = tick.last + 1
        state["record"] += tick.rows.records
        state["tick"] += 1
        self._session.progress.move(self._name, self._position, tick.time)
        self._rest = 0.0
        return block

    def _idle(self) -> None:
        """Look less often; pass what is no record, for those who watch the lag."""
        most = _LATEST
        if self._linger is not None:
            most = min(most, max(self._linger, _LOOK * self._session.partitions))
        self._rest = min(max(2 * self._rest, _SOONEST), most)
        if not self._pending:
            position = self._session.reader.position(self._name)
            if position > self._position:
                self._position = position
                self._session.progress.move(self._name, position)

    @override
    def next_awake(self) -> datetime | None:
        if not self._rest:
            return None
        rest = self._rest
        if self._pending and self._linger is not None:
            rest = min(rest, max(self._linger - self._waited(), 0.0))
        return datetime.now(UTC) + timedelta(seconds=rest)

    @override
    def snapshot(self) -> KafkaState:
        return self._state.copy()

    @override
    def close(self) -> None:
        self._session.leave(self._name)


def _begin(range: Range, rows_per_tick: int, state: KafkaState | None) -> KafkaState:
    """Give the state to go on from; it is the partition's own."""
    if state is not None:
        return {**state, "rows_per_tick": rows_per_tick}
    return KafkaState(
        phase="reading",
        offset=range.start,
        record=0,
        tick=range.first_tick,
        rows_per_tick=rows_per_tick,
    )


def _check_ticks(before: int, now: int) -> None:
    if before != now:
        raise ConfigurationError(
            f"source.rows_per_tick is {now}, but the job to resume was started with {before}: the"
            " ticks would not be the same; resume with the old value or start anew"
        )
