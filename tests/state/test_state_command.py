"""Snapshots looked at without the job: counts, models, damage, pruning."""

import json
import pickle
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from anabranch.model_file import read
from pipelines.cli.app import app
from pipelines.state.reached import Reached, reached
from pipelines.state.snapshots import Snapshots
from pipelines.state.unpickle import DamagedStateError, StrangeStateError, read_snapshot
from tests.pipelines.jobs import finish, start

SETTINGS = [
    "source.kind=nonlinear",
    "source.rows=600",
    "source.rows_per_tick=6",
    "network.nodes=3",
    "network.graph=complete",
    "learner.kernel=linear",
    "output.report=false",
    'evaluation.companions=["pooled", "river-logistic-one-vs-rest"]',
]


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("state")
    finish(start(folder, settings=SETTINGS))
    return folder


@pytest.fixture
def copied(job: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(job / "state", tmp_path / "state"))


def state(*words: object) -> Result:
    return CliRunner().invoke(app, ["state", *map(str, words)])


def test_rounds_and_samples_are_those_of_the_job(job: Path) -> None:
    result = state(job / "run", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.output)
    nodes = {node["node"]: node for node in told["nodes"]}
    assert {name: nodes[name]["samples"] for name in ("n00", "n01", "n02", "pooled")} == {
        "n00": 200, "n01": 200, "n02": 200, "pooled": 600,
    }  # fmt: skip
    assert nodes["n00"]["round"] == 101  # the ticks, and the graph's diameter
    assert nodes["n00"]["kind"] == "dsvor"
    assert told["starts"] == told["workers"] == 1
    assert told["faults"] == []
    assert 0 < told["live_bytes"] <= told["bytes"]


def test_the_first_round_that_nothing_has_reached(job: Path) -> None:
    snapshots, nodes = Snapshots(job / "state"), ["n00", "n01", "n02"]
    assert reached(snapshots, 1, nodes) == Reached(102, frozenset({"part0"}), done=True)
    assert reached(snapshots, 4, []).round == 400  # the ticks placed, not the rounds
    assert not reached(snapshots, 4, []).done  # all have left


def test_models_of_other_libraries_are_not_unpickled(job: Path) -> None:
    nodes = {
        node["node"]: node for node in json.loads(state(job / "run", "--json").output)["nodes"]
    }
    assert "which is not looked into" in nodes["river-logistic-one-vs-rest"]["trouble"]


def test_exported_models_are_those_of_the_job(job: Path, tmp_path: Path) -> None:
    result = state(job / "run", "--export", tmp_path)
    assert result.exit_code == 0, result.output
    for name in ("n00", "n01", "n02"):
        told, own = read(tmp_path / f"{name}.npz"), read(job / f"run/models/{name}.npz")
        assert (told.kind, told.metadata) == (own.kind, own.metadata)
        assert told.state.keys() == own.state.keys()
        for key, value in own.state.items():
            np.testing.assert_array_equal(told.state[key], value)
    pooled = read(tmp_path / "pooled.npz")
    np.testing.assert_equal(pooled.state, read(job / "run/companions/pooled.npz").state)


def test_a_recovery_directory_will_do(copied: Path) -> None:
    result = state(copied)
    assert result.exit_code == 0, result.output
    assert "goes on at" in result.output
    assert "nothing is wrong" in result.output


def test_a_folder_without_snapshots_is_refused(tmp_path: Path) -> None:
    result = state(tmp_path)
    assert result.exit_code == 2
    assert "holds no snapshots; allowed: a recovery directory" in result.output


def test_a_file_that_is_missing_or_damaged_is_named(copied: Path) -> None:
    (copied / "part-1.sqlite3").unlink()
    result = state(copied)
    assert result.exit_code == 1
    assert "wrong: part-1.sqlite3 is missing" in result.output
    (copied / "part-2.sqlite3").write_bytes(b"no database" * 1000)
    result = state(copied)
    assert result.exit_code == 2
    assert "part-2.sqlite3 is damaged" in result.output


def test_a_snapshot_cut_short_is_a_fault(copied: Path) -> None:
    _edit(copied, "UPDATE snaps SET ser_change = substr(ser_change, 1, 100) "
          "WHERE state_key LIKE 'n00~%'")  # fmt: skip
    result = state(copied)
    assert result.exit_code == 1
    assert "wrong: node 'n00': it is damaged" in result.output


def test_a_learner_that_cannot_be_restored_is_a_fault(copied: Path, tmp_path: Path) -> None:
    _change(copied, "n01", lambda core: core["learner"].pop("w"))
    _change(copied, "n02", lambda core: core.update(local={"kind": "npsvor", "schema": 1}))
    result = state(copied, "--export", tmp_path / "models")
    assert result.exit_code == 1
    assert "wrong: node 'n01': its learner cannot be restored: damaged state" in result.output
    assert "wrong: node 'n02': its local companion cannot be restored" in result.output
    assert result.output.count("wrong: ") == 2
    assert {path.name for path in (tmp_path / "models").iterdir()} == {"n00.npz", "pooled.npz"}


