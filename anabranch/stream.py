"""What flows from the sources to the nodes: blocks, shares, ends, dead letters."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from anabranch.packing import Packed, pack, unpack
from anabranch.protocol import Array, NodeId, freeze
from anabranch.sparse import SparseRows

__all__ = [
    "LABEL",
    "RAW_LIMIT",
    "SAMPLE",
    "WHOLE",
    "Apart",
    "Block",
    "DeadLetter",
    "End",
    "Predictions",
    "Share",
    "features_text",
    "row_text",
    "source_of",
]

RAW_LIMIT = 1000
"""Bytes of a bad record that are kept, where the record can be looked up where it came from."""

WHOLE, SAMPLE, LABEL = 0, 1, 2
"""Kinds of rows: a sample with its label, a sample whose label is to come, a label alone."""


def source_of(partition: str) -> str:
    """Give the source of a partition, as dead letters name it: of "topic:3" the topic.

    >>> source_of("wear:3"), source_of("wear.csv")
    ('wear', 'wear.csv')
    """
    source, colon, number = partition.rpartition(":")
    return source if colon and number.isdigit() else partition


def row_text(values: Iterable[float]) -> bytes:
    """Give a row as text: the `raw` of a dead letter whose record is no longer at hand.

    >>> row_text([0.5, -2.0])
    b'0.5,-2.0'
    """
    return ",".join(map(repr, values)).encode()[:RAW_LIMIT]


def features_text(X: "Array | SparseRows", row: int) -> bytes:
    """Give a row of either kind as text; of a sparse one what is not zero, as index:value.

    >>> features_text(SparseRows.of(np.array([[0.0, 2.0]])), 0)
    b'1:2.0'
    """
    if not isinstance(X, SparseRows):
        return row_text(X[row].tolist())
    one = X[row : row + 1]
    pairs = zip(one.indices.tolist(), one.values.tolist(), strict=True)
    return ",".join(f"{index}:{value!r}" for index, value in pairs).encode()[:RAW_LIMIT]


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that could not be used, and why.

    `reason` is one of a fixed set of short names (counted in the report); `detail` is a
    sentence for a person. `position` is the record's number in its partition, from 0 (in a
    topic: its offset). `key`, `headers` and `time` (ms since 1970) are those of a message.
    """

    reason: str
    detail: str
    source: str
    partition: str
    position: int
    raw: bytes
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    time: int | None = None


@dataclass(frozen=True, slots=True)
class Apart:
    """What rows carry where samples and labels arrive apart.

    Attributes
    ----------
    kinds : (n,) uint8; WHOLE, SAMPLE (its y is NaN) or LABEL (its row of X is zeros)
    ids : (n,) texts, by which a label finds its sample
    times : (n,) int64, ms since 1970; the clock by which waiting samples are given up
    """

    kinds: Array
    ids: list[str]
    times: Array

    def rows(self, rows: Any) -> "Apart":
        """Give some rows: a slice, or an array of indices or truth values."""
        if isinstance(rows, slice):
            ids = self.ids[rows]
        else:
            ids = [self.ids[i] for i in np.arange(len(self.ids))[rows].tolist()]
        return Apart(freeze(self.kinds[rows]), ids, freeze(self.times[rows]))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as plain values, as shares are."""
        return _unpack_apart, (pack(self.kinds), self.ids, pack(self.times))


def _unpack_apart(kinds: Packed, ids: list[str], times: Packed) -> Apart:
    return Apart(unpack(kinds), ids, unpack(times))


@dataclass(frozen=True, slots=True)
class Block:
    """The good records of one tick of one partition, in order, and the bad ones.

    Attributes
    ----------
    X : (n, d) float64, C order, frozen; or `SparseRows`, where every learner of the job takes them
    y : (n,) float64, frozen; where samples have sets of labels (n, q), of 0 and 1
    positions : (n,) int64; record numbers in the partition, counting bad records too
    keys : (n,) node names as a list, or None where the placement is not by key or field
    held : (n,) bool, rows held back for scoring, or None when none is
    records : number of records read for this tick, bad ones included
    times : (n,) int64, when each record was made, ms since 1970; None where nobody said
    apart : what rows carry where samples and labels arrive apart, else None
    labels : names of y's columns, sorted, where they are those that occur in this block; None
        where y has one column for each label the job knows from the beginning
    """

    partition: str
    tick: int
    X: Any
    y: Array
    positions: Array
    keys: list[str] | None = None
    held: Array | None = None
    dead: tuple[DeadLetter, ...] = ()
    records: int = 0
    times: Array | None = None
    apart: Apart | None = None
    labels: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class End:
    """A partition has ended; `last_tick` is -1 when it was empty.

    `node` names the receiver once the end is on its way to a node.
    """

    partition: str
    last_tick: int
    node: NodeId = ""


@dataclass(frozen=True, slots=True)
class Share:
    """One node's rows of one tick of one partition, possibly none; see `Block`."""

    partition: str
    tick: int
    X: Any
    y: Array
    positions: Array
    held: Array | None = None
    node: NodeId = ""
    times: Array | None = None
    apart: Apart | None = None
    labels: tuple[str, ...] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as plain values: shares cross processes by the thousand."""
        sparse = isinstance(self.X, SparseRows)
        arrays = (None if sparse else self.X, self.y, self.positions, self.held, self.times)
        packed = tuple(None if array is None else pack(array) for array in arrays)
        rest = (self.node, self.apart, self.labels, self.X if sparse else None)
        return _unpack_share, (self.partition, self.tick, packed, *rest)

    def rows(self, rows: Any) -> "Share":
        """Give some rows, in order: a slice, or an array of indices or truth values."""
        if isinstance(rows, slice) and rows == slice(0, len(self.y)):
            return self
        held = None if self.held is None or not self.held[rows].any() else self.held[rows]
        times = None if self.times is None else self.times[rows]
        apart = None if self.apart is None else self.apart.rows(rows)
        arrays = (self.X[rows], self.y[rows], self.positions[rows], held)
        return Share(self.partition, self.tick, *arrays, self.node, times, apart, self.labels)


def _unpack_share(
    partition: str,
    tick: int,
    packed: tuple[Packed | None, ...],
    node: NodeId,
    apart: Apart | None,
    labels: tuple[str, ...] | None = None,
    sparse: SparseRows | None = None,
) -> Share:
    X, y, positions, held, times = (None if p is None else unpack(p) for p in packed)
    rows = X if sparse is None else sparse
    return Share(partition, tick, rows, y, positions, held, node, times, apart, labels)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Predictions:
    """What one node predicted for one share, each row before it was learned.

    `predicted`, `margins` (n, k) where wanted, and `times` where known are aligned with
    `positions`, and so are `ids` where samples and labels come apart; a label still to come is
    NaN in `y`; `held` tells rows that are scored only. Of samples with sets of labels `y` and
    `predicted` are (n, q), their columns named by `labels`.
    """

    node: NodeId
    round: int
    partition: str
    positions: Array
    y: Array
    predicted: Array
    held: bool = False
    margins: Array | None = None
    times: Array | None = None
    ids: list[str] | None = None
    labels: tuple[str, ...] | None = None
