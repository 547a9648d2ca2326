"""What flows from the sources to the nodes: blocks, shares, ends, dead letters."""

from dataclasses import dataclass
from typing import Any

from anabranch.packing import Packed, pack, unpack
from anabranch.protocol import Array, NodeId

__all__ = ["RAW_LIMIT", "Block", "DeadLetter", "End", "Predictions", "Share"]

RAW_LIMIT = 1000
"""Bytes of a bad record that are kept."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that could not be used, and why.

    `reason` is one of a fixed set of short names (counted in the report); `detail` is a
    sentence for a person. `position` is the record's number in its partition, from 0.
    """

    reason: str
    detail: str
    source: str
    partition: str
    position: int
    raw: bytes


@dataclass(frozen=True, slots=True)
class Block:
    """The good records of one tick of one partition, in order, and the bad ones.

    Attributes
    ----------
    X : (n, d) float64, C order, frozen
    y : (n,) float64, frozen
    positions : (n,) int64; record numbers in the partition, counting bad records too
    keys : (n,) node names as a list, or None where the placement is not by key or field
    held : (n,) bool, rows held back for scoring, or None when none is
    records : number of records read for this tick, bad ones included
    """

    partition: str
    tick: int
    X: Array
    y: Array
    positions: Array
    keys: list[str] | None = None
    held: Array | None = None
    dead: tuple[DeadLetter, ...] = ()
    records: int = 0


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
    """One node's rows of one tick of one partition, possibly none."""

    partition: str
    tick: int
    X: Array
    y: Array
    positions: Array
    held: Array | None = None
    node: NodeId = ""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as plain values: shares cross processes by the thousand."""
        held = None if self.held is None else pack(self.held)
        rows = (pack(self.X), pack(self.y), pack(self.positions), held)
        return _unpack_share, (self.partition, self.tick, *rows, self.node)


def _unpack_share(
    partition: str,
    tick: int,
    X: Packed,
    y: Packed,
    positions: Packed,
    held: Packed | None,
    node: NodeId,
) -> Share:
    rows = (unpack(X), unpack(y), unpack(positions), None if held is None else unpack(held))
    return Share(partition, tick, *rows, node)


@dataclass(frozen=True, slots=True)
class Predictions:
    """What one node predicted for one share, each row before it was learned.

    `predicted` is aligned with `positions`; `held` tells rows that are scored only.
    """

    node: NodeId
    round: int
    partition: str
    positions: Array
    y: Array
    predicted: Array
    held: bool = False
