"""Warnings that repeat are counted instead of repeated."""

import logging
import time

import pytest

from pipelines.config.durations import Duration
from pipelines.config.logs import Logs
from pipelines.logs import logged, read_line

log = logging.getLogger("anabranch.exchange")
HOUR = Logs(repeat_after=Duration(3600))


def messages(lines: list[str]) -> list[str]:
    return [line.message for text in lines if (line := read_line(text)) is not None]


def test_the_same_warning_is_told_once_and_counted_at_the_end() -> None:
    lines: list[str] = []
    with logged(HOUR, lines.append):
        for _ in range(38):
            log.warning("neighbour %r is silent", "n05", extra={"node": "n03"})
        assert len(lines) == 1
    assert messages(lines) == [
        "neighbour 'n05' is silent",
        "neighbour 'n05' is silent (37 more in 3600 s)",
    ]


def test_a_thousand_nodes_that_fail_alike_are_ten_lines_and_a_count() -> None:
    lines: list[str] = []
    with logged(HOUR, lines.append):
        for number in range(1000):
            log.error("it failed", extra={"node": f"n{number}"})
        assert len(lines) == 10
    assert messages(lines)[-1] == "it failed (990 more in 3600 s)"


def test_the_count_is_told_when_the_time_is_over_and_then_all_begins_anew() -> None:
    lines: list[str] = []
    with logged(Logs(repeat_after=Duration(0.05)), lines.append):
        for _ in range(3):
            log.warning("late")
        deadline = time.monotonic() + 30
        while len(lines) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        log.warning("late")
        assert messages(lines) == ["late", "late (2 more in 0.05 s)", "late"]


@pytest.mark.parametrize(
    ("part", "level"),
    [("exchange", logging.INFO), ("exchange", logging.CRITICAL), ("health", logging.ERROR)],
)
def test_changes_and_lines_below_a_warning_are_never_held_back(part: str, level: int) -> None:
    lines: list[str] = []
    with logged(HOUR, lines.append):
        for _ in range(3):
            logging.getLogger(f"anabranch.{part}").log(level, "again")
    assert messages(lines) == ["again"] * 3


def test_other_warnings_are_told_meanwhile() -> None:
    lines: list[str] = []
    with logged(HOUR, lines.append):
        for _ in range(2):
            log.warning("one")
            log.warning("two")
            logging.getLogger("anabranch.source").warning("one")
    assert messages(lines)[:3] == ["one", "two", "one"]
    assert sum("1 more" in message for message in messages(lines)) == 3


def test_a_time_of_zero_holds_nothing_back() -> None:
    lines: list[str] = []
    with logged(Logs(repeat_after=Duration(0)), lines.append):
        for _ in range(3):
            log.warning("again")
    assert len(lines) == 3
