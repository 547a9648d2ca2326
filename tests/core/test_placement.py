"""Laws of placement: each row once, in order, whatever the blocks; and packing."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.errors import ConfigurationError, UnknownNodeError
from anabranch.network import node_names
from anabranch.packing import pack, pack_all, unpack, unpack_all
from anabranch.placement import PLACEMENTS, Placement, PlacementRule
from anabranch.protocol import Array, freeze
from anabranch.stream import Apart, Block, Share

FIRST = [1, 2, 7, 5, 3, 4, 6, 5, 3, 1, 0, 0]
"""Nodes of the first positions of partition p1 among eight nodes, by hash."""
BY_ID = [2, 2, 1, 2, 1, 1, 0, 0, 1, 2, 0, 0]
"""Nodes of the first ids among five nodes."""
ARRAYS = ("X", "y", "positions", "held", "times")
PARTS = ("p0", "p1", "p2", "p3", "p4")
rules = st.sampled_from(PLACEMENTS)
counts = st.integers(1, 12)
positions_of = st.lists(st.integers(0, 10**12), unique=True, max_size=40).map(sorted)


def block_of(
    positions: list[int], nodes: tuple[str, ...], part: str = "p1", held: bool = True
) -> Block:
    """A row's values tell its position; it is held back, and keyed, by its position too."""
    at = np.array(positions, dtype=np.int64)
    times, kinds = freeze(at + 7), freeze((at % 3).astype(np.uint8))
    X = np.column_stack([at, -at]).astype(np.float64)
    return Block(
        part, 0, freeze(X), freeze(at % 5 + 1.0), freeze(at),
        keys=[nodes[(7 * p + 3) % len(nodes)] for p in positions],
        held=freeze(at % 3 == 0) if held else None,
        times=times, apart=Apart(kinds, [f"id {p}" for p in positions], times),
    )  # fmt: skip


def cut(block: Block, ends: list[int]) -> list[Block]:
    edges = [0, *sorted(min(end, len(block.y)) for end in ends), len(block.y)]
    assert block.keys is not None
    assert block.held is not None
    assert block.times is not None
    assert block.apart is not None
    return [
        Block(block.partition, tick, block.X[a:b], block.y[a:b], block.positions[a:b],
              block.keys[a:b], block.held[a:b], times=block.times[a:b],
              apart=block.apart.rows(slice(a, b)))
        for tick, (a, b) in enumerate(pairwise(edges))
    ]  # fmt: skip


def rows_of(shares: list[Share]) -> list[tuple[object, ...]]:
    return [
        (float(x[0]), float(x[1]), float(y), int(p), bool(h))
        for s in shares
        for x, y, p, h in zip(s.X, s.y, s.positions, s.held, strict=True)  # type: ignore[arg-type]
    ]


@settings(deadline=None)
@given(rules, counts, positions_of)
def test_every_row_goes_to_one_node_and_keeps_its_order(
    rule: PlacementRule, count: int, positions: list[int]
) -> None:
    nodes = node_names(count)
    placement = Placement(nodes, rule, PARTS)
    block = block_of(positions, nodes)
    shares = placement.shares(block)
    assert tuple(shares) == placement.fed_by("p1")
    assert all(s.node == n and s.tick == 0 and s.partition == "p1" for n, s in shares.items())
    landed = [int(p) for s in shares.values() for p in s.positions]
    assert sorted(landed) == positions
    for share in shares.values():
        assert list(share.positions) == sorted(share.positions)
        assert (np.column_stack([share.positions, -share.positions]) == share.X).all()
        assert (share.y == share.positions % 5 + 1.0).all()
        assert share.held is not None
        assert (share.held == (share.positions % 3 == 0)).all()
        assert share.times is not None
        assert (share.times == share.positions + 7).all()
        check_apart(share)


def check_apart(share: Share) -> None:
    assert share.apart is not None
    assert share.apart.ids == [f"id {p}" for p in share.positions]
    assert (share.apart.kinds == share.positions % 3).all()
    assert (share.apart.times == share.positions + 7).all()


@settings(deadline=None)
@given(rules, counts, positions_of, st.lists(st.integers(0, 40), max_size=4))
def test_placement_does_not_depend_on_the_cut_into_blocks(
    rule: PlacementRule, count: int, positions: list[int], ends: list[int]
) -> None:
    nodes = node_names(count)
    placement = Placement(nodes, rule, PARTS)
    block = block_of(positions, nodes)
    whole, parts = placement.shares(block), [placement.shares(b) for b in cut(block, ends)]
    for node in placement.fed_by("p1"):
        assert rows_of([whole[node]]) == rows_of([part[node] for part in parts])


@settings(deadline=None)
@given(rules, counts, st.integers(1, 5))
def test_feeds_and_fed_by_are_two_sides_of_one_relation(
    rule: PlacementRule, count: int, parts: int
) -> None:
    placement = Placement(node_names(count), rule, PARTS[:parts])
    pairs = {(n, p) for n in placement.nodes for p in placement.feeds(n)}
    assert pairs == {(n, p) for p in placement.partitions for n in placement.fed_by(p)}
    assert {p for _, p in pairs} == set(placement.partitions)


