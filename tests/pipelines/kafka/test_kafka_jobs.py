"""Jobs over topics: the same models as over files, whatever is killed."""

import json
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.run_dir import RunDirectory
from tests.brokers.client import Kafka
from tests.pipelines.jobs import finish, kill, models, round_of, start, wait_for, workers
from tests.pipelines.kafka.jobs import (
    as_files,
    fill,
    final_scores,
    predictions,
    records,
    settings,
)


@pytest.fixture(scope="module")
def topic(kafka: Kafka) -> str:
    return fill(kafka)


@pytest.fixture(scope="module")
def truth(
    tmp_path_factory: pytest.TempPathFactory, kafka: Kafka, topic: str
) -> tuple[dict[str, dict[str, bytes]], dict[str, float]]:
    """The models and scores of the same job over files."""
    folder = tmp_path_factory.mktemp("files")
    paths = as_files(folder / "data", kafka, topic)
    keys = ("source.kind=", "source.until_end=", "source.topics=", "kafka.")
    over_files = [s for s in settings(kafka, [topic]) if not s.startswith(keys)]
    files = [*over_files, "source.kind=jsonl", f"source.paths={json.dumps(paths)}"]
    finish(start(folder, settings=files))
    return models(folder), final_scores(folder)


@pytest.mark.parametrize("how", [(), ("--workers", "2"), ("--processes", "2")])
def test_a_topic_gives_what_files_give(
    tmp_path: Path, kafka: Kafka, topic: str, truth: object, how: tuple[str, ...]
) -> None:
    out = kafka.topic(3)
    job = settings(kafka, [topic], f"output.predictions=kafka:{out}", "output.margins=true")
    finish(start(tmp_path, *how, settings=job))
    assert (models(tmp_path), final_scores(tmp_path)) == truth
    made = predictions(kafka, out)
    assert set(made) == {f"{topic}:{part}:{i}" for part in range(2) for i in range(3000)}
    wrong = sum(row["prediction"] != row["y"] for row in made.values())
    assert 1 - wrong / 6000 == pytest.approx(final_scores(tmp_path)["Accuracy"], abs=1e-12)
    assert {len(row["margins"]) for row in made.values()} == {3}  # type: ignore[arg-type]


@pytest.mark.parametrize("resume", [(), ("--processes", "2")])
def test_killed_again_and_again(
    tmp_path: Path, kafka: Kafka, topic: str, truth: object, resume: tuple[str, ...]
) -> None:
    out = kafka.topic(2)
    job = settings(kafka, [topic], f"output.predictions=kafka:{out}")
    moments = random.Random(5)
    running = start(tmp_path, "--processes", "2", settings=job)
    for moment in sorted(moments.sample(range(0, 200), 3)):
        wait_for(lambda moment=moment: round_of(tmp_path) >= moment)
        kill([running.pid, *workers(tmp_path).values()])
        running.communicate(timeout=60)
        wait_for(lambda: not workers(tmp_path))
        running = start(tmp_path, "--resume", *resume, settings=job)
    finish(running)
    assert (models(tmp_path), final_scores(tmp_path)) == truth
    # The recipe of the README: whoever upserts by id has each prediction once.
    with sqlite3.connect(":memory:") as table:
        table.execute("CREATE TABLE made (id TEXT PRIMARY KEY, right INTEGER)")
        for record in kafka.read(out):
            row = json.loads(record.value)
            upsert = "ON CONFLICT (id) DO UPDATE SET right = excluded.right"
            made = (row["id"], row["prediction"] == row["y"])
            table.execute(f"INSERT INTO made VALUES (?, ?) {upsert}", made)
        count, right = table.execute("SELECT count(*), sum(right) FROM made").fetchone()
    assert count == 6000
    assert right / count == pytest.approx(final_scores(tmp_path)["Accuracy"], abs=1e-12)


def test_killed_before_its_first_snapshot_it_begins_where_it_would_have(
    tmp_path: Path, kafka: Kafka
) -> None:
    topic = kafka.topic()
    kafka.produce(topic, records(50))
    endless = ["source.start=latest", "source.until_end=false", "recovery.snapshot_every=1h"]
    job = settings(kafka, [topic], *endless)
    running = start(tmp_path, settings=job)
    wait_for(lambda: (tmp_path / "run/status-0.json").exists())
    kill(list(workers(tmp_path).values()))  # the supervisor starts it again
    kafka.produce(topic, records(120, 50))
    wait_for(lambda: round_of(tmp_path) >= 9)
    running.terminate()
    finish(running)
    row = RunDirectory(tmp_path / "run").final_rows()["cooperative"]
    assert row["samples"] == 120


