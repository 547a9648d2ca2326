"""Processes drained in the midst of a job, and started again afterwards."""

from pathlib import Path

import pytest

from pipelines.stopping import Signals
from pipelines.supervise import Interlude, Outcome, supervise
from tests.cli.test_supervise import Script, ready, starts, write_script
from tests.conftest import ROOT


class Once:
    """Something to be done once all processes are ready."""

    def __init__(self, folder: Path, processes: int, *, goes_on: bool = True) -> None:
        self.folder, self.processes, self.goes_on = folder, processes, goes_on
        self.acts = 0
        self.said: list[str] = []

    def due(self) -> bool:
        return not self.acts and ready(self.folder, self.processes, 1 + len(self.said))

    def act(self) -> bool:
        self.acts += 1
        return self.acts == 1 and self.goes_on


def run(
    folder: Path, script: Script, once: Once, restarts: int = 0, signals: Signals | None = None
) -> tuple[Outcome, list[str]]:
    outcome = supervise(
        write_script(folder, script),
        len(script),
        restarts=restarts,
        log=lambda process: folder / f"log-{process}",
        module="tests.cli.fake_worker",
        say=once.said.append,
        grace=0.5,
        pauses=[0.01],
        signals=signals,
        interlude=Interlude(once.due, once.act),
    )
    return outcome, once.said


@pytest.fixture(autouse=True)
def where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def test_all_are_drained_and_started_again_and_no_restart_is_spent(tmp_path: Path) -> None:
    once = Once(tmp_path, 2)
    script = [["drain", "exit 0"], ["drain", "exit 0"]]
    assert run(tmp_path, script, once) == (Outcome(0), [])
    assert [len(starts(tmp_path, process)) for process in (0, 1)] == [2, 2]
    assert once.acts == 2  # the second time nothing was left to be done


def test_a_job_that_is_not_to_go_on_ends(tmp_path: Path) -> None:
    assert run(tmp_path, [["drain"]], Once(tmp_path, 1, goes_on=False)) == (Outcome(0), [])
    assert len(starts(tmp_path)) == 1


def test_a_death_while_draining_is_a_death(tmp_path: Path) -> None:
    once = Once(tmp_path, 1)
    outcome, said = run(tmp_path, [["drain 1", "drain", "exit 0"]], once, restarts=1)
    assert outcome == Outcome(0)
    assert len(said) == 1
    assert len(starts(tmp_path)) == 3


def test_a_signal_meanwhile_stops_the_job_instead(tmp_path: Path) -> None:
    once = Once(tmp_path, 1)
    with Signals() as signals:

        def act() -> bool:
            signals.count = 1
            return True

        once.act = act  # type: ignore[method-assign]
        outcome, _ = run(tmp_path, [["drain", "exit 0"]], once, signals=signals)
    assert outcome == Outcome(0, signalled=True)
    assert len(starts(tmp_path)) == 1
