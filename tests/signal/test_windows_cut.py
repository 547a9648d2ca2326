"""Windows over raw samples: the same whatever the blocks they come in."""

from dataclasses import replace
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.errors import ConfigurationError
from anabranch.protocol import Array
from anabranch.signal import EntropyFeatures, Windower, WindowPlan
from anabranch.stream import Block, DeadLetter

FEATURES = EntropyFeatures(modes=2, trials=1, order=3)
RNG = np.random.default_rng(0)
COUNT = 90
SIGNAL = RNG.standard_normal((COUNT, 1))
Y = RNG.integers(1, 4, COUNT).astype(float)


def plan(**options: Any) -> WindowPlan:
    return WindowPlan(**{"window": 20, "hop": 8, "features": FEATURES, "seed": 5, **options})


def block(rows: Array, tick: int = 0, X: Array = SIGNAL, **options: Any) -> Block:
    return Block("p", tick, X[rows], Y[rows], rows.astype(np.int64), **options)


def cut(windower: Windower, ends: list[int], **options: Any) -> list[Block]:
    edges = [0, *ends, COUNT]
    return [
        windower.take(block(np.arange(a, b), tick, **options))
        for tick, (a, b) in enumerate(pairwise(edges))
    ]


def joined(blocks: list[Block]) -> tuple[Any, ...]:
    parts = [(b.X, b.y, b.positions) for b in blocks]
    return tuple(np.concatenate(columns).tobytes() for columns in zip(*parts, strict=True))


@settings(max_examples=25)
@given(
    st.lists(st.integers(0, COUNT), max_size=8).map(sorted),
    st.integers(0, 8),
    st.sampled_from([(20, 20), (20, 3), (20, 31)]),
)
def test_blocks_and_restarts_make_no_difference(
    ends: list[int], stop: int, sizes: tuple[int, int]
) -> None:
    same = plan(window=sizes[0], hop=sizes[1])
    (whole,) = cut(Windower(same, "p"), [])
    edges = [0, *ends, COUNT]
    windower, made = Windower(same, "p"), []
    for tick, (a, b) in enumerate(pairwise(edges)):
        if tick == stop:
            windower = Windower(same, "p", windower.export())
        made.append(windower.take(block(np.arange(a, b), tick)))
    assert joined(made) == joined([whole])
    assert [b.tick for b in made] == list(range(len(made)))


def test_features_are_those_of_a_direct_call() -> None:
    (made,) = cut(Windower(plan(), "p"), [])
    assert made.positions.tolist() == list(range(19, COUNT, 8))
    for number, x in enumerate(made.X):
        start = 8 * number
        seed = (5, crc32(b"p"), crc32(b""), number, 0)
        assert (x == FEATURES.of(SIGNAL[start : start + 20, 0], seed)).all()


def test_a_window_has_the_label_of_most_of_its_samples() -> None:
    y = np.array([1.0] * 9 + [2.0] * 11 + [3.0] * 10 + [1.0] * 10)
    rows = np.arange(40)
    made = Windower(plan(hop=20), "p").take(replace(block(rows), y=y))
    assert made.y.tolist() == [2.0, 1.0], "of two labels equally often, the later one"


def test_held_windows_hold_nothing_that_is_learned() -> None:
    held = np.arange(COUNT) >= 45
    (made,) = cut(Windower(plan(window=20, hop=10), "p"), [])
    rows = np.arange(COUNT)
    split = Windower(plan(window=20, hop=10), "p").take(block(rows, held=held))
    assert split.held is not None
    assert split.positions[~split.held].tolist() == [19, 29, 39]
    assert split.positions[split.held].tolist() == [69, 79, 89]
    # What a window is called does not depend on what is held back.
    kept = np.isin(made.positions, split.positions)
    assert (made.X[kept] == split.X).all()


def test_no_window_runs_over_a_bad_record() -> None:
    letter = DeadLetter("malformed", "no", "p", "p", 30, b"")
    rows = np.delete(np.arange(COUNT), 30)
    made = Windower(plan(hop=20), "p").take(block(rows, dead=(letter,), records=COUNT))
    assert made.positions.tolist() == [19, 50, 70]
    assert (made.dead, made.records) == ((letter,), COUNT)