def test_an_endless_job_learns_what_comes_and_stops_when_told(tmp_path: Path, kafka: Kafka) -> None:
    topic, out, scores = kafka.topic(2), kafka.topic(), kafka.topic()
    endless = ["source.until_end=false", "exchange.mode=asynchronous", "evaluation.every=1"]
    places = [f"output.predictions=kafka:{out}", f"output.scores=kafka:{scores}"]
    job = settings(kafka, [topic], *endless, *places)
    running = start(tmp_path, settings=job)
    wait_for(lambda: (tmp_path / "run/status-0.json").exists())
    for part in range(4):
        kafka.produce(topic, records(7, 7 * part), partition=part % 2)
        kafka.read(out, count=7 * (part + 1))
    running.terminate()
    finish(running)
    finish_early = start(tmp_path, "--resume", settings=job)
    kafka.produce(topic, records(5, 28), partition=0)
    kafka.read(out, count=33)
    finish_early.terminate()
    finish(finish_early)
    assert len(predictions(kafka, out)) == 33
    rows = [json.loads(record.value) for record in kafka.read(scores)]
    assert rows[-1]["samples"] <= 33
    assert {row["learner"] for row in rows} == {"cooperative"}


def test_a_partition_that_joins_is_told_and_taken_up_at_the_next_start(
    tmp_path: Path, kafka: Kafka
) -> None:
    if kafka.kind != "apache":
        pytest.skip("needs Apache Kafka: the broker cannot add partitions")
    topic = fill(kafka, partitions=1, count=240)
    endless = ["source.until_end=false"]
    running = start(tmp_path, settings=settings(kafka, [topic], *endless))
    wait_for(lambda: round_of(tmp_path) >= 19)
    kafka.grow(topic, 2)
    kafka.produce(topic, records(240, 240), partition=1)
    status = tmp_path / "run/status-0.json"
    wait_for(lambda: status.exists() and f"{topic}:1" in status.read_text())
    running.terminate()
    assert "has gained" in finish(running)
    again = start(tmp_path, "--resume", settings=settings(kafka, [topic], *endless))
    kafka.produce(topic, records(480, 480), partition=0)
    wait_for(lambda: _samples(tmp_path) >= 480 + 240)
    again.terminate()
    finish(again)
    # The first partition had 20 ticks or more when the job was resumed.
    begins = json.loads((tmp_path / "run/positions.json").read_text())["source"]
    first, second = (one["first_tick"] for one in begins.values())
    assert first == 0
    assert second >= 20


def _samples(folder: Path) -> int:
    row = RunDirectory(folder / "run").final_rows().get("cooperative", {})
    return int(row.get("samples", 0))


def test_dead_letters_go_to_a_topic_and_come_back(tmp_path: Path, kafka: Kafka) -> None:
    topic, dead = kafka.topic(), kafka.topic()
    good = records(60)
    bad = [b"\xff\x00", b"{", b'{"x1": 1}', b'{"x1": "a", "x2": 1, "y": 1, "node": "n00"}', None]
    kafka.produce(topic, [*good[:30], *bad, *good[30:]], keys=[b"k"] * 65)
    job = settings(kafka, [topic], f"output.dead_letters=kafka:{dead}")
    printed = finish(start(tmp_path, settings=job))
    assert "5 dead letters" in printed
    letters = kafka.read(dead)
    assert [letter.value for letter in letters] == [value or b"" for value in bad]
    assert {letter.key for letter in letters} == {b"k"}
    found = [dict(letter.headers) for letter in letters]
    assert [int(headers["anabranch.offset"]) for headers in found] == list(range(30, 35))
    assert {headers["anabranch.topic"].decode() for headers in found} == {topic}
    summary = json.loads((tmp_path / "run/summary.json").read_text())
    assert sum(summary["dead_letters"].values()) == 5
    assert summary["samples"] == 60
    status = json.loads((tmp_path / "run/status-0.json").read_text())
    assert (status["learned"], status["dead"]) == (60, 5)
    assert {h["anabranch.reason"].decode() for h in found} == set(summary["dead_letters"])


def test_labels_that_come_later_and_apart(tmp_path: Path, kafka: Kafka) -> None:
    samples, labels = kafka.topic(2), kafka.topic()
    whole = [json.loads(value) for value in records(300)]
    for i, row in enumerate(whole):
        row["id"] = f"s{i}"
    apart = [{k: v for k, v in row.items() if k != "y"} for row in whole]
    kafka.produce(samples, [json.dumps(row).encode() for row in apart])
    told = [{"id": row["id"], "y": row["y"], "node": row["node"]} for row in whole[:-20]]
    kafka.produce(labels, [json.dumps(row).encode() for row in told])
    out = kafka.topic()
    job = settings(
        kafka, [samples, labels], "source.id=field:id", f"output.predictions=kafka:{out}"
    )
    finish(start(tmp_path, settings=job))
    summary = json.loads((tmp_path / "run/summary.json").read_text())
    assert summary["samples"] == 280
    assert summary["dead_letters"] == {"label_never_came": 20}
    made = predictions(kafka, out)
    assert {row["sample"] for row in made.values()} == {f"s{i}" for i in range(300)}
    # What waited in vain is found again in its topic.
    replayed = kafka.topic(2)
    command = ["replay", "--dead", str(tmp_path / "run/dead_letters.jsonl"), "--to", replayed]
    done = subprocess.run(
        [sys.executable, "-m", "pipelines.cli", *command, "--brokers", ",".join(kafka.brokers)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ids = {json.loads(record.value)["id"] for record in kafka.read(replayed)}
    assert ids == {f"s{i}" for i in range(280, 300)}
