"""Warnings of the processes reach the terminal, as they were written."""

import logging
from pathlib import Path

from pipelines.cli.worker_logs import WorkerLogs
from pipelines.config.logs import Logs
from pipelines.logs import logged
from pipelines.run_dir import RunDirectory

log = logging.getLogger("anabranch.output")


def write(path: Path, process: int) -> list[str]:
    lines: list[str] = []
    with logged(Logs(), lines.append, process=process):
        log.info("all is well")
        log.warning("no model file")
        log.critical("StoppedError: the topic is gone")
        try:
            raise ValueError("no such thing")
        except ValueError:
            log.critical("it failed", exc_info=True)
    with path.open("a") as file:
        file.writelines(f"{line}\n" for line in lines)
    return lines


def test_warnings_and_errors_are_given_once_without_tracebacks(tmp_path: Path) -> None:
    run_dir = RunDirectory(tmp_path)
    logs = WorkerLogs(run_dir, 2)
    assert logs.lines(now=True) == []
    written = write(run_dir.log(1), 1)
    assert logs.lines() == []  # it is not yet time to look again
    # Why the job was stopped is told at the end.
    assert logs.lines(now=True) == [written[1], written[3].splitlines()[0]]
    assert logs.lines(now=True) == []
    write(run_dir.log(0), 0)
    assert [line.split()[-1] for line in logs.lines(now=True)] == ["process=0"] * 2
