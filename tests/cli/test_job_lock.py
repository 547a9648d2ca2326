"""One `anabranch run` at a time in a run directory and in a folder of snapshots."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Timer

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from anabranch.errors import ConfigurationError
from pipelines.cli.app import app
from pipelines.cli.recovery import prepare_recovery
from pipelines.config import Job, JobSection, Recovery, default_job
from pipelines.lock import LOCK, folder_lock, hold_as_worker, job_lock
from pipelines.run_dir import RunDirectory
from pipelines.worker import run_process
from tests.conftest import ROOT

_HOLDER = """
import subprocess, sys, time
from pathlib import Path
from pipelines.lock import folder_lock
with folder_lock("job.run_dir", Path(sys.argv[1])):
    print(subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL).pid, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return replace(
        default_job(),
        job=JobSection(run_dir=str(tmp_path / "runs/wear")),
        recovery=Recovery(dir=str(tmp_path / "state")),
    )


@pytest.fixture
def held(job: Job) -> Iterator[Job]:
    with job_lock(job):
        yield job


def test_a_second_run_is_refused_by_run_directory_and_by_snapshots(
    held: Job, tmp_path: Path
) -> None:
    who = rf"which another `anabranch run` \(process {os.getpid()}\) uses; wait for its end"
    with pytest.raises(ConfigurationError, match=rf'^job\.run_dir is ".*wear", {who}'):
        held_again(held)
    other = replace(held, job=JobSection(run_dir=str(tmp_path / "runs/other")))
    with pytest.raises(ConfigurationError, match=rf'^recovery\.dir is ".*state", {who}'):
        held_again(other)
    assert not (tmp_path / "runs/other").exists()


def held_again(job: Job) -> None:
    with job_lock(job):
        pass


@pytest.mark.parametrize("how", [(), ("--resume",), ("--continue",), ("--overwrite",)])
def test_the_command_is_refused_however_it_begins(held: Job, how: tuple[str, ...]) -> None:
    settings = [f"job.run_dir={held.job.run_dir}", f"recovery.dir={held.recovery.dir}"]
    words = [word for setting in settings for word in ("--set", setting)]
    result = CliRunner().invoke(app, ["run", *words, *how])
    assert result.exit_code == 2
    assert f"(process {os.getpid()}) uses" in result.output
    assert [path.name for path in Path(held.job.run_dir).iterdir()] == [LOCK]


def test_a_folder_that_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        pytest.raises(ConfigurationError, match="which cannot be written: File name too long"),
        folder_lock("job.run_dir", tmp_path / ("r" * 300)),
    ):
        pass

    def full(file: int, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with (
        pytest.raises(ConfigurationError, match="which cannot be written: No space left on device"),
        folder_lock("job.run_dir", tmp_path / "r"),
    ):
        pass
    assert not (tmp_path / "r").exists()


def test_damaged_snapshots_are_not_pruned(job: Job) -> None:
    prepare_recovery(job)
    (Path(str(job.recovery.dir)) / "part-1.sqlite3").write_bytes(b"garbage" * 1000)
    result = CliRunner().invoke(app, ["state", str(job.recovery.dir), "--prune"])
    assert result.exit_code == 2
    assert "cannot be read: part-1.sqlite3 is damaged" in result.output


def test_snapshots_in_use_are_not_pruned(held: Job) -> None:
    prepare_recovery(held)
    result = CliRunner().invoke(app, ["state", str(held.recovery.dir), "--prune"])
    assert result.exit_code == 2
    assert f"(process {os.getpid()}) uses" in result.output


def test_a_folder_is_free_afterwards_and_as_it_was(job: Job, tmp_path: Path) -> None:
    same = replace(job, recovery=Recovery(dir=job.job.run_dir))  # locked once, not against itself
    for one in (job, job, same):
        held_again(one)
    with pytest.raises(RuntimeError):
        fail_within(job)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["runs", "scores.jsonl", "wear"]


def fail_within(job: Job) -> None:
    with job_lock(job):
        Path(job.job.run_dir, "scores.jsonl").touch()
        raise RuntimeError


def test_a_killed_command_holds_nothing_nor_do_its_children(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _HOLDER, str(tmp_path)]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT)
    assert holder.stdout is not None
    child = int(holder.stdout.readline())
    with pytest.raises(ConfigurationError, match=f"process {holder.pid}"):
        enter(tmp_path)
    holder.kill()
    holder.communicate()
    enter(tmp_path)
    os.kill(child, signal.SIGKILL)  # it was there all the time


def enter(folder: Path, wait: float = 10.0) -> None:
    with folder_lock("job.run_dir", folder, wait=wait):
        pass


def test_processes_that_a_killed_run_left_are_waited_for(job: Job) -> None:
    run_dir = Path(job.job.run_dir)
    run_dir.mkdir(parents=True)
    left = ExitStack()
    hold_as_worker(job, left)
    with pytest.raises(ConfigurationError, match=r"a run that was killed have not ended within 0"):
        enter(run_dir, wait=0.0)
    Timer(0.2, left.close).start()
    enter(run_dir)
    assert not list(run_dir.parent.rglob("*lock"))


def test_a_process_of_a_job_holds_its_folders_from_the_start(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    RunDirectory.of(job).prepare(job)

    def looked(job: Job, process: int) -> None:
        enter(Path(job.job.run_dir), wait=0.0)

    monkeypatch.setattr("pipelines.flow.build_flow", looked)
    with (
        ExitStack() as held,
        pytest.raises(ConfigurationError, match="have not ended"),
    ):
        run_process(RunDirectory.of(job).job, 0, None, held)
    enter(Path(job.job.run_dir))
