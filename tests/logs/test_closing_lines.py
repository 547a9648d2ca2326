"""Why a run failed is found in its processes' logs, whatever their form."""

import json
import logging
from pathlib import Path

import pytest
from msgspec.structs import replace

from pipelines.cli.closing import log_closing, log_failure, print_failure
from pipelines.config import Job, default_job
from pipelines.config.logs import LogFormat, Logs
from pipelines.logs import logged
from pipelines.run_dir import RunDirectory
from pipelines.supervise import CRASH, STOPPED, Outcome

STOP = Outcome(STOPPED, "process 0 was stopped by its source or an output")
WHY = "topic 't' was deleted: begin anew"


def failed(folder: Path, form: LogFormat) -> tuple[Job, RunDirectory]:
    """Leave the log of a process that was stopped, and one that ran out of memory."""
    run_dir = RunDirectory(folder)
    log = logging.getLogger("anabranch.run")
    with (
        run_dir.log(0).open("w") as file,
        logged(Logs(format=form), lambda line: print(line, file=file), process=0),
    ):
        log.critical("StoppedError: %s", WHY)
        try:
            raise MemoryError("unable to allocate 2 TiB")
        except MemoryError:
            log.critical("the dataflow failed", exc_info=True)
    return replace(default_job(), logs=Logs(format=form)), run_dir


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_sentence_is_printed_without_what_surrounds_it(
    tmp_path: Path, form: LogFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    job, run_dir = failed(tmp_path, form)
    print_failure(job, run_dir, STOP)
    assert capsys.readouterr().err.splitlines() == [f"{job.job.name}: {STOP.reason}", WHY]
    print_failure(job, run_dir, Outcome(CRASH, "process 0 ended with exit code 1"))
    assert "(unable to allocate 2 TiB)" in capsys.readouterr().err


def test_in_json_the_end_is_a_line_of_the_log(tmp_path: Path) -> None:
    job, run_dir = failed(tmp_path, "json")
    row = {"node": None, "learner": "cooperative", "scores": {"MAE": 0.5}, "final": True}
    run_dir.scores.write_text(json.dumps(row) + "\n")
    run_dir.summary.write_text(json.dumps({"samples": 70, "rounds": 9, "seconds": 2, "rate": 35}))
    lines: list[str] = []
    with logged(job.logs, lines.append):
        log_failure(job, run_dir, STOP)
        log_closing(job, run_dir, Outcome(0))
    failure, closing = map(json.loads, lines)
    assert (failure["level"], failure["code"]) == ("critical", STOPPED)
    assert failure["message"] == f"{STOP.reason}: {WHY}"
    assert closing["scores"] == {"cooperative": {"MAE": 0.5}}
    assert (closing["samples"], closing["rounds"]) == (70, 9)
    assert "70 samples in 2.0 s" in closing["message"]
