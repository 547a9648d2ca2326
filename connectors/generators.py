"""Streams that are computed, as a source."""

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from bytewax.inputs import FixedPartitionedSource
from typing_extensions import override

from anabranch.errors import ConfigurationError
from anabranch.protocol import Array, freeze
from anabranch.sparse import SparseRows, freeze_rows
from anabranch.stream import Block, End
from anabranch.synthetic import SITE
from connectors.partition import PartState, TickPartition

__all__ = ["STRIDE", "GeneratorSource", "Stream"]

STRIDE = SITE
"""Positions of a stream that belong to one partition."""


class Stream(Protocol):
    """A stream whose samples can be computed from any position on."""

    @property
    def features(self) -> int:
        """Number of features."""
        ...

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        ...

    def block(self, start: int, count: int) -> tuple[Any, Array]:
        """Give the samples from a position on: X (count, features) and y (count,).

        X is an array or `SparseRows`.
        """
        ...


class GeneratorPartition(TickPartition):
    """A partition's share of a stream."""

    def __init__(
        self,
        stream: Stream,
        partition: str,
        start: int,
        rows: int | None,
        rows_per_tick: int,
        sparse: bool,
        state: PartState | None,
    ) -> None:
        super().__init__(partition, rows_per_tick, state)
        self._stream, self._start, self._rows, self._sparse = stream, start, rows, sparse

    @override
    def read_tick(self) -> Block | None:
        count = self.rows_per_tick
        if self._rows is not None:
            count = min(count, self._rows - self.record)
        if count <= 0:
            self.phase = "end"
            return None
        X, y = self._computed(count)
        positions = np.arange(self.record, self.record + count, dtype=np.int64)
        tick = self.record // self.rows_per_tick
        self.record += count
        return Block(self.partition, tick, X, y, freeze(positions), records=count)

    def _computed(self, count: int) -> tuple[Any, Array]:
        X, y = self._stream.block(self._start + self.record, count)
        if not isinstance(X, SparseRows):
            X = np.ascontiguousarray(X, np.float64)
        elif not self._sparse:
            X = X.toarray()
        return freeze_rows(X), freeze(np.asarray(y, np.float64))

    @override
    def snapshot(self) -> PartState:
        return self.state()


@dataclass(frozen=True)
class GeneratorSource(FixedPartitionedSource[Block | End, PartState]):
    """A stream dealt to partitions: number p takes the positions from p STRIDE on.

    Attributes
    ----------
    stream : what to compute
    count : number of partitions
    rows : samples in all, spread evenly, the first partitions one more; None never ends
    rows_per_tick : samples in a partition's tick
    sparse : sparse rows stay so; else they become arrays
    partitions : names of the partitions, sorted
    features : x1, x2, ... for X's columns; () where the stream makes texts

    Raises
    ------
    ConfigurationError
        A number is out of its range.

    >>> from types import SimpleNamespace
    >>> GeneratorSource(SimpleNamespace(features=2), 3, 100, 10).partitions
    ('part0', 'part1', 'part2')
    """

    stream: Stream
    count: int
    rows: int | None
    rows_per_tick: int
    sparse: bool = False
    partitions: tuple[str, ...] = field(init=False, compare=False)
    features: tuple[str, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        for key, value in (("partitions", self.count), ("rows_per_tick", self.rows_per_tick)):
            if value < 1:
                raise ConfigurationError(f"source.{key} is {value}: allowed is 1 and up")
        if self.rows is not None and not 0 <= self.rows <= STRIDE * self.count:
            raise ConfigurationError(
                f"source.rows is {self.rows}: allowed are 0 to {STRIDE} a partition, or none"
            )
        digits = len(str(self.count - 1))
        names = tuple(f"part{number:0{digits}d}" for number in range(self.count))
        object.__setattr__(self, "partitions", names)
        named = 0 if hasattr(self.stream, "hasher") else self.stream.features
        columns = tuple(f"x{number + 1}" for number in range(named))
        object.__setattr__(self, "features", columns)

    @override
    def list_parts(self) -> list[str]:
        return list(self.partitions)

    @override
    def build_part(
        self, step_id: str, for_part: str, resume_state: PartState | None
    ) -> GeneratorPartition:
        number = self.partitions.index(for_part)
        share = None
        if self.rows is not None:
            share = self.rows // self.count + (number < self.rows % self.count)
        return GeneratorPartition(
            self.stream, for_part, number * STRIDE, share, self.rows_per_tick, self.sparse,
            resume_state,
        )  # fmt: skip
