"""How a command ends where its disk is full at that moment."""

import errno
import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from pipelines.cli import run as run_command
from pipelines.config import load_job
from pipelines.run_dir import RunDirectory
from pipelines.stopping import Signals
from pipelines.supervise import STOPPED, Outcome

FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("outcome", "code", "told"),
    [
        (Outcome(4, "process 0 ended with exit code 1"), 4, "process 0 ended with exit code 1"),
        (Outcome(0), STOPPED, "summary.json cannot be written: No space left on device"),
    ],
)
def test_a_full_disk_does_not_hide_why_a_job_has_ended(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    outcome: Outcome,
    code: int,
    told: str,
) -> None:
    def refuse(*args: Any, **more: Any) -> None:
        raise FULL

    job, run = load_job(None, [f"job.run_dir={tmp_path}"]), RunDirectory(tmp_path)
    run.scores.write_text('{"learner": "cooperative", "final": true}\n', encoding="utf-8")
    monkeypatch.setattr(run_command, "write_summary", refuse)
    monkeypatch.setattr(run_command, "write_page", refuse)
    monkeypatch.setattr(run_command, "_watched", lambda *args: outcome)
    assert run_command.perform(job, run, Console(file=io.StringIO()), Signals()) == code
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].endswith(told)
    assert lines[-1].startswith("no report: ")
