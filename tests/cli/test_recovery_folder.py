"""The folder of snapshots: made for a new run, looked through before an old one goes on."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from anabranch.errors import ConfigurationError
from pipelines.cli.recovery import PARTITIONS, check_no_snapshots, prepare_recovery
from pipelines.config import Job, Recovery, default_job


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return replace(default_job(), recovery=Recovery(dir=str(tmp_path / "state")))


def test_a_new_folder_can_be_resumed_from(job: Job, tmp_path: Path) -> None:
    prepare_recovery(job)
    assert len(list((tmp_path / "state").glob("part-*.sqlite3"))) == PARTITIONS
    prepare_recovery(job, resume=True)
    with pytest.raises(ConfigurationError, match="holds another run's snapshots"):
        prepare_recovery(job)


def test_resume_without_a_folder_is_refused(job: Job) -> None:
    with pytest.raises(ConfigurationError, match="--resume finds no snapshots"):
        prepare_recovery(job, resume=True)


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (Path.unlink, r"lacks part-2\.sqlite3"),
        (lambda file: file.write_bytes(b"garbage" * 200), r"whose part-2\.sqlite3 is damaged"),
    ],
)
def test_a_damaged_folder_is_told_in_a_sentence(
    job: Job, tmp_path: Path, harm: Callable[[Path], object], told: str
) -> None:
    prepare_recovery(job)
    harm(tmp_path / "state" / "part-2.sqlite3")
    with pytest.raises(ConfigurationError, match=told):
        prepare_recovery(job, resume=True)


def test_a_folder_that_the_engine_would_refuse_is_told_in_a_sentence(
    job: Job, tmp_path: Path
) -> None:
    prepare_recovery(job)
    for file in sorted((tmp_path / "state").glob("part-[01].sqlite3")):
        with closing(sqlite3.connect(file)) as database, database:
            database.execute("INSERT INTO commits (part_index, commit_epoch) VALUES (0, 812)")
    told = r"go on from epoch 1, but part-0\.sqlite3, part-1\.sqlite3 hold none before epoch 812"
    with pytest.raises(ConfigurationError, match=told):
        prepare_recovery(job, resume=True)


def test_a_run_that_has_lost_its_directory_is_not_begun_anew_over_its_snapshots(job: Job) -> None:
    check_no_snapshots(replace(job, recovery=Recovery()))
    check_no_snapshots(job)
    prepare_recovery(job)
    check_no_snapshots(job)  # of a start that was cut short
    first = Path(str(job.recovery.dir)) / "part-0.sqlite3"
    with closing(sqlite3.connect(first)) as database, database:
        database.execute("INSERT INTO exs (ex_num, worker_count, resume_epoch) VALUES (0, 1, 1)")
    with pytest.raises(ConfigurationError, match="holds no run to --continue; put that folder"):
        check_no_snapshots(job)
    first.write_bytes(b"garbage" * 200)
    with pytest.raises(ConfigurationError, match="holds a run's snapshots"):
        check_no_snapshots(job)
