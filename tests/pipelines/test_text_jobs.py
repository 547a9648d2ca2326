"""Texts through whole jobs: from the files' rows to scores, models, predictions and a report."""

import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bytewax.testing import cluster_main, run_main
from typer.testing import CliRunner

from anabranch import load
from anabranch.model_file import read
from anabranch.sparse import SparseRows
from anabranch.stream import LABEL, SAMPLE, Apart, Share
from operators.late_samples import LateSamples
from pipelines.cli.app import app
from pipelines.config import Job, build_job, build_stream
from pipelines.flow import build_flow, build_plan
from pipelines.records import record_format
from pipelines.report import write_report
from pipelines.run_dir import RunDirectory, read_lines
from pipelines.sources import build_source
from tests.pipelines.jobs import arrays, reference

SETS: dict[str, tuple[str, list[str], int, int, list[str]]] = {
    "semeval": ("semeval_tweets5", ["y", "part", "topic", "text"], 5, 0, []),
    "largemovie": ("largemovie_imdb8", ["y", "part", "text"], 8, 0, []),
    "amazon": (
        "amazon_multidomain4", ["y", "domain", "date", "text"], 4, 1,
        ["books", "dvd", "electronics", "kitchen_&_housewares"],
    ),
    "moviereview": (
        "moviereview_scale4", ["y", "author", "rating", "text"], 4, 1,
        ["Dennis+Schwartz", "James+Berardinelli", "Scott+Renshaw", "Steve+Rhodes"],
    ),
}  # fmt: skip
"""File, columns, ranks, the column that names a row's node, and what it holds."""
ROWS = 150


def run(job: Job, workers: int = 2) -> RunDirectory:
    """Run a job in this process."""
    run_dir = RunDirectory.of(job)
    run_dir.prepare(job)
    flow = build_flow(job).flow
    if workers == 1:
        run_main(flow)  # type: ignore[no-untyped-call]
    else:
        cluster_main(flow, [], 0, worker_count_per_proc=workers)  # type: ignore[no-untyped-call]
    return run_dir


def excerpt(shared: Path, folder: Path, name: str) -> dict[str, Any]:
    """Write some lines of a set, and give the source that reads them."""
    file, columns, _, at, names = SETS[name]
    with gzip.open(shared / f"data/text_ordinal/{file}.tsv.gz", "rt", encoding="utf-8") as source:
        lines = source.readlines()
    some = np.random.default_rng(1).permutation(len(lines))[:ROWS]
    path = folder / f"{name}.tsv.gz"
    path.write_bytes(gzip.compress("".join(lines[i] for i in some).encode()))
    return {
        "kind": "csv", "paths": [str(path)], "columns": columns, "header": False,
        "separator": "\t", "text": ["text"], "text_bits": 14, "shuffle": True, "rows_per_tick": 20,
        "node": f"field:{columns[at]}" if names else "round-robin",
    }  # fmt: skip


def tables(folder: Path, source: dict[str, Any], ranks: int, nodes: Any) -> Any:
    return {
        "job": {"run_dir": str(folder / "run"), "name": "texts"},
        "source": source,
        "network": {"nodes": nodes, "graph": "complete"},
        "learner": {"kind": "npsvor", "ranks": ranks, "batch_rows": 1},
        "evaluation": {"companions": ["local", "pooled"]},
        "output": {"predictions": "{run_dir}/predictions.jsonl"},
    }


@pytest.mark.parametrize("name", SETS)
def test_a_set_of_texts_goes_through(tmp_path: Path, shared: Path, name: str) -> None:
    _, _, ranks, _, names = SETS[name]
    source = excerpt(shared, tmp_path, name)
    job = build_job(tables(tmp_path, source, ranks, names or 10))
    run_dir = run(job)
    rows = run_dir.final_rows()
    assert {who: row["samples"] for who, row in rows.items()} == dict.fromkeys(
        ("cooperative", "local", "pooled"), ROWS
    )
    assert not Path(job.output.dead_letters).exists() or not [
        *read_lines(Path(job.output.dead_letters))
    ]
    nodes = {row["node"] for row in read_lines(run_dir.path / "predictions.jsonl")}
    assert nodes == set(names) if names else len(nodes) == 10
    write_report([run_dir.path], run_dir.report)
    assert "npsvor" in run_dir.report.read_text("utf-8")


def test_the_dataflow_of_texts_is_the_loop(tmp_path: Path) -> None:
    made = {"kind": "reviews", "rows": 240, "rows_per_tick": 12, "text_bits": 14}
    job = build_job(tables(tmp_path, made, 5, 4))
    run_dir = run(job)
    loop = reference(job)
    for node, learner in loop.learners.items():
        saved = read(run_dir.models / f"{node}.npz")
        assert arrays(saved.state) == arrays(learner.model())
        assert saved.metadata["records"]["text"] == ["text"]
    file = tmp_path / "a.csv"
    file.write_text('text\nan awful and dreadful book\n"perfect, superb"\n', encoding="utf-8")
    told = predict(run_dir.models / "n00.npz", file)
    assert told[0][1] < told[1][1]


