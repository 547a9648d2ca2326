"""What older versions left is gone on with: snapshots, model files, letters, positions."""

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from subprocess import PIPE, STDOUT

import numpy as np
import pytest

from anabranch import load
from anabranch.errors import ModelError
from anabranch.model_file import read
from connectors.kafka import Range
from connectors.kafka.letter_codec import Envelope, decode_letter
from operators.schema import SCHEMA, upgraded
from pipelines.positions import read_positions
from pipelines.run_dir import RunDirectory, read_lines
from pipelines.state.snapshots import Snapshots
from pipelines.state.summary import summarise
from tests.pipelines.jobs import arrays, finish, models

FIXTURES = Path(__file__).parent / "fixtures"
VERSIONS = sorted(FIXTURES.glob("schema-*"))
ROWS, BAD = 800, 7

each_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda folder: folder.name)


def unpack(archive: Path, target: Path) -> Path:
    with tarfile.open(archive) as packed:
        packed.extractall(target, filter="data")
    return target


def resume(folder: Path) -> None:
    command = [sys.executable, "-m", "pipelines.cli", "run", "job.toml", "--resume"]
    finish(subprocess.Popen(command, stdout=PIPE, stderr=STDOUT, cwd=folder))


def members(archive: Path) -> dict[str, io.BytesIO]:
    with tarfile.open(archive) as packed:
        return {one.name: io.BytesIO(packed.extractfile(one).read()) for one in packed}  # type: ignore[union-attr]


def test_every_schema_before_this_has_its_fixture() -> None:
    assert [folder.name for folder in VERSIONS] == [f"schema-{n}" for n in range(1, SCHEMA)]


@each_version
def test_a_killed_job_ends_as_if_it_had_never_been_killed(version: Path, tmp_path: Path) -> None:
    unpack(version / "synchronous.tar.xz", tmp_path)
    before = list(read_lines(tmp_path / "predictions.jsonl"))
    assert 0 < len(before) < ROWS - BAD
    resume(tmp_path)
    whole = members(version / "end.tar.xz")
    assert models(tmp_path) == {Path(n).stem: arrays(read(f).state) for n, f in whole.items()}
    places = [
        (row["partition"], row["position"]) for row in read_lines(tmp_path / "predictions.jsonl")
    ]
    assert len(places) == len(set(places)) == ROWS - BAD
    assert len(list(read_lines(tmp_path / "run/dead_letters.jsonl"))) == BAD


@each_version
def test_an_asynchronous_job_goes_on(version: Path, tmp_path: Path) -> None:
    unpack(version / "asynchronous.tar.xz", tmp_path)
    resume(tmp_path)
    summary = RunDirectory(tmp_path / "run").read_summary() or {}
    assert summary["samples"] == ROWS - BAD
    assert summary["dead_letters"] == {"not_numeric": BAD}
    assert summary["stopped"] == "end"


@each_version
@pytest.mark.parametrize("job", ["synchronous", "asynchronous"])
def test_older_snapshots_can_be_looked_at(version: Path, job: str, tmp_path: Path) -> None:
    summary = summarise(Snapshots(unpack(version / f"{job}.tar.xz", tmp_path) / "state"))
    assert summary.faults == []
    assert [node.node for node in summary.nodes] == ["bergen", "oslo", "pooled", "turin", "ulm"]
    assert all(node.samples and node.round and not node.trouble for node in summary.nodes)


@each_version
def test_older_model_files_predict_the_same(version: Path) -> None:
    files = members(version / "models.tar.xz")
    told = json.load(files.pop("predicted.json"))
    assert files.keys() == {f"{kind}.npz" for kind in told["predicted"]}
    for kind, predicted in told["predicted"].items():
        model = load(files[f"{kind}.npz"])
        np.testing.assert_allclose(model.predict(np.array(told["X"])), predicted, rtol=1e-12)


@each_version
def test_older_letters_are_read(version: Path) -> None:
    told = json.loads((version / "letters.json").read_text())
    records = [[bytes.fromhex(part) for part in record] for record in told["records"]]
    envelope = Envelope(**told["envelope"])
    plain, to_one, unchanged, last = (
        decode_letter(*record, envelope, {"b": ["a"]}) for record in records
    )
    assert [one.round for one in (plain, to_one, unchanged, last)] == [3, 4, 5, -1]
    assert plain.message is not None
    assert plain.message.to is None
    assert plain.message.arrays["w"].tolist() == [[1.5, -2.25], [0.0, 3.0]]
    assert plain.message.arrays["half"].dtype == np.float16
    assert plain.message.arrays["at"].tolist() == [3, 1]
    assert to_one.message is not None
    assert to_one.message.to == "b"
    assert dict(to_one.news) == {"oslo": (7, None), "turin": (9, 4)}
    assert (unchanged.message, unchanged.unchanged, unchanged.last) == (None, True, False)
    assert (last.message, last.unchanged, last.last) == (None, False, True)


@each_version
def test_older_positions_are_read(version: Path) -> None:
    found = read_positions(version / "positions.json")
    assert found.source == {"wear:0": Range(5), "wear:1": Range(0, 70, 3)}
    assert found.parameters == {"p:0": Range(2)}
    assert found.features == ("load",)
    assert found.limits == {"dead": 1000}
    assert found.ids == {"wear": "id-1"}


def test_a_newer_snapshot_is_refused_and_an_older_one_left_as_it_is() -> None:
    with pytest.raises(ModelError, match=f"schema {SCHEMA + 1}, which a newer version wrote"):
        upgraded({"schema": SCHEMA + 1})
    now = {"schema": SCHEMA, "core": {}}
    assert upgraded(now) == now
