"""Texts over a topic: a file that was produced to it is learned as the file itself is."""

import json
from pathlib import Path

from typer.testing import CliRunner

from anabranch.model_file import read
from anabranch.synthetic_reviews import ReviewStream
from pipelines.cli.app import app
from pipelines.config import load_job
from pipelines.run_dir import read_lines
from tests.brokers.client import Kafka
from tests.pipelines.jobs import arrays, finish, models, reference, start

JOB = [
    'source.text=["title","body"]',
    "source.text_bits=12",
    "source.label=stars",
    "source.rows_per_tick=12",
    "network.nodes=4",
    "network.graph=complete",
    "learner.ranks=5",
    "learner.kind=npsvor",
    "exchange.mode=synchronous",
    "output.report=false",
    "evaluation.companions=[]",
]


def write(path: Path) -> Path:
    texts, stars = ReviewStream(seed=2).texts(0, 240)
    lines = [f"{int(y)}\tNo {i}: \u00ab{text[:5]}\u00bb\t{text}" for i, (text, y) in
             enumerate(zip(texts, stars, strict=True))]  # fmt: skip
    path.write_text("\n".join([*lines[:100], "5\tshort", *lines[100:], ""]), encoding="utf-8")
    return path


def test_a_topic_of_texts_gives_what_the_file_gives(tmp_path: Path, kafka: Kafka) -> None:
    file, topic = write(tmp_path / "reviews.tsv"), kafka.topic(1)
    words = [str(file), "--topic", topic, "--brokers", ",".join(kafka.brokers)]
    words += ["--format", "msgpack", "--columns", "stars,title,body"]
    told = CliRunner().invoke(app, ["produce", *words, "--text", "title", "--text", "body"])
    assert told.exit_code == 0, told.output
    assert "line 101: it has 2 fields" in told.stderr
    own = ["source.kind=kafka", f'source.topics=["{topic}"]', "source.until_end=true"]
    own += [f"kafka.brokers={json.dumps(kafka.brokers)}", "source.format=msgpack"]
    finish(start(tmp_path, settings=[*JOB, *own]))
    assert not [*read_lines(tmp_path / "run/dead_letters.jsonl")]
    path = tmp_path / "again.tsv"
    path.write_text(file.read_text("utf-8").replace("5\tshort\n", ""), encoding="utf-8")
    files = ["source.kind=csv", f'source.paths=["{path}"]', "source.header=false", "source.rows="]
    files += ['source.columns=["stars","title","body"]', 'source.separator="\\t"', *JOB]
    loop = reference(load_job(None, files))
    assert models(tmp_path) == {name: arrays(one.model()) for name, one in loop.learners.items()}
    records = read(tmp_path / "run/models/n00.npz").metadata["records"]
    assert records["text"] == ["title", "body"]
