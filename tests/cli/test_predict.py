"""`anabranch predict`: rows in, predictions out, bad rows told."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from anabranch import save
from anabranch.learners import make
from anabranch.protocol import Learner
from pipelines.cli.app import app

ROWS = [[-2.0, 1.0], [0.5, 0.0], [2.0, -1.0]]


def call(*words: object) -> Result:
    return CliRunner().invoke(app, ["predict", *map(str, words)])


@pytest.fixture(scope="module")
def learner() -> Learner:
    learner = make("dsvor", 2, 3, kernel="linear", scaling="none")
    X = np.random.default_rng(0).normal(size=(400, 2))
    learner.learn(X, np.digitize(X[:, 0], [-0.5, 0.5]) + 1.0)
    return learner


@pytest.fixture
def model(learner: Learner, tmp_path: Path) -> Path:
    save(learner, tmp_path / "n00.npz", {"features": ["a", "b"]})
    return tmp_path / "n00.npz"


@pytest.fixture
def expected(learner: Learner) -> list[int]:
    values: list[int] = learner.predict(np.array(ROWS)).tolist()
    return values


def test_csv_by_name_in_any_order(model: Path, tmp_path: Path, expected: list[int]) -> None:
    file = tmp_path / "rows.csv"
    text = "id,b,y,a\n" + "".join(f"7,{b},1,{a}\n" for a, b in ROWS)
    file.write_text(text, encoding="utf-8")
    lines = "".join(f"{i},{value}\n" for i, value in enumerate(expected))
    assert call(model, file).stdout == "record,prediction\n" + lines


@pytest.mark.parametrize("columns", [("b", "y", "a"), ("b", "a")])
def test_csv_as_the_job_read_it(
    learner: Learner, tmp_path: Path, expected: list[int], columns: tuple[str, ...]
) -> None:
    form = {"separator": ";", "columns": ["b", "y", "a"]}
    save(learner, tmp_path / "n00.npz", {"features": ["a", "b"], "csv": form})
    file = tmp_path / "rows.csv"
    rows = [{"a": a, "b": b, "y": 1} for a, b in ROWS]
    file.write_text("".join(";".join(f"{r[c]}" for c in columns) + "\n" for r in rows), "utf-8")
    lines = "".join(f"{i},{value}\n" for i, value in enumerate(expected))
    assert call(tmp_path / "n00.npz", file).stdout == "record,prediction\n" + lines


def test_json_lines_and_gz(model: Path, tmp_path: Path, expected: list[int]) -> None:
    file = tmp_path / "rows.jsonl.gz"
    objects = [json.dumps({"a": a, "b": b}) for a, b in ROWS[:2]]
    file.write_bytes(gzip.compress("\n".join([*objects, json.dumps(ROWS[2])]).encode()))
    out = tmp_path / "out.csv"
    assert call(model, file, "--out", out).exit_code == 0
    values = [int(line.split(",")[1]) for line in out.read_text("utf-8").splitlines()[1:]]
    assert values == expected


def test_bad_rows_are_told_and_counted(model: Path, tmp_path: Path, expected: list[int]) -> None:
    file = tmp_path / "rows.csv"
    bad = ["-2,1", "x,1", "1", "1,2,3", "nan,1", "inf,1", ",1", '"2,0', "0.5,0"]
    file.write_text("a,b\n" + "\n".join(bad) + "\n", encoding="utf-8")
    result = call(model, file)
    assert result.exit_code == 0
    assert result.stdout == f"record,prediction\n0,{expected[0]}\n8,{expected[1]}\n"
    assert "record 1: field 'a' is 'x', not a number" in result.stderr
    assert "record 2: 1 fields where 2 are wanted: field 'b' is missing" in result.stderr
    assert "record 4: field 'a' is 'nan', not a finite number" in result.stderr
    assert result.stderr.endswith("7 bad records have no prediction\n")


def test_many_bad_rows_are_only_counted(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"a": 1}\n[1]\n"x"\n{\n[1, true]\n' * 1000, encoding="utf-8")
    stderr = call(model, file).stderr
    assert len(stderr.splitlines()) == 22
    assert "none of the 5,000 records could be predicted" in stderr
    assert "record 0: field 'b' is missing" in stderr
    assert "record 1: it has 1 values, and the model needs 2" in stderr


def test_without_names_the_label_is_left_out(
    learner: Learner, tmp_path: Path, expected: list[int]
) -> None:
    save(learner, tmp_path / "bare.npz")
    file = tmp_path / "rows.csv"
    file.write_text("a,y,b\n" + "".join(f"{a},3,{b}\n" for a, b in ROWS), encoding="utf-8")
    lines = call(tmp_path / "bare.npz", file).stdout.splitlines()[1:]
    assert [int(line.split(",")[1]) for line in lines] == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("rows.txt", "", "ends in none of .csv"),
        ("rows.csv", "a,c\n1,2\n", "the file has no field 'b', which the model needs"),
        ("rows.csv.gz", "a,b\n1,2\n", "cannot be read"),
    ],
)
def test_unusable_files(model: Path, tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    result = call(model, tmp_path / name)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "n.npz").write_text("no", encoding="utf-8")
    (tmp_path / "rows.csv").write_text("a\n1\n", encoding="utf-8")
    assert call(tmp_path / "n.npz", tmp_path / "rows.csv").exit_code == 2
