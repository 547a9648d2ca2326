"""How large snapshots are and how old, what gives room back, and whose they may be."""

import os
import pickle
import sqlite3
import time
from pathlib import Path

import pytest

from anabranch.errors import ConfigurationError
from operators.schema import SCHEMA
from pipelines.cli.recovery import prepare_recovery
from pipelines.config import Job
from pipelines.state.nodes import check_schema
from pipelines.state.size import measure
from pipelines.state.snapshots import Snapshots
from pipelines.state.summary import summarise
from tests.pipelines.jobs import resolved
from tests.state.test_older_versions import FIXTURES, unpack

STATE = FIXTURES / "schema-1/synchronous.tar.xz"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return unpack(STATE, tmp_path) / "state"


def job_in(folder: Path) -> Job:
    return resolved([f"recovery.dir={folder}"])


def test_age_and_size_are_those_of_the_files(folder: Path) -> None:
    files = sorted(folder.iterdir())
    for number, file in enumerate(files):
        os.utime(file, (0, time.time() - 100 * (number + 1)))
    (folder / "part-0.sqlite3-shm").write_bytes(b"1234")  # newer, but readers write it, too
    age, size = measure(folder) or (0, 0)
    assert 100 <= age < 160
    assert size == sum(file.stat().st_size for file in files) + 4
    (folder / "part-3.sqlite3-wal").write_bytes(b"")
    age, _ = measure(folder) or (100, 0)
    assert age < 60


def test_a_clock_that_went_back_makes_no_negative_age(folder: Path) -> None:
    os.utime(folder / "part-0.sqlite3", (0, time.time() + 1000))
    assert (measure(folder) or (1, 0))[0] == 0.0


def test_where_no_snapshots_are_nothing_is_measured(tmp_path: Path) -> None:
    assert measure(tmp_path) is None
    assert measure(tmp_path / "nowhere") is None


def test_the_multiple_of_the_state_is_told(folder: Path) -> None:
    summary = summarise(Snapshots(folder))
    assert summary.multiple == summary.size / summary.live > 1
    assert summary.as_json()["multiple"] == round(summary.multiple, 2)


def test_a_resume_gives_back_room_that_was_needed_once(folder: Path) -> None:
    before = Snapshots(folder).current()
    for file in folder.glob("part-*.sqlite3"):
        with sqlite3.connect(file) as database:
            database.execute("INSERT INTO snaps VALUES ('', 's', 'k', 1, zeroblob(5000000))")
            database.execute("DELETE FROM snaps WHERE step_id = 's'")
        database.close()
    assert Snapshots(folder).size > 20_000_000
    prepare_recovery(job_in(folder), resume=True)
    assert Snapshots(folder).size < 1_000_000
    assert Snapshots(folder).current() == before


def test_a_file_in_use_is_left_as_it_is(folder: Path) -> None:
    file = folder / "part-0.sqlite3"
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("INSERT INTO snaps VALUES ('', 's', 'k', 1, zeroblob(5000000))")
    holder.execute("DELETE FROM snaps WHERE step_id = 's'")
    holder.execute("BEGIN IMMEDIATE")
    Snapshots(folder).compact()
    assert file.stat().st_size + Path(f"{file}-wal").stat().st_size > 5_000_000
    holder.execute("COMMIT")
    holder.close()


def test_snapshots_of_a_newer_version_are_refused_in_a_sentence(folder: Path) -> None:
    check_schema(Snapshots(folder))
    snapshots = Snapshots(folder)
    for row in snapshots.current():
        if row.step == "anabranch.nodes.node":
            state = pickle.loads(snapshots.read(row))
            state["inner"]["schema"] = SCHEMA + 1
            _replace(folder / row.file, row.key, pickle.dumps(state))
    with pytest.raises(
        ConfigurationError, match=f"schema {SCHEMA + 1}, which a newer version wrote; this one"
    ):
        prepare_recovery(job_in(folder), resume=True)
    assert all("newer version" in node.trouble for node in summarise(Snapshots(folder)).nodes)


def _replace(file: Path, key: str, value: bytes) -> None:
    with sqlite3.connect(file) as database:
        database.execute("UPDATE snaps SET ser_change = ? WHERE state_key = ?", (value, key))
    database.close()