@settings(deadline=None)
@given(rules, counts, positions_of)
def test_shares_are_frozen(rule: PlacementRule, count: int, positions: list[int]) -> None:
    nodes = node_names(count)
    for share in Placement(nodes, rule, PARTS).shares(block_of(positions, nodes)).values():
        assert share.apart is not None
        kept = (share.X, share.y, share.positions, share.held, share.times)
        assert not any(array.flags.writeable for array in kept if array is not None)
        assert not share.apart.kinds.flags.writeable
        assert not share.apart.times.flags.writeable
        assert share.X.flags.c_contiguous


def where(rule: PlacementRule, count: int, positions: Array, part: str = "p1") -> Array:
    nodes = node_names(count)
    return Placement(nodes, rule, PARTS).indices(block_of(positions.tolist(), nodes, part))


def test_rules_place_as_they_say() -> None:
    at = np.arange(100)
    assert (where("round-robin", 7, at) == at % 7).all()
    assert (where("key", 7, at) == (7 * at + 3) % 7).all()
    assert (where("partition", 3, at, "p4") == 1).all()


def test_scattering_is_even_fixed_and_different_by_partition() -> None:
    at = np.arange(20_000)
    scattered = where("hash", 8, at)
    assert np.abs(np.bincount(scattered) / 2500 - 1.0).max() < 0.1
    assert not (scattered == where("hash", 8, at, "p2")).all()
    # Part of what a resumed job relies on: the same for ever, on every machine.
    assert scattered[:12].tolist() == FIRST


def test_many_nodes() -> None:
    nodes = node_names(40_000)
    shares = Placement(nodes, "round-robin", PARTS).shares(block_of([5, 39_999, 40_005], nodes))
    assert shares["n39999"].positions.tolist() == [39_999]
    assert shares["n00005"].positions.tolist() == [5, 40_005]


def test_what_cannot_be_placed_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"'hsah'.*did you mean 'hash'"):
        Placement(("a",), "hsah", PARTS)  # type: ignore[arg-type]
    placement = Placement(("a", "b"), "key", PARTS)
    with pytest.raises(UnknownNodeError, match="'c'"):
        placement.indices(block_of([1, 2, 3], ("a", "b", "c")))
    bare = Block("p1", 0, np.zeros((1, 1)), np.ones(1), np.zeros(1, dtype=np.int64))
    with pytest.raises(ConfigurationError, match="by key"):
        placement.indices(bare)
    with pytest.raises(ConfigurationError, match="by id"):
        Placement(("a", "b"), "id", PARTS).indices(bare)


def test_an_id_leads_to_one_node_from_whatever_partition() -> None:
    nodes = node_names(5)
    placement = Placement(nodes, "id", PARTS)
    at = list(range(4000))
    one, two = (placement.indices(block_of(order, nodes)) for order in (at, at[::-1]))
    assert (one == two[::-1]).all()
    assert np.abs(np.bincount(one) / 800 - 1.0).max() < 0.15
    # Part of what a resumed job relies on: the same for ever, on every machine.
    assert one[:12].tolist() == BY_ID


@settings(deadline=None)
@given(counts, positions_of, st.booleans())
def test_a_share_survives_pickling(count: int, positions: list[int], held: bool) -> None:
    nodes = node_names(count)
    block = block_of(positions, nodes, held=held)
    for share in Placement(nodes, "hash", PARTS).shares(block).values():
        again = pickle.loads(pickle.dumps(share))
        assert (again.partition, again.tick, again.node) == ("p1", 0, share.node)
        assert share.apart is not None
        assert share.apart.ids == again.apart.ids
        pairs = [(getattr(share, n), getattr(again, n)) for n in ARRAYS]
        pairs += [(getattr(share.apart, n), getattr(again.apart, n)) for n in ("kinds", "times")]
        for one, two in pairs:
            assert (one is None) == (two is None)
            if one is not None:
                assert (one.dtype, one.shape, one.tobytes()) == (
                    two.dtype,
                    two.shape,
                    two.tobytes(),
                )
                assert not two.flags.writeable


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3).T, np.empty((0, 4)), np.array(2.5), np.array([True, False]),
        np.array(["a", "bc"]), np.arange(3, dtype=">i4"), np.array([np.nan, -0.0, np.inf]),
    ],
    ids=str,
)  # fmt: skip
def test_unpack_gives_back_what_was_packed(array: Array) -> None:
    again = unpack(pickle.loads(pickle.dumps(pack(array))))
    assert (again.dtype, again.shape, again.tobytes()) == (
        array.dtype,
        array.shape,
        array.tobytes(),
    )
    assert not again.flags.writeable
    assert again.flags.c_contiguous


def test_named_arrays_keep_their_names_and_order() -> None:
    again = unpack_all(pack_all({"w": np.ones(2), "b": np.zeros(0)}))
    assert list(again) == ["w", "b"]
    assert again["w"].tolist() == [1.0, 1.0]


def test_objects_are_not_packed() -> None:
    with pytest.raises(TypeError, match="objects"):
        pack(np.array([{}, None]))
