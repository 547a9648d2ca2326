"""Snapshots read while a job replaces them, and those from which no job can go on."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipelines.cli.app import app
from pipelines.state import snapshots as module
from pipelines.state.snapshots import Row, Snapshots
from tests.state.test_older_versions import FIXTURES, unpack


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return unpack(FIXTURES / "schema-1/synchronous.tar.xz", tmp_path) / "state"


def change(folder: Path, *statements: str) -> None:
    for file in folder.glob("part-*.sqlite3"):
        with closing(sqlite3.connect(file)) as database, database:
            for statement in statements:
                database.execute(statement)


def go_on(folder: Path) -> None:
    """Do what a job does: write the next snapshots, advance, delete those that are replaced."""
    change(
        folder,
        "INSERT INTO snaps (step_id, state_key, snap_epoch, ser_change) "
        "SELECT step_id, state_key, 1 + max(snap_epoch), ser_change FROM snaps "
        "GROUP BY step_id, state_key HAVING ser_change IS NOT NULL",
        "UPDATE fronts SET worker_frontier = worker_frontier + 1",
        "UPDATE commits SET commit_epoch = commit_epoch + 1",
        "DELETE FROM snaps WHERE snap_epoch < (SELECT max(snap_epoch) FROM snaps AS later "
        "WHERE (later.step_id, later.state_key) = (snaps.step_id, snaps.state_key) "
        "AND later.snap_epoch < (SELECT max(commit_epoch) FROM commits))",
    )


def test_rows_that_a_job_replaces_meanwhile_are_no_fault(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Snapshots.read

    def read_late(self: Snapshots, row: Row) -> bytes:
        change(folder, "DELETE FROM snaps", "UPDATE commits SET commit_epoch = 9000")
        return read(self, row)

    monkeypatch.setattr(Snapshots, "read", read_late)
    words = ["state", str(folder), "--json", "--export", str(tmp_path / "models")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    told = json.loads(result.output)
    assert told["faults"] == []
    assert {node["kind"] for node in told["nodes"]} == {"dsvor"}
    assert len(list((tmp_path / "models").glob("*.npz"))) == len(told["nodes"]) == 5


@pytest.mark.parametrize("times", [1, 1000])
def test_files_are_held_at_one_moment(
    folder: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    begun, left = module._begun, iter(range(times))

    def begun_late(file: Path) -> object:
        if next(left, None) is not None:
            go_on(folder)
        return begun(file)

    snapshots = Snapshots(folder)
    before = snapshots.current()
    monkeypatch.setattr(module, "_begun", begun_late)
    with snapshots.held():
        held = snapshots.current()
        assert [(row.step, row.key) for row in held] == [(row.step, row.key) for row in before]
        assert all(snapshots.read(row) for row in held)
        assert snapshots.faults() == []
        if times == 1:
            assert snapshots.epochs().resume == 151
    assert not snapshots._held


def test_snapshots_that_no_job_can_go_on_from_are_a_fault(folder: Path) -> None:
    change(folder, "UPDATE fronts SET worker_frontier = 7")
    result = CliRunner().invoke(app, ["state", str(folder)])
    assert result.exit_code == 1
    assert "wrong: the files are of different times" in result.output
    assert "would go on from epoch 7, but part-0.sqlite3" in result.output
    assert "goes on without a snapshot of any node" in result.output
    assert "times)" not in result.output
    told = json.loads(CliRunner().invoke(app, ["state", str(folder), "--json"]).output)
    assert told["multiple"] is None


def test_a_worker_that_has_not_reported_yet_holds_the_others_back(folder: Path) -> None:
    change(folder, "UPDATE exs SET worker_count = 2, resume_epoch = 20")
    assert Snapshots(folder).epochs().resume == 20
