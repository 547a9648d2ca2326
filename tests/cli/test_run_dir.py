"""The run directory: what is written, what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from anabranch.errors import ConfigurationError
from pipelines.config import Job, JobSection, LearnerSection, Output, Parallel, Recovery, Source
from pipelines.resume import changed_keys
from pipelines.run_dir import RunDirectory, read_lines


def make_job(folder: Path, **sections: Any) -> Job:
    job = Job(
        source=Source(kind="linear", rows=10),
        job=JobSection(run_dir=str(folder)),
        learner=LearnerSection(options={"alpha": 0.9}),
        output=Output(dead_letters=str(folder / "dead_letters.jsonl")),
    )
    return replace(job, **sections)


def test_a_new_run_writes_its_job_and_environment(tmp_path: Path) -> None:
    run, job = RunDirectory(tmp_path / "a" / "b"), make_job(tmp_path / "a" / "b")
    run.prepare(job)
    assert run.read_job() == job
    environment = json.loads(run.environment.read_text(encoding="utf-8"))
    assert set(environment) == {"time", "python", "platform", "cpus", "libraries"}
    assert environment["libraries"]["numpy"]
    assert run.models.is_dir()


def test_a_second_run_needs_leave(tmp_path: Path) -> None:
    run, job = RunDirectory(tmp_path), make_job(tmp_path)
    run.prepare(job)
    with pytest.raises(ConfigurationError, match="holds a run; choose another, or give --overwri"):
        run.prepare(job)


def test_overwrite_deletes_what_a_run_left_and_nothing_else(tmp_path: Path) -> None:
    run, job = RunDirectory(tmp_path), make_job(tmp_path)
    run.prepare(job)
    left = [run.scores, run.summary, run.status_of(1), run.report, run.log(0)]
    left.append(run.models / "n00.npz")
    left.append(Path(job.output.dead_letters))
    mine = tmp_path / "notes.txt"
    for path in (*left, mine):
        path.write_text("{}", encoding="utf-8")
    run.prepare(job, overwrite=True)
    assert not any(path.exists() for path in left)
    assert mine.exists()


@pytest.mark.parametrize("key", ["dead_letters", "predictions", "alarms"])
def test_an_output_that_cannot_be_written_is_named(tmp_path: Path, key: str) -> None:
    run, job = RunDirectory(tmp_path / "run"), make_job(tmp_path / "run")
    run.prepare(job)
    run.scores.write_text("{}", encoding="utf-8")
    wrong = replace(job, output=replace(job.output, **{key: str(tmp_path)}))
    with pytest.raises(ConfigurationError, match=rf'output\.{key} is ".*", which cannot be writ'):
        run.prepare(wrong, overwrite=True)
    assert run.scores.exists()


def test_a_folder_without_a_run_may_be_used(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("", encoding="utf-8")
    RunDirectory(tmp_path).prepare(make_job(tmp_path))


def test_resume_needs_recovery_a_run_and_the_same_job(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    with pytest.raises(ConfigurationError, match=r"--resume needs recovery\.dir"):
        run.prepare(make_job(tmp_path), resume=True)
    job = make_job(tmp_path, recovery=Recovery(dir="state"))
    with pytest.raises(ConfigurationError, match="--resume finds no run"):
        run.prepare(job, resume=True)
    run.prepare(job)
    run.scores.write_text("{}\n", encoding="utf-8")
    run.prepare(replace(job, parallel=Parallel(workers=2, processes=2)), resume=True)
    assert run.scores.exists()
    assert run.read_job().parallel.processes == 2
    other = replace(job, learner=LearnerSection(options={"alpha": 0.5}))
    with pytest.raises(ConfigurationError, match=r"learner\.alpha was 0\.9 and is now 0\.5"):
        run.prepare(other, resume=True)


@pytest.mark.parametrize("key", ["dead_letters", "alarms"])
def test_resume_goes_on_in_the_files_it_began(tmp_path: Path, key: str) -> None:
    # Snapshots hold how far a file was written, by its name: the engine dies on another.
    job = make_job(tmp_path, recovery=Recovery(dir="state"))
    run = RunDirectory(tmp_path)
    run.prepare(job)
    renamed = replace(job, output=replace(job.output, **{key: "other.jsonl"}))
    with pytest.raises(ConfigurationError, match=rf'output\.{key} was .* now "other\.jsonl"'):
        run.check(renamed, resume=True)
    moved = replace(job, output=replace(job.output, dead_letters="moved/dead_letters.jsonl"))
    run.check(moved, resume=True)


def test_changed_keys_name_only_what_decides_results(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    assert changed_keys(job, replace(job, output=Output(report=False))) == {}
    other = replace(job, source=Source(kind="linear", rows=11))
    assert changed_keys(job, other) == {"source.rows": (10, 11)}


def test_final_rows_are_the_networks_last(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    assert run.final_rows() == {}
    assert run.read_status() is None
    rows = [
        {"learner": "cooperative", "node": None, "round": 1},
        {"learner": "local", "node": None, "round": 1},
        {"learner": "cooperative", "node": "n00", "round": 2},
        {"learner": "cooperative", "node": None, "round": 2},
    ]
    text = "\n".join(json.dumps(row) for row in rows) + '\n{"learner": "coo'
    run.scores.write_text(text, encoding="utf-8")
    assert {name: row["round"] for name, row in run.final_rows().items()} == {
        "cooperative": 2,
        "local": 1,
    }
    assert len(list(read_lines(run.scores))) == 4


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="which cannot be written"):
        RunDirectory(blocked / "run").prepare(make_job(blocked / "run"))
    with pytest.raises(ConfigurationError, match="holds no run"):
        RunDirectory(tmp_path / "none").read_job()


def test_a_job_that_goes_on_is_seen_by_its_newest_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunDirectory(tmp_path)

    def row(learner: str, final: bool) -> str:
        return json.dumps({"node": None, "learner": learner, "final": final}) + "\n"

    assert not run.reached_end()
    monkeypatch.setattr("pipelines.run_dir._NEWEST", 3 * len(row("pooled", False)) // 2)
    for rows, ended in [
        ([("pooled", False), ("local", True)], False),  # the first is beyond the newest bytes
        ([("pooled", True), ("local", True)], True),
        ([("pooled", True), ("local", False)], False),
        ([("pooled", False), ("pooled", True)], True),
    ]:
        run.scores.write_text("".join(row(*one) for one in rows))
        assert run.reached_end() == ended
