"""`anabranch predict` of models of texts and sparse rows: records as the job reads them."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from anabranch import save
from anabranch.features.hashing import TextHasher
from anabranch.learners import make
from anabranch.protocol import Learner
from anabranch.sparse import SparseRows
from pipelines.config import build_job
from pipelines.records import record_settings
from tests.cli.test_predict import call

BITS = 8
TEXTS = ["good film", "bad film", "good day", "bad day"]


@pytest.fixture(scope="module")
def learner() -> Learner:
    learner: Any = make("npsvor", 1 << BITS, 2)
    for _ in range(20):
        learner.learn(TextHasher(BITS, 2).rows(TEXTS), np.array([2.0, 1.0, 2.0, 1.0]))
    return cast(Learner, learner)


def model_of(learner: Learner, folder: Path, **keys: Any) -> Path:
    (folder / "learned").touch()
    paths = [str(folder / "learned")]
    source = {"kind": "csv", "paths": paths, "text": ["text"], "text_bits": BITS, "label": "rank"}
    section = {"kind": "npsvor", "ranks": 2}
    job = build_job({"source": {**source, **keys}, "learner": section, "network": {"nodes": 2}})
    save(learner, folder / "n00.npz", {"features": [], "records": record_settings(job)})
    return folder / "n00.npz"


def test_a_record_is_what_the_job_takes_for_one(learner: Learner, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    lines = [
        b"\xef\xbb\xbfrank,text\r",
        b"2,good film\r",
        b"1,bad\rfilm",
        b'1,"bad film',
        b'1,"bad" film',
        b"1,bad \xff film",
        b"1,bad \0 film",
        b"1," + b"bad " * (1 << 18),
        b'2,"' + b"good, " * 30_000 + b'"',
        b" \t\r",
        b"1,bad film",
    ]
    file.write_bytes(b"\n".join(lines))
    result = call(model_of(learner, tmp_path), file)
    assert result.exit_code == 0
    assert result.stdout == "record,prediction\n0,2\n7,2\n8,1\n"
    told = result.stderr.splitlines()
    assert [line.split(":")[0] for line in told[:-1]] == [f"record {i}" for i in range(1, 7)]
    assert told[0].startswith("record 1: a control character in the record")
    assert told[3].startswith("record 4: the record is not UTF-8")
    assert told[5] == "record 6: longer than 1,048,576 bytes, the most a record may have"


@pytest.mark.parametrize("name", ["rows.tsv", "rows.data", "rows", "rows.csv"])
def test_files_without_header_are_read_by_the_job_s_columns(
    learner: Learner, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("good film;2\nbad film;1\n", encoding="utf-8")
    result = call(model_of(learner, tmp_path, header=False, separator=";"), tmp_path / name)
    assert result.stdout == "record,prediction\n0,2\n1,1\n"


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.data"])
def test_models_of_objects_read_objects(learner: Learner, tmp_path: Path, name: str) -> None:
    lines = ['{"text": "good film"}', '{"text": 1}', '{"text": "a", "text": "b"}', "[1]"]
    (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
    result = call(model_of(learner, tmp_path, kind="jsonl"), tmp_path / name)
    assert result.stdout == "record,prediction\n0,2\n"
    assert "record 1: field 'text' is 1.0, not a text" in result.stderr
    assert "record 2: key 'text' is there twice" in result.stderr
    assert "record 3: it is no object" in result.stderr
    (tmp_path / "rows.tsv").write_text("text\tn\nbad film\t1\n", encoding="utf-8")
    assert call(tmp_path / "n00.npz", tmp_path / "rows.tsv").stdout.endswith("0,1\n")


def test_without_any_prediction_the_exit_code_is_1(learner: Learner, tmp_path: Path) -> None:
    model, file = model_of(learner, tmp_path), tmp_path / "rows.csv"
    file.write_text("rank,text\n1\n1,2,3\n", encoding="utf-8")
    result = call(model, file)
    assert result.exit_code == 1
    assert result.stderr.endswith("none of the 2 records could be predicted: all are bad\n")
    file.write_text("rank,text\n", encoding="utf-8")
    assert call(model, file).exit_code == 0


def test_a_value_beyond_the_learners_limit_spoils_its_record_only(tmp_path: Path) -> None:
    sparse: Any = make("npsvor", 3, 2)
    sparse.learn(SparseRows.of(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])), np.array([1.0, 2.0]))
    records = {"text": (), "sparse_width": 3, "index_base": 1}
    save(sparse, tmp_path / "n.npz", {"features": [], "records": records})
    text = "# none\n1 1:1\n1 2:1e101\n1 3:nan\n # empty\n2 3:1\n1 1:\xff\n"
    (tmp_path / "rows.svm").write_bytes(text.encode("latin-1"))
    result = call(tmp_path / "n.npz", tmp_path / "rows.svm")
    assert [line.split(",")[0] for line in result.stdout.splitlines()[1:]] == ["0", "3", "4"]
    assert "record 1: field 2 is 1e+101, beyond 1e+100" in result.stderr
    assert "record 2: field '3' is 'nan', not a finite number" in result.stderr
    assert "record 5: the record is not UTF-8" in result.stderr


def test_rows_that_a_learner_refuses_are_bad_records(tmp_path: Path) -> None:
    roots = make("dsvor", 2, 2, kernel="hellinger", scaling="none")
    roots.learn(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, 2.0]))
    save(roots, tmp_path / "n.npz", {"features": ["a", "b"]})
    (tmp_path / "rows.csv").write_text("a,b\n1,0\n-1,0\n1e101,0\n0,1\n", encoding="utf-8")
    result = call(tmp_path / "n.npz", tmp_path / "rows.csv")
    assert [line.split(",")[0] for line in result.stdout.splitlines()[1:]] == ["0", "3"]
    assert "record 1: " in result.stderr
    assert "record 2: field 'a' is 1e+101, beyond 1e+100" in result.stderr
