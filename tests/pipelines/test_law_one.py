"""Law 1, on the command line: one answer, whatever runs it and whatever is killed."""

from pathlib import Path

import pytest

from tests.pipelines.jobs import (
    SETTINGS,
    arrays,
    finish,
    kill,
    models,
    reference,
    resolved,
    round_of,
    start,
    wait_for,
    workers,
)

# The last moment is 50 rounds before the end, so that no job is done before it is struck.
JOB = [*SETTINGS, "source.rows=4200"]
FIRST_EPOCH = -2
MOMENTS = [FIRST_EPOCH, 4, 34, 69, 124]


@pytest.fixture(scope="module")
def truth() -> dict[str, dict[str, bytes]]:
    run = reference(resolved(JOB))
    return {node: arrays(learner.model()) for node, learner in run.learners.items()}


def test_four_workers_in_two_processes(tmp_path: Path) -> None:
    # Four threads on two cores wait for each other at every round: fewer rounds will do.
    short = [*SETTINGS, "source.rows=1200"]
    finish(start(tmp_path, "--processes", "2", "--workers", "2", settings=short))
    run = reference(resolved(short))
    assert models(tmp_path) == {n: arrays(learner.model()) for n, learner in run.learners.items()}


@pytest.mark.parametrize("how", [(), ("--workers", "2"), ("--processes", "2")])
def test_flow_equals_loop(tmp_path: Path, truth: object, how: tuple[str, ...]) -> None:
    finish(start(tmp_path, *how, settings=JOB))
    assert models(tmp_path) == truth


def until(folder: Path, moment: int, processes: int) -> None:
    """Wait for a moment of the run; the first epoch is as soon as all processes exist."""
    wait_for(lambda: len(workers(folder)) == processes)
    if moment != FIRST_EPOCH:
        wait_for(lambda: round_of(folder) >= moment)


@pytest.mark.parametrize("moment", MOMENTS)
def test_one_process_killed_and_restarted(tmp_path: Path, truth: object, moment: int) -> None:
    job = start(tmp_path, "--processes", "2", settings=JOB)
    until(tmp_path, moment, 2)
    kill([workers(tmp_path)[moment % 2]])
    assert "restarting" in finish(job)
    assert models(tmp_path) == truth


@pytest.mark.parametrize(("moment", "resume"), list(zip(MOMENTS, "12212", strict=True)))
def test_everything_killed_and_resumed_by_others(
    tmp_path: Path, truth: object, moment: int, resume: str
) -> None:
    job = start(tmp_path, "--processes", "2", settings=JOB)
    until(tmp_path, moment, 2)
    kill([job.pid, *workers(tmp_path).values()])
    job.communicate(timeout=60)
    wait_for(lambda: not workers(tmp_path))
    finish(start(tmp_path, "--resume", "--workers", resume, settings=JOB))
    assert models(tmp_path) == truth
