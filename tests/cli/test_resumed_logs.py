"""Logs of a resumed job: what its processes printed before stays, and is not told again."""

import resource
from pathlib import Path

import pytest

from pipelines.cli.closing import print_failure
from pipelines.cli.worker_logs import WorkerLogs
from pipelines.config import default_job
from pipelines.files import open_to_append
from pipelines.run_dir import RunDirectory
from pipelines.supervise import BAD_INPUT, Outcome, supervise
from tests.conftest import ROOT

FORMER = (
    "2026-11-30T15:38:49.032Z CRITICAL run      BadInputError: the former record\n"
    "2026-11-30T15:38:49.032Z WARNING run      cut sh"
)
LATER = "2026-11-30T16:38:49.032Z CRITICAL run      BadInputError: the later record\n"


def test_a_log_is_appended_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    job = tmp_path / "job.json"
    job.write_text('[["exit 0"]]', encoding="utf-8")
    log = RunDirectory(tmp_path).log(0)
    log.write_text(FORMER, encoding="utf-8")
    supervise(job, log=RunDirectory(tmp_path).log, module="tests.cli.fake_worker")
    assert log.read_text(encoding="utf-8") == f"{FORMER}\nleaving 0\n"


def test_a_log_on_a_full_disk_is_opened_all_the_same(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(FORMER, encoding="utf-8")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size, before[1]))
    try:
        open_to_append(log).close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert log.read_text(encoding="utf-8") == FORMER
    open_to_append(log).close()
    assert log.read_text(encoding="utf-8") == f"{FORMER}\n"


def test_what_was_told_before_is_not_told_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = RunDirectory(tmp_path)
    run.log(0).write_text(FORMER, encoding="utf-8")
    logs = WorkerLogs(run, 2)
    for process in (0, 1):
        with run.log(process).open("a", encoding="utf-8") as file:
            file.write(f"\n{LATER}{LATER.replace('BadInputError: ', '')}")
    told = logs.lines(now=True)
    assert [line.partition("  ")[2].strip() for line in told] == ["the later record"] * 2
    print_failure(default_job(), run, Outcome(BAD_INPUT, "stopped"), logs.begun)
    assert capsys.readouterr().err.splitlines()[1:] == ["the later record"]
