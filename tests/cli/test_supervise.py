"""The supervisor, with real processes, real signals and real kills."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pipelines import supervise as supervising
from pipelines import worker
from pipelines.stopping import Signals
from pipelines.supervise import Outcome, free_ports, supervise
from tests.conftest import ROOT

Script = list[list[str]]
Run = Callable[..., tuple[Outcome, list[str]]]


def write_script(folder: Path, script: Script) -> Path:
    job = folder / "job.json"
    job.write_text(json.dumps(script), encoding="utf-8")
    return job


def starts(folder: Path, process: int = 0) -> list[dict[str, object]]:
    path = folder / f"starts-{process}"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def wait_for(what: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def alive(pid: object) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    def start(script: Script, restarts: int = 0) -> tuple[Outcome, list[str]]:
        said: list[str] = []
        outcome = supervise(
            write_script(tmp_path, script),
            len(script),
            restarts=restarts,
            log=lambda process: tmp_path / f"log-{process}",
            module="tests.cli.fake_worker",
            say=said.append,
            grace=0.5,
            pauses=[0.01],
        )
        return outcome, said

    return start


@pytest.mark.parametrize(
    ("script", "code", "reason"),
    [
        ([["exit 0"]], 0, ""),
        ([["exit 2"]], 2, "process 0 was stopped by a wrong configuration"),
        ([["exit 3"]], 3, "process 0 was stopped by bad input"),
        ([["exit 1"]], 1, "process 0 ended with exit code 1"),
        ([["exit 77"]], 1, "process 0 ended with exit code 77"),
        ([["kill"]], 1, "process 0 was killed by SIGKILL"),
        ([["exit 0"], ["exit 0"]], 0, ""),
        ([["sleep 60"], ["kill"]], 4, "process 1 was killed by SIGKILL"),
        ([["exit 1"], ["kill"]], 4, "process 1 was killed by SIGKILL"),
        ([["exit 1"], ["exit 3"]], 3, "process 1 was stopped by bad input"),
        ([["exit 1"], ["exit 2"]], 2, "process 1 was stopped by a wrong configuration"),
        ([["exit 1"], ["stubborn"]], 4, "process 0 ended with exit code 1"),
    ],
)
def test_exit_codes(run: Run, script: Script, code: int, reason: str) -> None:
    assert run(script) == (Outcome(code, reason), [])


def test_what_processes_are_given(run: Run, tmp_path: Path) -> None:
    run([["exit 0"]])
    job = str(tmp_path / "job.json")
    assert starts(tmp_path)[0]["arguments"] == [job, "--process", "0"]
    assert (tmp_path / "log-0").read_text(encoding="utf-8") == "leaving 0\n"


def test_processes_share_addresses(run: Run, tmp_path: Path) -> None:
    run([["exit 0"], ["exit 0"]])
    first, second = (starts(tmp_path, process)[0]["arguments"] for process in (0, 1))
    assert isinstance(first, list)
    assert isinstance(second, list)
    assert first[1:3] == ["--process", "0"]
    assert second[1:3] == ["--process", "1"]
    assert first[3:] == second[3:]
    assert len(set(first[4].split(";"))) == 2


def test_all_are_restarted_when_one_dies(run: Run, tmp_path: Path) -> None:
    outcome, said = run([["sleep 60", "exit 0"], ["kill", "exit 0"]], restarts=2)
    assert outcome == Outcome(0)
    assert said == [
        "process 1 was killed by SIGKILL; restarting all processes from the last snapshot in 0 s "
        "(1 of 2)"
    ]
    assert [len(starts(tmp_path, process)) for process in (0, 1)] == [2, 2]


def test_restarts_end(run: Run, tmp_path: Path) -> None:
    outcome, said = run([["kill"]], restarts=2)
    assert outcome == Outcome(1, "process 0 was killed by SIGKILL")
    assert len(said) == 2
    assert len(starts(tmp_path)) == 3


def test_restarts_count_no_more_once_the_job_has_lived_long(tmp_path: Path) -> None:
    said: list[str] = []
    outcome = supervise(
        write_script(tmp_path, [["kill", "kill", "kill", "exit 0"]]),
        restarts=1,
        log=lambda process: tmp_path / f"log-{process}",
        module="tests.cli.fake_worker",
        say=said.append,
        pauses=[0.01],
        forget=0.0,
    )
    assert (outcome, len(said)) == (Outcome(0), 3)


def test_restarts_in_a_row_come_ever_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(supervising, "_rest", lambda wait, plan, signals: waits.append(wait))
    monkeypatch.setattr(supervising, "_run_once", lambda plan, signals: Outcome(1, "died"))
    said: list[str] = []
    outcome = supervise(tmp_path, log=lambda _: tmp_path, restarts=5, say=said.append)
    assert (outcome, waits) == (Outcome(1, "died"), [1.0, 10.0, 60.0, 60.0, 60.0])
    assert said[1] == "died; restarting it from the last snapshot in 10 s (2 of 5)"


def test_a_signal_ends_the_wait_for_a_restart(tmp_path: Path) -> None:
    looks: list[str] = []

    def watch() -> None:
        if looks:
            assert looks.pop() == "died", "it waits on"
            looks.append("asked to stop")
            signal.raise_signal(signal.SIGTERM)

    outcome = supervise(
        write_script(tmp_path, [["kill"]]),
        log=lambda process: tmp_path / f"log-{process}",
        module="tests.cli.fake_worker",
        restarts=1,
        pauses=[600.0],
        lost=lambda reason: looks.append("died"),
        watch=watch,
    )
    assert outcome == Outcome(0, signalled=True)
    assert (looks, len(starts(tmp_path))) == (["asked to stop"], 1)


@pytest.mark.parametrize("code", [2, 3])
def test_no_restart_repeats_a_mistake(run: Run, tmp_path: Path, code: int) -> None:
    outcome, said = run([[f"exit {code}"]], restarts=2)
    assert (outcome.code, said, len(starts(tmp_path))) == (code, [], 1)


def start_supervisor(folder: Path, script: Script, restarts: int = 0) -> subprocess.Popen[str]:
    job = write_script(folder, script)
    arguments = [str(job), str(len(script)), str(restarts)]
    command = [sys.executable, "-m", "tests.cli.fake_supervisor", *arguments]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
    )


def ready(folder: Path, processes: int, times: int = 1) -> bool:
    logs = [folder / f"log-{process}" for process in range(processes)]
    return all(log.exists() and log.read_text("utf-8").count("ready") >= times for log in logs)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_passed_to_every_process(tmp_path: Path, number: signal.Signals) -> None:
    supervisor = start_supervisor(tmp_path, [["drain"], ["drain"]], restarts=3)
    wait_for(lambda: ready(tmp_path, 2))
    supervisor.send_signal(number)
    assert supervisor.wait(20) == 0
    assert [len(starts(tmp_path, process)) for process in (0, 1)] == [1, 1]


def test_a_signal_to_one_process_alone_stops_all(tmp_path: Path) -> None:
    supervisor = start_supervisor(tmp_path, [["drain"], ["drain"], ["drain"]], restarts=3)
    wait_for(lambda: ready(tmp_path, 3))
    pid = starts(tmp_path, 1)[0]["pid"]
    assert isinstance(pid, int)
    os.kill(pid, signal.SIGTERM)
    output, _ = supervisor.communicate(timeout=20)
    assert (supervisor.returncode, output.splitlines()) == (
        0, ["a process was told to stop: all stop after the ticks already read", ""]
    )  # fmt: skip
    assert [len(starts(tmp_path, process)) for process in range(3)] == [1, 1, 1]


def test_a_signal_to_the_only_process_is_told_as_one(tmp_path: Path) -> None:
    def stop() -> None:
        if ready(tmp_path, 1):
            os.kill(cast(int, starts(tmp_path)[0]["pid"]), signal.SIGTERM)

    outcome = supervise(
        write_script(tmp_path, [["drain"]]),
        log=lambda process: tmp_path / f"log-{process}",
        module="tests.cli.fake_worker",
        watch=stop,
    )
    assert outcome == Outcome(0, signalled=True)


def test_a_failure_while_stopping_is_told(tmp_path: Path) -> None:
    supervisor = start_supervisor(tmp_path, [["drain 1"]], restarts=3)
    wait_for(lambda: ready(tmp_path, 1))
    supervisor.terminate()
    output, _ = supervisor.communicate(timeout=20)
    assert supervisor.returncode == 1
    assert output.splitlines() == [
        "stopping after the ticks already read; again to kill",
        "process 0 ended with exit code 1",
    ]


def test_a_signal_before_a_process_has_begun_stops_cleanly(tmp_path: Path) -> None:
    supervisor = start_supervisor(tmp_path, [["sleep 60"], ["drain 1"]], restarts=3)
    wait_for(lambda: len(starts(tmp_path)) == 1 and (tmp_path / "log-1").exists())
    wait_for(lambda: "ready" in (tmp_path / "log-1").read_text(encoding="utf-8"))
    supervisor.terminate()
    assert supervisor.wait(20) == 0


def test_a_signal_heard_before_the_start_starts_nothing(tmp_path: Path) -> None:
    with Signals() as signals:
        signal.raise_signal(signal.SIGTERM)
        job = write_script(tmp_path, [["exit 0"]])
        outcome = supervise(job, log=lambda _: tmp_path / "log", signals=signals)
        assert outcome == Outcome(0, signalled=True)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert not (tmp_path / "log").exists()


def test_a_second_signal_kills(tmp_path: Path) -> None:
    supervisor = start_supervisor(tmp_path, [["stubborn"]])
    wait_for(lambda: len(starts(tmp_path)) == 1)
    time.sleep(0.2)
    supervisor.terminate()
    time.sleep(0.3)
    supervisor.terminate()
    assert supervisor.wait(20) == 130
    assert not alive(starts(tmp_path)[0]["pid"])


def test_processes_die_with_a_killed_supervisor(tmp_path: Path) -> None:
    supervisor = start_supervisor(tmp_path, [["stubborn"], ["drain"]])
    wait_for(lambda: all(len(starts(tmp_path, process)) == 1 for process in (0, 1)))
    pids = [starts(tmp_path, process)[0]["pid"] for process in (0, 1)]
    assert all(alive(pid) for pid in pids)
    os.kill(supervisor.pid, signal.SIGKILL)
    supervisor.wait(20)
    wait_for(lambda: not any(alive(pid) for pid in pids))


def test_a_process_killed_from_outside_brings_all_back(tmp_path: Path) -> None:
    supervisor = start_supervisor(tmp_path, [["drain"], ["drain"]], restarts=1)
    wait_for(lambda: ready(tmp_path, 2))
    pid = starts(tmp_path, 1)[0]["pid"]
    assert isinstance(pid, int)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: all(len(starts(tmp_path, process)) == 2 for process in (0, 1)))
    wait_for(lambda: ready(tmp_path, 2, times=2))
    supervisor.terminate()
    output, _ = supervisor.communicate(timeout=20)
    assert supervisor.returncode == 0
    assert output.startswith("process 1 was killed by SIGKILL; restarting all processes")


def test_ports_are_free_and_different() -> None:
    ports = free_ports(8)
    assert len(set(ports)) == 8


@pytest.mark.parametrize(("supervised", "left"), [("1", []), ("0", [130])])
def test_a_worker_leaves_a_second_signal_to_its_supervisor(
    monkeypatch: pytest.MonkeyPatch, supervised: str, left: list[int]
) -> None:
    """Service managers signal every process of a service, and the supervisor passes it on."""
    monkeypatch.setenv("ANABRANCH_SUPERVISED", supervised)
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    hub, gauges = SimpleNamespace(drain=Event()), SimpleNamespace(hurry=lambda: None)
    try:
        worker._drain_on_signals(cast(Any, SimpleNamespace(hub=hub, gauges=gauges)))
        os.kill(os.getpid(), signal.SIGTERM)
        assert hub.drain.is_set()
        assert codes == []
        os.kill(os.getpid(), signal.SIGTERM)
        assert codes == left
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
