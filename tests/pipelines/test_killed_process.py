"""A process that is frozen or killed turns a job's health red, until progress is made again."""

import json
import os
import re
import signal
from itertools import groupby
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from pipelines.run_dir import RunDirectory
from pipelines.supervise import free_ports
from tests.pipelines.jobs import SETTINGS, kill, start, wait_for, workers

FROZEN = re.compile(r"process 0 has not been heard of for \d+ s")
LONG = [*SETTINGS, "source.rows=50000000"]


def health(port: int) -> tuple[int, list[str]]:
    """Give the code of /health and its reasons; 0 while nobody answers."""
    try:
        with urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
            return answer.status, json.load(answer)["reasons"]
    except HTTPError as error:
        return error.code, json.load(error)["reasons"]
    except URLError:
        return 0, []


def test_a_frozen_and_a_killed_process_are_red_until_all_go_on_and_the_log_tells_it(
    tmp_path: Path,
) -> None:
    (port,) = free_ports(1)
    how = ("--processes", "2", "--http", str(port), "--log-format", "json")
    job = start(tmp_path, *how, settings=LONG)
    try:
        wait_for(lambda: health(port)[0] == 200 and sum(learned(tmp_path)) > 1000)
        frozen = workers(tmp_path)[0]
        os.kill(frozen, signal.SIGSTOP)
        wait_for(lambda: health(port)[0] == 503)
        assert any(FROZEN.fullmatch(reason) for reason in health(port)[1])
        os.kill(frozen, signal.SIGCONT)
        wait_for(lambda: health(port)[0] == 200)
        kill([workers(tmp_path)[1]])
        wait_for(lambda: health(port)[0] == 503)
        killed = "process 1 was killed by SIGKILL; started again, and no progress yet"
        assert killed in health(port)[1]
        wait_for(lambda: health(port)[0] == 200)
        assert sum(learned(tmp_path)) > 0
    finally:
        kill([job.pid, *workers(tmp_path).values()])
    printed, _ = job.communicate()
    lines = [json.loads(line) for line in printed.splitlines()]
    told = [line["message"].split(";")[0] for line in lines if line["part"] == "health"]
    states = [state for state, _ in groupby(told)]
    assert states[-2:] == ["health is red", "health is green"]
    assert any("restarting all processes" in line["message"] for line in lines)
    log = [json.loads(line) for line in (tmp_path / "run/process-0.log").open()]
    resumed = [line for line in log if line["part"] == "recovery"]
    assert len(resumed) == 1
    assert resumed[0]["round"] > 0
    assert {line["process"] for line in log} == {0}


def learned(folder: Path) -> list[int]:
    """Give what each process has learned since it began."""
    return [int(status["learned"]) for status in RunDirectory(folder / "run").read_statuses()]