FILES = {
    "rows.csv": 'stars,title,body\n3,Good,a fine film\n1,bad,"so, so bad"\n2,short\n2,été,l\'été\n',
    "more.jsonl": '{"title": "Good", "body": "a fine film"}\n{"title": 3}\n[1]\n{"body": "x"}\n',
}


def test_predictions_hash_texts_as_the_job_did(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    source = {
        "kind": "csv", "paths": [str(tmp_path / "rows.csv")], "label": "stars",
        "text": ["title", "body"], "text_bits": 10, "ngrams": 3,
    }  # fmt: skip
    job = build_job(tables(tmp_path, source, 3, 2))
    run_dir = run(job, workers=1)
    assert [letter["reason"] for letter in read_lines(Path(job.output.dead_letters))] == [
        "missing_field"
    ]
    model = run_dir.models / "n00.npz"
    hasher = record_format(job).hasher
    learner: Any = load(model)
    expected = learner.predict(hasher.rows(["Good a fine film", "bad so, so bad", "été l'été"]))
    told = predict(model, tmp_path / "rows.csv")
    assert told == [[0, expected[0]], [1, expected[1]], [3, expected[2]]]
    assert predict(model, tmp_path / "more.jsonl") == [[0, expected[0]]]
    bad = CliRunner().invoke(app, ["predict", str(model), str(tmp_path / "more.jsonl")])
    assert "record 1: field 'body' is missing" in bad.stderr
    assert "record 2: it is no object" in bad.stderr
    assert "record 3: field 'title' is missing" in bad.stderr


def predict(model: Path, file: Path) -> list[list[int]]:
    result = CliRunner().invoke(app, ["predict", str(model), str(file)])
    assert result.exit_code == 0, result.output
    return [[int(cell) for cell in line.split(",")] for line in result.stdout.splitlines()[1:]]


def test_predictions_from_svmlight_files_and_sparse_objects(tmp_path: Path) -> None:
    file = tmp_path / "rows.svm"
    file.write_text("1 1:1 4:2 # one\n\n2 4:1 2:3\n3 9:1\n2 2:x\n3\n", encoding="utf-8")
    source = {"kind": "svmlight", "paths": [str(file)], "sparse_width": 8}
    job = build_job(tables(tmp_path, source, 3, 2))
    run_dir = run(job, workers=1)
    assert [letter["reason"] for letter in read_lines(Path(job.output.dead_letters))] == [
        "bad_index", "not_numeric",
    ]  # fmt: skip
    model = run_dir.models / "n01.npz"
    X = np.zeros((3, 8))
    X[0, [0, 3]], X[1, [1, 3]] = (1, 2), (3, 1)
    expected = load(model).predict(X).tolist()
    assert predict(model, file) == [[0, expected[0]], [1, expected[1]], [4, expected[2]]]
    objects = [{"indices": [3, 0], "values": [2, 1]}, {"indices": [9], "values": [1]}, {}]
    lines = tmp_path / "rows.jsonl"
    lines.write_text("\n".join(map(json.dumps, objects)), encoding="utf-8")
    assert predict(model, lines) == [[0, expected[0]]]


def test_check_tells_the_bytes_of_a_round(tmp_path: Path) -> None:
    job = ["source.kind=reviews", "source.rows=500", "source.rows_per_tick=40", "network.nodes=4"]
    sets = [word for one in [*job, "learner.kind=npsvor"] for word in ("--set", one)]
    result = CliRunner().invoke(app, ["check", *sets])
    assert result.exit_code == 0, result.output
    assert "features            262144\n" in result.stdout
    told = result.stdout.partition("bytes a round       about ")[2]
    assert "by the first 10 rows" in told
    assert int(told.split(" ")[0].replace(",", "")) > 12 * 10 * 20


def test_texts_may_wait_for_their_labels(tmp_path: Path) -> None:
    made = {"kind": "reviews", "rows": 30, "text_bits": 12}
    job = build_job(tables(tmp_path, made, 5, 4))
    plan = build_plan(job, build_source(job))
    X, y = build_stream(job.source).block(0, 30)
    late = LateSamples(plan, "n00", limit=100, wait_ms=None)
    ids, times = [str(i) for i in range(30)], np.arange(30)
    to_come = Apart(np.full(30, SAMPLE, np.uint8), ids, times)
    late.take(0, Share("t:0", 0, X, np.full(30, np.nan), times, apart=to_come))
    again = LateSamples(plan, "n00", limit=100, wait_ms=None)
    again.restore(pickle.loads(pickle.dumps(late.export())))
    labels = Apart(np.full(30, LABEL, np.uint8), ids, times)
    none = SparseRows.of(np.zeros((30, 1 << 12)))
    again.take(1, Share("t:0", 1, none, y, times + 30, apart=labels))
    learner = plan.make("n00")
    learner.learn(X, y)
    assert again.rows == 30
    assert arrays(again.learner.model()) == arrays(learner.model())
