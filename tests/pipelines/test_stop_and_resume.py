"""A first signal drains the job, a resume continues exactly, a second signal stops at once."""

import signal
from pathlib import Path

import pytest

from pipelines.run_dir import RunDirectory, read_lines
from tests.pipelines.jobs import (
    SETTINGS,
    arrays,
    finish,
    models,
    reference,
    resolved,
    round_of,
    start,
    wait_for,
)


@pytest.mark.parametrize(("first", "then"), [((), ("--processes", "2")), (("--workers", "2"), ())])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_drain_and_resume(
    tmp_path: Path, first: tuple[str, ...], then: tuple[str, ...], number: int
) -> None:
    out = tmp_path / "predictions.jsonl"
    job = [*SETTINGS, f"output.predictions={out}"]
    running = start(tmp_path, *first, settings=job)
    wait_for(lambda: round_of(tmp_path) >= 50)
    running.send_signal(number)
    assert "stopped by a signal" in finish(running)
    done = len(list(read_lines(out)))
    assert 0 < done < 6000
    # What was learned so far is scored and saved, whichever round each node had reached.
    row = RunDirectory(tmp_path / "run").final_rows()["cooperative"]
    assert row["drained"]
    assert row["samples"] == done
    assert set(models(tmp_path)) == {f"n{i:02d}" for i in range(6)}
    finish(start(tmp_path, "--resume", *then, settings=job))
    truth = reference(resolved())
    assert models(tmp_path) == {n: arrays(m.model()) for n, m in truth.learners.items()}
    rows = [(row["partition"], row["position"]) for row in read_lines(out)]
    assert len(rows) == len(set(rows)) == 6000


def test_a_finished_job_resumes_to_the_same_end(tmp_path: Path) -> None:
    finish(start(tmp_path))
    before = models(tmp_path)
    finish(start(tmp_path, "--resume", "--workers", "2"))
    assert models(tmp_path) == before


def test_a_second_signal_stops_at_once(tmp_path: Path) -> None:
    endless = [s for s in SETTINGS if "source.rows=" not in s]
    running = start(tmp_path, settings=endless)
    wait_for(lambda: round_of(tmp_path) >= 5)
    running.send_signal(signal.SIGTERM)
    running.send_signal(signal.SIGINT)
    finish(running, code=130, timeout=10)
