"""Alarms: raised when ranks have risen and stay, cleared when they have fallen and stay."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.alarms import Alarm, AlarmRule, AlarmWatch
from anabranch.errors import ConfigurationError
from anabranch.stream import Predictions


def watched(ranks: list[int], **rule: int) -> list[Alarm]:
    watch = AlarmWatch(AlarmRule(**rule), "n")
    return [alarm for at, rank in enumerate(ranks) for alarm in watch.see(rank, "p", at)]


def told(ranks: list[int], **rule: int) -> list[tuple[str, int, int, int, int]]:
    return [(a.kind, a.before, a.after, a.position, a.at) for a in watched(ranks, **rule)]


def test_a_rise_that_stays() -> None:
    assert told([1, 1, 1, 2, 2, 2, 2], stay=3) == [("raised", 1, 2, 3, 5)]


def test_a_rise_that_does_not_stay() -> None:
    assert told([1, 1, 1, 2, 2, 1, 3, 2, 1, 2], stay=3) == []


def test_the_rank_that_stays_is_the_lowest_of_the_rise() -> None:
    assert told([1, 1, 4, 3], stay=2) == [("raised", 1, 3, 2, 3)]


def test_a_further_rise_is_a_further_alarm() -> None:
    assert told([1, 1, 2, 2, 2, 3, 3], stay=2) == [("raised", 1, 2, 2, 3), ("raised", 2, 3, 5, 6)]


def test_small_rises_are_none() -> None:
    assert told([1, 1, 2, 2, 2, 3, 3], stay=2, rise=2) == [("raised", 1, 3, 5, 6)]


def test_an_alarm_ends_only_when_the_fall_stays() -> None:
    ranks = [1, 1, 3, 3, 1, 3, 1, 3, 1, 1, 3, 3]
    assert told(ranks, stay=2) == [
        ("raised", 1, 3, 2, 3), ("cleared", 3, 1, 8, 9), ("raised", 1, 3, 10, 11),
    ]  # fmt: skip


def test_a_fall_within_the_alarm_is_not_its_end() -> None:
    assert told([1, 1, 3, 3, 2, 2, 2], stay=2) == [("raised", 1, 3, 2, 3)]


def test_the_baseline_falls_but_does_not_creep_up() -> None:
    assert told([3, 3, 2, 2, 3, 3], stay=2) == [("raised", 2, 3, 4, 5)]
    assert told([1, 1, 2, 1, 2, 1, 2, 2], stay=2) == [("raised", 1, 2, 6, 7)]


def test_the_first_predictions_can_be_ignored() -> None:
    assert told([1, 1, 1, 3, 3, 3, 3], stay=2, ignore=3) == []


def test_shares_are_looked_at_row_by_row_and_held_ones_not_at_all() -> None:
    watch = AlarmWatch(AlarmRule(stay=2), "n")
    ranks = np.array([1, 1, 2, 2])
    times = np.arange(4) + 1000
    item = Predictions("n", 0, "q:1", np.arange(10, 14), ranks, ranks, times=times)
    (alarm,) = watch.take(item)
    assert alarm == Alarm("n", "raised", 1, 2, "q:1", 12, 1002, 13)
    held = Predictions("n", 1, "q:1", np.arange(4), ranks, np.array([4] * 4), held=True)
    assert not list(watch.take(held))


@given(st.lists(st.integers(1, 4), max_size=40), st.integers(0, 40), st.integers(1, 3))
def test_a_restart_changes_nothing(ranks: list[int], stop: int, stay: int) -> None:
    rule = AlarmRule(stay=stay)
    watch, found = AlarmWatch(rule, "n"), []
    for at, rank in enumerate(ranks):
        if at == stop:
            state = json.loads(json.dumps(watch.export()))
            watch = AlarmWatch.restore(rule, state)
        found.extend(watch.see(rank, "p", at))
    assert found == watched(ranks, stay=stay)


@given(st.lists(st.integers(1, 4), max_size=60), st.integers(1, 3), st.integers(1, 3))
def test_alarms_and_their_ends_take_turns(ranks: list[int], stay: int, rise: int) -> None:
    raised = None
    for alarm in watched(ranks, stay=stay, rise=rise):
        if alarm.kind == "raised":
            assert alarm.after - alarm.before >= rise
            assert raised in (None, alarm.before)
            raised = alarm.after
        else:
            assert raised == alarm.before > alarm.after
            raised = None
        assert alarm.at - alarm.position == stay - 1


@pytest.mark.parametrize("wrong", [{"rise": 0}, {"stay": 0}, {"ignore": -1}])
def test_bad_rules_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        AlarmRule(**wrong)
