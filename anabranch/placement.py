"""Which node does a sample belong to: the one answer for the loop and the dataflow."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal
from zlib import crc32

import numpy as np

from anabranch.errors import ConfigurationError, UnknownNodeError, nearest
from anabranch.network import Eras
from anabranch.protocol import Array, NodeId, freeze
from anabranch.sparse import take_rows
from anabranch.stream import Block, DeadLetter, Share, features_text, source_of

__all__ = [
    "PLACEMENTS",
    "Placement",
    "PlacementRule",
    "Placements",
    "known_rows",
    "split",
    "strangers",
    "whole",
]

PlacementRule = Literal["round-robin", "hash", "partition", "key", "id"]
PLACEMENTS: tuple[PlacementRule, ...] = ("round-robin", "hash", "partition", "key", "id")


@dataclass(frozen=True)
class Placement:
    """Assign the rows of blocks to nodes, by position alone, never by arrival.

    Parameters
    ----------
    nodes : the node names, sorted
    rule : "round-robin" (record number modulo nodes), "hash" (of partition and record
        number: scattered, but fixed), "partition" (all rows of a partition to one node),
        "key" (the node each record names), "id" (of the sample's id: where samples and labels
        come apart, both go to one node)
    partitions : all partitions of the job, sorted

    Raises
    ------
    ConfigurationError
        The rule is unknown.

    Examples
    --------
    >>> from anabranch.stream import Block
    >>> block = Block("p", 0, np.zeros((3, 1)), np.ones(3), np.arange(3))
    >>> Placement(("a", "b"), "round-robin", ("p",)).indices(block).tolist()
    [0, 1, 0]
    """

    nodes: tuple[NodeId, ...]
    rule: PlacementRule
    partitions: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.rule not in PLACEMENTS:
            raise ConfigurationError(
                f"the placement rule {self.rule!r} is unknown{nearest(self.rule, list(PLACEMENTS))}"
            )

    def indices(self, block: Block) -> Array:
        """Give each row's node as an index into `nodes`, shape (n,).

        Raises
        ------
        ConfigurationError
            Rows are placed by key or id and the block has none.
        UnknownNodeError
            A key is no node's name; sources make such a record a dead letter.
        """
        return _RULES[self.rule](self, block)

    @cached_property
    def _index(self) -> dict[NodeId, int]:
        return {name: i for i, name in enumerate(self.nodes)}

    def feeds(self, node: NodeId) -> tuple[str, ...]:
        """Give the partitions that a node may get rows from; it waits for their ticks only."""
        if self.rule != "partition":
            return self.partitions
        place = self.nodes.index(node)
        return self.partitions[place :: len(self.nodes)]

    def fed_by(self, partition: str) -> tuple[NodeId, ...]:
        """Give the nodes that may get rows of a partition."""
        if self.rule != "partition":
            return self.nodes
        return (self.nodes[self.partitions.index(partition) % len(self.nodes)],)

    def shares(self, block: Block) -> dict[NodeId, Share]:
        """Give every node fed by the block's partition its rows, in order, possibly none.

        Raises as `indices` does.
        """
        if self.rule == "partition":
            (node,) = self.fed_by(block.partition)
            return {node: whole(block, node)}
        return {share.node: share for share in split(block, self.indices(block), self.nodes)}


@dataclass(frozen=True)
class Placements:
    """Placements in time: each holds from its first tick on.

    Parameters
    ----------
    steps : (first tick, placement), ticks increasing from 0

    Examples
    --------
    >>> from anabranch.network import combination_weights, ring
    >>> old, new = combination_weights(ring("abc")), combination_weights(ring("bcd"))
    >>> eras = Eras.of(old, {9: new})
    >>> placements = Placements.of(Placement(("b", "c", "d"), "hash", ("p",)), eras, 2)
    >>> placements.at(4).nodes, placements.at(5).nodes
    (('a', 'b', 'c'), ('b', 'c', 'd'))
    >>> placements.turns("a", "p"), placements.turns("b", "p"), placements.turns("d", "p")
    (((0, 4),), ((0, None),), ((5, None),))
    """

    steps: tuple[tuple[int, Placement], ...]

    @classmethod
    def of(cls, placement: Placement, eras: Eras, rounds_per_tick: int) -> "Placements":
        """Make them of one placement's rule and partitions, and the nodes in time.

        A tick belongs to the network of the round in which it is learned.
        """
        nodes = {-(-start // rounds_per_tick): era.graph.nodes for start, era in eras.steps}
        return cls(tuple((tick, replace(placement, nodes=names)) for tick, names in nodes.items()))

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return tuple(start for start, _ in self.steps)

    def at(self, tick: int) -> Placement:
        """Give the placement of a tick."""
        return self.steps[bisect_right(self._starts, tick) - 1][1]

    def turns(self, node: NodeId, partition: str) -> tuple[tuple[int, int | None], ...]:
        """Give the ticks of a partition that a node may get rows of: first and last, None: on."""
        found: list[tuple[int, int | None]] = []
        ends = [*(start - 1 for start in self._starts[1:]), None]
        for (start, placement), end in zip(self.steps, ends, strict=True):
            if node in placement.fed_by(partition):
                joined = bool(found) and found[-1][1] == start - 1
                first = found.pop()[0] if joined else start
                found.append((first, end))
        return tuple(found)


def known_rows(block: Block, placement: Placement) -> Block:
    """Give a block without the rows that name a node the placement has not."""
    keys = block.keys or []
    rows = [row for row, key in enumerate(keys) if key in placement._index]
    if len(rows) == len(keys):
        return block
    kept = np.array(rows, dtype=np.int64)
    X, y, positions = (take_rows(a, kept) for a in (block.X, block.y, block.positions))
    held, times = (None if a is None else freeze(a[kept]) for a in (block.held, block.times))
    return replace(
        block, X=X, y=y, positions=positions, keys=[keys[row] for row in rows], held=held,
        times=times, apart=None if block.apart is None else block.apart.rows(kept),
    )  # fmt: skip


def strangers(
    block: Block, placement: Placement, ever: Collection[NodeId] = ()
) -> list[DeadLetter]:
    """Give the rows that `known_rows` leaves out, as dead letters.

    The reason is "absent_node" for nodes of `ever`, those in the network at some time.
    """
    letters = []
    for row, key in enumerate(block.keys or []):
        if key not in placement._index:
            detail = f"node {key!r} is not in the network in tick {block.tick}"
            raw = features_text(block.X, row)
            time = None if block.times is None else int(block.times[row])
            where = (source_of(block.partition), block.partition, int(block.positions[row]))
            reason = "absent_node" if key in ever else "unknown_node"
            letters.append(DeadLetter(reason, detail, *where, raw, time=time))
    return letters


def whole(block: Block, node: NodeId) -> Share:
    """Give all rows of a block to one node, without a copy."""
    arrays = (block.X, block.y, block.positions, block.held)
    return Share(block.partition, block.tick, *arrays, node, block.times, block.apart, block.labels)


def split(block: Block, indices: Array, nodes: Sequence[NodeId]) -> list[Share]:
    """Cut a block into one share a node; the order of a node's rows is kept.

    `indices` (n,) holds each row's place in `nodes`. The shares are views of frozen copies.
    """
    small = np.int16 if len(nodes) < 1 << 15 else np.int64  # int16 is sorted by radix
    order = np.argsort(indices.astype(small), kind="stable")
    ends = np.cumsum(np.bincount(indices, minlength=len(nodes))).tolist()
    X, y, positions = (take_rows(a, order) for a in (block.X, block.y, block.positions))
    held, times = (None if a is None else freeze(a[order]) for a in (block.held, block.times))
    apart = None if block.apart is None else block.apart.rows(order)
    shares, start = [], 0
    for node, end in zip(nodes, ends, strict=True):
        rows = slice(start, end)
        arrays = (X[rows], y[rows], positions[rows], None if held is None else held[rows])
        part = None if times is None else times[rows]
        own = None if apart is None else apart.rows(rows)
        shares.append(Share(block.partition, block.tick, *arrays, node, part, own, block.labels))
        start = end
    return shares


def _round_robin(placement: Placement, block: Block) -> Array:
    return block.positions % len(placement.nodes)


def _scatter(placement: Placement, block: Block) -> Array:
    mixed = block.positions.astype(np.uint64) + np.uint64(crc32(block.partition.encode()) + 1)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed >> np.uint64(33)) % np.uint64(len(placement.nodes))).astype(np.int64)


def _by_partition(placement: Placement, block: Block) -> Array:
    node = placement.partitions.index(block.partition) % len(placement.nodes)
    return np.full(len(block.y), node, dtype=np.int64)


def _by_key(placement: Placement, block: Block) -> Array:
    keys, index = block.keys, placement._index
    if keys is None or len(keys) != len(block.y):
        raise ConfigurationError(
            f"the rows of partition {block.partition!r} are to be placed by key and have none"
        )
    try:
        return np.fromiter((index[key] for key in keys), dtype=np.int64, count=len(keys))
    except KeyError as error:
        raise UnknownNodeError(f"no node has the name {error}; allowed: the network's") from None


def _by_id(placement: Placement, block: Block) -> Array:
    if block.apart is None:
        raise ConfigurationError(
            f"the rows of partition {block.partition!r} are to be placed by id and have none"
        )
    nodes, ids = len(placement.nodes), block.apart.ids
    numbers = (crc32(id.encode("utf-8", "surrogatepass")) % nodes for id in ids)
    return np.fromiter(numbers, dtype=np.int64, count=len(ids))


_RULES: Mapping[str, Callable[[Placement, Block], Array]] = {
    "round-robin": _round_robin,
    "hash": _scatter,
    "partition": _by_partition,
    "key": _by_key,
    "id": _by_id,
}
