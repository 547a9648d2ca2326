"""What nodes, sources and outputs log: changes, each once, with node and partition."""

import json
import logging
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from connectors.kafka.progress import Progress
from connectors.kafka.sink_progress import SinkProgress
from operators.ears import Ears
from operators.node_core import NodeCore
from operators.silence import Silence
from pipelines.cli.watcher import Watcher
from pipelines.config import default_job
from pipelines.run_dir import RunDirectory


@pytest.fixture(autouse=True)
def everything(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "anabranch")


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, str]]:
    """Give part, level and message of what was logged since the last look."""
    found = [(r.name.partition(".")[2], r.levelname, r.getMessage()) for r in caplog.records]
    caplog.clear()
    return found


def test_a_neighbour_is_silent_once_and_heard_again_once(caplog: pytest.LogCaptureFixture) -> None:
    ears = Ears.of(["b", "c", "d"])
    for name in ("b", "c"):
        ears.hear(name, None)
    silence = Silence("a", ears)
    silence.note(["b", "c", "d"])
    silence.note(["b"])  # d was never heard: it may be starting
    assert [record.node for record in caplog.records] == ["a"]  # type: ignore[attr-defined]
    silent = ("exchange", "WARNING", "neighbour 'c' is silent and left out")
    assert told(caplog) == [silent]
    silence.note(["b"])
    assert told(caplog) == []
    silence.note(["c"])
    assert told(caplog) == [
        ("exchange", "WARNING", "neighbour 'b' is silent and left out"),
        ("exchange", "INFO", "neighbour 'c' is heard again"),
    ]


def test_a_partition_is_told_when_it_fails_and_when_it_can_be_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    progress = Progress()
    progress.open("wear:0", 0)
    for error in ("no leader", "no leader for 10 s", None, None):
        progress.fail("wear:0", error)
    assert {record.partition for record in caplog.records} == {"wear:0"}  # type: ignore[attr-defined]
    again = ("source", "INFO", "partition wear:0 can be read again")
    assert told(caplog) == [("source", "WARNING", "no leader"), again]
    for away in ("nobody answers", "nobody answers for 10 s", None, None):
        progress.miss(away)
    gone, back = ("WARNING", "nobody answers"), ("INFO", "the brokers answer again")
    assert told(caplog) == [("source", *gone), ("source", *back)]


def test_an_output_is_told_when_it_stands_and_when_it_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    calm, stuck = SinkProgress("scores", quiet=3600.0), SinkProgress("scores", quiet=0.0)
    for progress in (calm, stuck):
        progress.hand_over(2)
        progress.explain("the brokers are slow")
        progress.explain("the brokers are slow")
        progress.acknowledge(1)
        progress.acknowledge(1)
    assert told(caplog) == [
        ("output", "WARNING", "topic 'scores' takes no records: the brokers are slow"),
        ("output", "INFO", "topic 'scores' takes records again"),
    ]


def test_a_node_that_diverges_is_told_and_when_it_speaks_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    core: Any = SimpleNamespace(node="n07", silent=False)
    letters = [
        NodeCore._notice_silence(core, round, silent)
        for round, silent in enumerate((False, True, True, False))
    ]
    assert [len(made) for made in letters] == [0, 1, 0, 0]
    assert [(record.node, record.round) for record in caplog.records] == [("n07", 1), ("n07", 3)]  # type: ignore[attr-defined]
    assert [(part, level) for part, level, _ in told(caplog)] == [
        ("node", "ERROR"),
        ("node", "INFO"),
    ]


def test_what_health_was_judged_by_is_told_once_in_a_while_at_debug(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    run_dir = RunDirectory(tmp_path)
    watcher = Watcher(default_job(), run_dir, print)
    status = {"process": 0, "clock": time.monotonic(), "samples": 7, "partitions": {}}
    run_dir.status_of(0).write_text(json.dumps(status))
    watcher.update()
    watcher.lost("it was killed")  # looks again at once
    judged = [one for one in caplog.records if one.levelno == logging.DEBUG]
    assert [one.getMessage() for one in judged] == ["judged green by what process 0 tells"]
    assert judged[0].samples == 7  # type: ignore[attr-defined]