@pytest.mark.parametrize("ends", [[], [30], [31], [30, 31]])
def test_samples_that_are_not_finite_are_bad_records(ends: list[int]) -> None:
    X = SIGNAL.copy()
    X[30] = np.nan
    made = cut(Windower(plan(hop=20), "p"), ends, X=X)
    assert np.concatenate([b.positions for b in made]).tolist() == [19, 50, 70]
    (letter,) = [letter for b in made for letter in b.dead]
    assert (letter.reason, letter.position, letter.partition) == ("refused", 30, "p")


def test_nodes_named_by_records_have_windows_of_their_own() -> None:
    keys = ["a" if i % 2 else "b" for i in range(COUNT)]
    rows = np.arange(COUNT)
    made = Windower(plan(hop=20), "p").take(block(rows, keys=keys))
    assert made.keys == ["b", "a", "b", "a"]
    assert made.positions.tolist() == [38, 39, 78, 79]


def test_a_record_may_hold_many_samples_of_a_channel() -> None:
    many = SIGNAL.reshape(-1, 9)
    y = np.ones(10)
    times = np.arange(10) + 100
    records = Block("p", 3, many, y, np.arange(10), times=times)
    made = Windower(plan(samples=9), "p").take(records)
    (single,) = cut(Windower(plan(), "p"), [])
    assert made.X.tobytes() == single.X.tobytes()
    assert made.positions.tolist() == [place // 9 for place in single.positions.tolist()]
    assert made.times is not None
    assert (made.times == made.positions + 100).all()


def test_each_channel_has_its_modes() -> None:
    two = np.column_stack([SIGNAL[:, 0], SIGNAL[::-1, 0]])
    made = cut(Windower(plan(), "p"), [], X=two)[0]
    single = cut(Windower(plan(), "p"), [])[0]
    assert made.X.shape[1] == len(plan().names(("x", "y"))) == 4
    assert (made.X[:, :2] == single.X).all()


def test_an_empty_tick_stays_a_tick() -> None:
    made = Windower(plan(), "p").take(block(np.arange(0), tick=7))
    assert (made.tick, made.X.shape, made.y.shape) == (7, (0, 2), (0,))


@pytest.mark.parametrize("wrong", [{"window": 7}, {"hop": 0}, {"samples": 0}])
def test_bad_plans_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        plan(**wrong)


def test_what_is_not_finite_of_one_node_leaves_windows_of_others_alone() -> None:
    X = SIGNAL.copy()
    X[31] = np.nan
    keys = ["a" if i % 2 else "b" for i in range(COUNT)]
    rows = np.arange(COUNT)
    made = Windower(plan(hop=20), "p").take(block(rows, X=X, keys=keys))
    assert made.keys == ["b", "a", "b"]
    assert made.positions.tolist() == [38, 71, 78]
    unread = DeadLetter("malformed", "no", "p", "p", 31, b"")
    rows, keys = np.delete(rows, 31), keys[:31] + keys[32:]
    made = Windower(plan(hop=20), "p").take(block(rows, keys=keys, dead=(unread,)))
    assert (made.keys, made.positions.tolist()) == (["b", "a"], [70, 71]), "whose it was: unknown"


def test_a_sensor_without_a_window_is_told_of_at_its_end() -> None:
    keys = ["a" if i < 15 else "b" for i in range(COUNT)]
    windower = Windower(plan(), "p")
    windower.take(block(np.arange(COUNT), keys=keys))
    last = Windower(plan(), "p", windower.export()).end()
    assert last is not None
    assert (last.tick, len(last.y)) == (-1, 0)
    (letter,) = last.dead
    assert (letter.reason, letter.position) == ("no_window", 14)
    assert letter.detail == "a gave no window: 15 samples are left, signal.window is 20"
    one = Windower(plan(), "p")
    one.take(block(np.arange(COUNT)))
    assert one.end() is None
