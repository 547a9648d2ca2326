"""Whole runs of the real command in a process of its own: exit codes, signals, kills."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.run_dir import RunDirectory
from tests.conftest import ROOT

PROGRAM = "from pipelines.cli import main; main()"
SMALL = ("network.nodes=5", "learner.kernel=linear", "job.run_dir=out", "output.report=false")


def start(folder: Path, *settings: str, words: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    given = [word for setting in (*SMALL, *settings) for word in ("--set", setting)]
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "run", *given, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    stdout, stderr = process.communicate(timeout=100)
    return process.returncode, stdout, stderr


def wait_for(what: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not what():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def learned(folder: Path) -> int:
    return int(RunDirectory(folder / "out").final_rows().get("cooperative", {}).get("samples", 0))


def worker_pids(process: subprocess.Popen[str]) -> list[int]:
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not path.exists():
        pytest.skip("needs /proc to find the processes of a job")
    return [int(pid) for pid in path.read_text(encoding="utf-8").split()]


def final(folder: Path) -> dict[str, Any]:
    row = RunDirectory(folder / "out").final_rows()["cooperative"]
    return {key: row[key] for key in ("round", "samples", "scores", "confusion", "disagreement")}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [f"{i % 7},{i % 5},{1 + i % 3}" if i % 50 else "x,1,1" for i in range(1, 1001)]
    (tmp_path / "data.csv").write_text("a,b,y\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path


def test_a_file_with_bad_records_is_done(data: Path) -> None:
    words = ("--source", "data.csv")
    code, stdout, stderr = finish(start(data, "learner.ranks=3", words=words))
    assert (code, stderr) == (0, "")
    assert "20 dead letters (not_numeric 20): " in stdout
    summary = json.loads((data / "out/summary.json").read_text(encoding="utf-8"))
    assert (summary["samples"], summary["stopped"]) == (980, "end")
    assert sorted(path.stem for path in (data / "out/models").iterdir()) == [
        f"n0{i}" for i in range(5)
    ]
    again, _, told = finish(start(data, "learner.ranks=3", words=words))
    assert again == 2
    assert "holds a run" in told


def test_bad_input_can_stop_a_run(data: Path) -> None:
    words = ("--source", "data.csv", "--on-bad-input", "stop")
    code, _, stderr = finish(start(data, "learner.ranks=3", words=words))
    assert code == 3
    assert "record 49: field 'a' is 'x', not a number" in stderr
    assert "Traceback" not in stderr


def test_a_signal_drains_and_resume_goes_on(data: Path) -> None:
    settings = [
        *("learner.ranks=3", "source.follow=true", "recovery.dir=state"),
        *("exchange.mode=synchronous", "evaluation.every=5"),
    ]
    words = ("--source", "data.csv")
    process = start(data, *settings, words=words)
    wait_for(lambda: learned(data) > 200, process)
    process.terminate()
    code, stdout, stderr = finish(process)
    assert (code, stderr) == (0, "")
    assert "stopped by a signal; --resume continues it" in stdout
    before = learned(data)
    with (data / "data.csv").open("a", encoding="utf-8") as file:
        file.write("1,2,1\n" * 500)
    process = start(data, *settings, words=(*words, "--resume"))
    wait_for(lambda: learned(data) > before + 300, process)
    process.send_signal(signal.SIGINT)
    assert finish(process)[0] == 0


def test_a_lost_process_ends_a_run_without_recovery(tmp_path: Path) -> None:
    settings = ("source.rows=", "exchange.mode=synchronous")
    process = start(tmp_path, *settings, words=("--processes", "2"))
    wait_for(lambda: learned(tmp_path) > 0, process)
    os.kill(worker_pids(process)[1], signal.SIGKILL)
    code, _, stderr = finish(process)
    assert code == 4
    assert "process 1 was killed by SIGKILL" in stderr


def test_a_lost_process_changes_nothing_with_recovery(tmp_path: Path) -> None:
    calm, struck = tmp_path / "calm", tmp_path / "struck"
    calm.mkdir()
    struck.mkdir()
    settings = (
        "source.rows=8000",
        "evaluation.every=20",
        "recovery.dir=state",
        "recovery.snapshot_every=300ms",
    )
    assert finish(start(calm, *settings))[0] == 0
    process = start(struck, *settings, words=("--processes", "2"))
    wait_for(lambda: learned(struck) > 0, process)
    os.kill(worker_pids(process)[0], signal.SIGKILL)
    code, stdout, stderr = finish(process)
    assert (code, stderr) == (0, "")
    assert "process 0 was killed by SIGKILL; restarting all processes" in stdout
    assert final(struck) == final(calm)
