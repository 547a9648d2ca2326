"""Lines of the log: readable or JSON, with node and partition, and read again."""

import json
import logging

import pytest

from pipelines.config.logs import LogFormat, Logs
from pipelines.logs import Line, logged, plain_lines, read_line

exchange = logging.getLogger("anabranch.exchange")
run = logging.getLogger("anabranch.run")


@pytest.fixture(params=["text", "json"])
def form(request: pytest.FixtureRequest) -> LogFormat:
    found: LogFormat = request.param
    return found


def told(logs: Logs, *calls: tuple[logging.Logger, int, str, object]) -> list[str]:
    lines: list[str] = []
    with logged(logs, lines.append, process=1):
        for logger, level, text, argument in calls:
            logger.log(level, text, argument, extra={"node": "Ann Lee", "partition": "wear:3"})
    return lines


def test_a_line_for_people_has_everything() -> None:
    (line,) = told(Logs(), (exchange, logging.WARNING, "%s is silent", "n05"))
    time, _, rest = line.partition(" ")
    assert time.endswith("Z")
    assert rest == 'WARNING exchange n05 is silent  process=1 node="Ann Lee" partition=wear:3'


def test_a_json_line_has_the_same() -> None:
    (line,) = told(Logs(format="json"), (exchange, logging.WARNING, "%s is silent", "n05"))
    row = json.loads(line)
    assert row.pop("time").endswith("Z")
    assert row == {
        "level": "warning",
        "part": "exchange",
        "message": "n05 is silent",
        "process": 1,
        "node": "Ann Lee",
        "partition": "wear:3",
    }


@pytest.mark.parametrize(
    "message",
    ["plain", "with  two blanks  inside", 'key="value"', "ends in x=1", "100 %s of it", "ü {}"],
)
def test_a_line_is_read_again(form: LogFormat, message: str) -> None:
    (line,) = told(Logs(format=form), (run, logging.ERROR, "%s", message))
    assert read_line(line) == Line(logging.ERROR, "run", message)


def test_a_message_cannot_pass_for_a_line_of_its_own(form: LogFormat) -> None:
    forged = "bad\n2026-01-01T00:00:00.000Z ERROR   run      forged"
    (line,) = told(Logs(format=form), (run, logging.WARNING, "%s", forged))
    assert "\n" not in line


def test_a_traceback_is_kept_and_found_again(form: LogFormat) -> None:
    lines: list[str] = []
    with logged(Logs(format=form), lines.append):
        try:
            raise MemoryError("2 TiB")
        except MemoryError:
            run.critical("it ended", exc_info=True)
    said = [part for text in lines[0].splitlines() for part in plain_lines(text)]
    assert said[0] == "it ended"
    assert said[-1] == "MemoryError: 2 TiB"


@pytest.mark.parametrize("text", ["", "{", '{"level": 3}', "[1]", "Traceback (most recent", "{}"])
def test_what_is_no_line_is_none(text: str) -> None:
    assert read_line(text) is None
    assert plain_lines(text) == [text]


def test_levels_are_those_of_the_part_else_the_general_one() -> None:
    logs = Logs(level="warning", levels={"exchange": "debug"})
    lines = told(
        logs,
        (exchange, logging.DEBUG, "seen %s", 1),
        (run, logging.INFO, "unseen %s", 2),
        (run, logging.WARNING, "seen %s", 3),
    )
    assert [line.split("  process")[0].split(" ", 1)[1].split()[-2:] for line in lines] == [
        ["seen", "1"],
        ["seen", "3"],
    ]
    assert not exchange.isEnabledFor(logging.DEBUG)  # no longer than the context lasts
