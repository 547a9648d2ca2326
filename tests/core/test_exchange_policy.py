"""When nodes speak, and what it costs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from anabranch.errors import ConfigurationError
from anabranch.exchange import Policy, Speaker, wire_size
from anabranch.protocol import Array, Message
from tests.core.scripted import Scripted


@settings(deadline=None)
@given(every=st.integers(1, 9), always=st.integers(0, 20), start=st.integers(0, 200))
def test_one_exchange_in_every_n_rounds_after_the_warm_up(
    every: int, always: int, start: int
) -> None:
    policy = Policy(every=every, always_until=always)
    assert all(policy.exchanges(t) for t in range(always))
    window = range(always + start, always + start + every)
    assert sum(policy.exchanges(t) for t in window) == 1


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"kind": "sometimes"}, "policy"),
        ({"every": 0}, "every"),
        ({"tolerance": -0.1}, "tolerance"),
        ({"tolerance": float("nan")}, "tolerance"),
        ({"tolerance": float("inf")}, "tolerance"),
    ],
)
def test_impossible_policies_are_refused(options: dict[str, object], key: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"exchange\.{key}.*allowed"):
        Policy(**options)  # type: ignore[arg-type]


def spoken(policy: Policy, path: list[list[float]], speaker: Speaker | None = None) -> list[bool]:
    speaker = speaker or Speaker(policy)
    node = Scripted()
    said = []
    for t, theta in enumerate(path):
        node.w = np.array(theta)
        said.append(speaker.due(t, node))
    return said


def test_who_speaks_every_round_always_does() -> None:
    assert spoken(Policy(), [[0.0], [0.0], [np.nan]]) == [True] * 3


def test_an_event_is_a_relative_move_since_the_last_broadcast() -> None:
    path = [[3.0, 4.0], [3.0, 4.5], [3.0, 5.0], [3.0, 5.01], [3.0, 4.0]]
    # 0.5 = 10 % of 5 is not above it; 1.0 is; then nothing; then 1 of 5.83.
    assert spoken(Policy("event", tolerance=0.1), path) == [True, False, True, False, True]


def test_slow_moves_add_up() -> None:
    said = spoken(Policy("event", tolerance=0.1), [[1.0 + 0.03 * t] for t in range(8)])
    assert said == [True, False, False, False, True, False, False, False]


def test_tolerance_zero_means_any_change() -> None:
    assert spoken(Policy("event"), [[0.0], [0.0], [1e-12], [1e-12]]) == [True, False, True, False]


def test_everybody_speaks_in_the_warm_up() -> None:
    said = spoken(Policy("event", tolerance=1.0, always_until=3), [[1.0]] * 5)
    assert said == [True, True, True, False, False]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_diverged_node_is_due_so_that_its_silence_is_heard(bad: float) -> None:
    path = [[1.0, 2.0], [bad, 2.0], [bad, 2.0], [1.0, 2.0], [1.0, 2.0]]
    said = spoken(Policy("event", tolerance=5.0), path)
    assert said == [True, True, True, True, False]


def test_the_memory_is_a_copy_and_survives_a_snapshot() -> None:
    policy, path = Policy("event", tolerance=0.1), [[1.0 + 0.03 * t] for t in range(12)]
    whole = spoken(policy, path)
    first = Speaker(policy)
    assert first.export() is None
    assert spoken(policy, path[:6], first) == whole[:6]
    memory = first.export()
    second = Speaker(policy)
    second.restore(memory)
    assert spoken(policy, path[6:], second) == whole[6:]
    assert memory is not None
    assert memory == path[4]


def test_other_parameters_are_always_news() -> None:
    assert spoken(Policy("event", tolerance=9.0), [[1.0], [1.0, 1.0]]) == [True, True]


floats = arrays(np.float64, st.integers(0, 30), elements=st.sampled_from([0.0, -0.0, 1.0, -2.5]))


@settings(deadline=None)
@given(st.lists(floats, max_size=4))
def test_wire_size_is_the_smaller_form_of_each_array(parts: list[Array]) -> None:
    message = Message({str(i): part for i, part in enumerate(parts)})
    expected = sum(min(8 * len(part), 12 * sum(v != 0.0 for v in part)) for part in parts)
    assert wire_size(message) == expected


def test_wire_size_knows_the_type() -> None:
    assert wire_size(Message({"w": np.ones(10, dtype=np.float32)})) == 40
    assert wire_size(Message({"w": np.eye(4, dtype=np.int8)})) == 16
    assert wire_size(Message({})) == 0