def test_a_model_that_cannot_be_exported_is_a_fault(copied: Path, tmp_path: Path) -> None:
    nowhere = {"w": np.full((2, 2), np.nan), "diverged": True}
    _change(copied, "n01", lambda core: core["learner"].update(nowhere))
    assert state(copied).exit_code == 0
    (tmp_path / "models/n02.npz").mkdir(parents=True)
    result = state(copied, "--export", tmp_path / "models", "--json")
    assert result.exit_code == 1
    told = json.loads(result.output)
    assert told["exported"]["n00"] == str(tmp_path / "models/n00.npz")
    assert "not looked into" in told["exported"]["river-logistic-one-vs-rest"]
    diverged, unwritten = told["faults"]
    assert diverged.startswith("node 'n01' was not exported: ")
    assert "not finite" in diverged
    assert unwritten.startswith("node 'n02' was not exported: ")


def test_models_without_the_run_lack_names_and_that_is_told(job: Path, tmp_path: Path) -> None:
    told = "exported without the fields' names and how records are read: give the run directory"
    alone = state(job / "state", "--export", tmp_path / "a")
    assert alone.exit_code == 0, alone.output
    assert told in alone.output
    assert "features" not in read(tmp_path / "a/n00.npz").metadata
    assert told in json.loads(state(job / "state", "--export", tmp_path, "--json").output)["note"]
    assert told not in state(job / "run", "--export", tmp_path / "b").output
    assert told not in state(job / "state").output


def test_only_a_run_that_ended_is_complete(job: Path, copied: Path) -> None:
    assert "complete; goes on at round 101" in state(job / "run").output
    assert json.loads(state(job / "run", "--json").output)["complete"] is True
    assert "complete" not in state(copied).output
    stopped = shutil.copytree(job / "run", copied.parent / "run")
    (stopped / "summary.json").write_text('{"stopped": "signal"}')
    assert json.loads(state(stopped, "--json").output)["complete"] is False


def test_names_are_shown_in_full_and_counts_agree(copied: Path) -> None:
    name = "plant-[7]-" + "line-" * 20
    _edit(copied, f"UPDATE snaps SET state_key = '{name}~0' WHERE state_key LIKE 'n00~%'")
    output = state(copied).output
    rows = [line.split("│")[1].strip() for line in output.splitlines() if line.startswith("│")]
    assert name in "".join(rows)
    assert "…" not in output
    assert "1 keys" not in output
    assert "processes: 1 key, 4 bytes" in output


def test_pruning_leaves_what_a_resume_needs(copied: Path) -> None:
    before = Snapshots(copied).current()
    _edit(copied, "INSERT INTO snaps (step_id, state_key, snap_epoch, ser_change) "
          "SELECT step_id, state_key, -snap_epoch, zeroblob(200000) FROM snaps "
          "WHERE ser_change IS NOT NULL")  # fmt: skip
    assert json.loads(state(copied, "--json").output)["replaced_snapshots"] == len(before)
    result = state(copied, "--prune")
    assert result.exit_code == 0, result.output
    assert "0 replaced snapshots" in result.output
    assert Snapshots(copied).current() == before
    assert Snapshots(copied).size < 200_000 * len(before)


def test_a_directory_in_use_is_not_pruned(copied: Path) -> None:
    holder = sqlite3.connect(copied / "part-0.sqlite3", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    result = state(copied, "--prune")
    holder.close()
    assert result.exit_code == 2
    assert "cannot be pruned: database is locked; allowed: while no job uses it" in result.output


def test_only_plain_values_are_read() -> None:
    with pytest.raises(StrangeStateError, match=r"posix\.system"):
        read_snapshot(b"cposix\nsystem\n(S'true'\ntR.")
    with pytest.raises(StrangeStateError, match=r"anabranch\.model_file\.load"):
        read_snapshot(b"canabranch.model_file\nload\n(S'x'\ntR.")
    with pytest.raises(DamagedStateError):
        read_snapshot(b"")


def _change(folder: Path, node: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what a node's last snapshot holds of it."""
    snapshots = Snapshots(folder)
    (row,) = [
        row for row in snapshots.current()
        if row.step == "anabranch.nodes.node" and row.key.startswith(f"{node}~")
    ]  # fmt: skip
    whole = pickle.loads(snapshots.read(row))
    change(whole["inner"]["core"])
    with sqlite3.connect(folder / row.file) as database:
        database.execute(
            "UPDATE snaps SET ser_change = ? "
            "WHERE step_id = ? AND state_key = ? AND snap_epoch = ?",
            (pickle.dumps(whole), row.step, row.key, row.epoch),
        )
    database.close()


def _edit(folder: Path, statement: str) -> None:
    for file in folder.glob("part-*.sqlite3"):
        with sqlite3.connect(file) as database:
            database.execute(statement)
        database.close()
