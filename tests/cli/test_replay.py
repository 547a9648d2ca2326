"""`anabranch replay`: dead letters' originals back where they came from."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from anabranch.stream import DeadLetter
from connectors.kafka.dead_letters import dead_letter_records
from connectors.sinks import encode_dead_letter
from pipelines.cli.app import app
from tests.brokers.client import Kafka, fresh_name

BACK = "anabranch.replayed-from"


def call(kafka: Kafka, *words: object) -> Result:
    brokers = ("--brokers", ",".join(kafka.brokers))
    return CliRunner().invoke(app, ["replay", *map(str, words), *brokers])


def letter(
    topic: str, number: int, offset: int, reason: str, raw: bytes, **more: Any
) -> DeadLetter:
    return DeadLetter(reason, "so it is", topic, f"{topic}:{number}", offset, raw, **more)


def bury(kafka: Kafka, dead: str, letters: list[DeadLetter], limit: int = 900_000) -> None:
    records = [record for each in letters for record in dead_letter_records(each, limit)]
    kafka.produce(
        dead,
        [record.value for record in records],
        keys=[record.key for record in records],
        partition=0,
        headers=[record.headers for record in records],
    )


def gist(records: list[Any]) -> list[tuple[Any, ...]]:
    return [(r.partition, r.key, r.value, *r.headers) for r in records]


@pytest.fixture
def topic(kafka: Kafka) -> str:
    return kafka.topic(2)


@pytest.fixture
def dead(kafka: Kafka, topic: str) -> str:
    """Three letters of a topic: two that hold all of the original, one only what a node had."""
    kafka.produce(topic, [b'{"x": 1, "y": 9}'], keys=[b"k"], partition=1, headers=[[("h", b"9")]])
    dead = kafka.topic()
    headers = (("h", b"1"), ("anabranch.id", b"theirs"), (BACK, b"dead:0:99"), ("h", b""))
    letters = [
        letter(topic, 1, 70, "malformed", b"\xff{", key=b"a\x00", headers=headers, time=5),
        letter(topic, 0, 71, "unknown_node", b'{"x": 2}'),
        letter(topic, 1, 0, "refused", b"1.0,9.0", time=6),
    ]
    bury(kafka, dead, letters)
    return dead


def test_originals_go_back_as_they_came(kafka: Kafka, topic: str, dead: str) -> None:
    result = call(kafka, "--dead", dead)
    assert result.exit_code == 0, result.output
    assert gist(kafka.read(topic, count=4)) == [
        (0, None, b'{"x": 2}', (BACK, f"{dead}:0:1".encode())),
        (1, b"k", b'{"x": 1, "y": 9}', ("h", b"9")),
        (
            *(1, b"a\x00", b"\xff{", ("h", b"1"), ("anabranch.id", b"theirs"), ("h", b"")),
            (BACK, f"{dead}:0:0".encode()),
        ),
        (1, b"k", b'{"x": 1, "y": 9}', ("h", b"9"), (BACK, f"{dead}:0:2".encode())),
    ]
    told = [line.split() for line in result.stdout.splitlines()]
    assert told == [
        ["malformed", "1", "to", topic],
        ["refused", "1", "to", topic],
        ["unknown_node", "1", "to", topic],
        ["3", "replayed"],
        ["for", "what", "comes", "later:", "--start", "0:3"],
    ]


def test_only_some_reasons(kafka: Kafka, topic: str, dead: str) -> None:
    words = ("--reason", "unknown_node", "--reason", "bad_label")
    assert "1 replayed" in call(kafka, "--dead", f"kafka:{dead}", *words).stdout
    assert [record.value for record in kafka.read(topic)] == [b'{"x": 2}', b'{"x": 1, "y": 9}']


def test_a_dry_run_counts_and_writes_nothing(kafka: Kafka, topic: str, dead: str) -> None:
    result = call(kafka, "--dead", dead, "--dry-run")
    assert "3 would be replayed" in result.stdout
    assert kafka.ends(topic) == {0: 0, 1: 1}


def test_another_topic_by_key(kafka: Kafka, topic: str, dead: str) -> None:
    other = kafka.topic(1)
    assert call(kafka, "--dead", dead, "--to", other).exit_code == 0
    values = [record.value for record in kafka.read(other, count=3)]
    assert values == [b"\xff{", b'{"x": 2}', b'{"x": 1, "y": 9}']
    assert kafka.ends(topic) == {0: 0, 1: 1}


def test_going_on_where_it_ended(kafka: Kafka, topic: str, dead: str) -> None:
    first = call(kafka, "--dead", dead, "--reason", "unknown_node").stdout
    start = re.findall(r"--start (\S+)", first)[0]
    bury(kafka, dead, [letter(topic, 0, 80, "malformed", b"late")])
    again = call(kafka, "--dead", dead, "--start", start).stdout
    assert "1 replayed" in again
    assert [record.value for record in kafka.read(topic)][:2] == [b'{"x": 2}', b"late"]
    assert "0 replayed" in call(kafka, "--dead", dead, "--start", "0:4").stdout


def test_from_a_time_on(apache_kafka: Kafka, topic: str) -> None:
    dead = apache_kafka.topic()
    for year, raw in ((2020, b"old"), (2024, b"young")):
        record = dead_letter_records(letter(topic, 0, year, "malformed", raw))[0]
        apache_kafka.produce(
            dead,
            [record.value],
            headers=[record.headers],
            timestamps=[(year - 1970) * 31_556_952_000 + 86_400_000],
        )
    result = call(apache_kafka, "--dead", dead, "--start", "2022-01-01T00:00:00Z")
    assert "1 replayed" in result.stdout
    assert [record.value for record in apache_kafka.read(topic)] == [b"young"]


def test_cut_letters_come_from_their_topic_while_it_has_them(
    apache_kafka: Kafka, topic: str
) -> None:
    dead, long = apache_kafka.topic(), b"x" * 5000
    apache_kafka.produce(topic, [long, b"b"], partition=0)
    letters = [letter(topic, 0, n, "too_long", raw) for n, raw in ((0, long), (5, long))]
    bury(apache_kafka, dead, letters, limit=2000)
    result = call(apache_kafka, "--dead", dead)
    assert result.exit_code == 0
    assert "1 replayed" in result.stdout
    assert "not: its topic has it no more" in result.stdout
    assert [record.value for record in apache_kafka.read(topic)] == [long, b"b", long]


def test_a_file_of_dead_letters(kafka: Kafka, topic: str, tmp_path: Path) -> None:
    kafka.produce(topic, [b"\xff" * 1200, b"b", b"c"], keys=[b"k", None, None], partition=1)
    file = tmp_path / "dead.jsonl"
    letters = [
        letter(topic, 1, 0, "malformed", b"\xff" * 1200),
        letter(topic, 1, 2, "malformed", b"c"),
        DeadLetter("malformed", "no", "rows.csv", "rows.csv", 4, b"1,2"),
    ]
    file.write_bytes(b"".join(map(encode_dead_letter, letters)))
    result = call(kafka, "--dead", file)
    assert result.exit_code == 0, result.output
    assert "2 replayed" in result.stdout
    assert "not: it came from no topic" in result.stdout
    assert "--start" not in result.stdout
    *_, first, second = gist(kafka.read(topic, count=5))
    assert first == (1, b"k", b"\xff" * 1200, (BACK, f"{file}:1".encode()))
    assert second == (1, None, b"c", (BACK, f"{file}:2".encode()))


def test_letters_that_came_from_files_go_where_they_are_told(kafka: Kafka, topic: str) -> None:
    dead = kafka.topic()
    whole = DeadLetter("malformed", "no", "rows.csv", "rows.csv", 4, b"1,2")
    cut = DeadLetter("malformed", "no", "rows.csv", "rows.csv", 5, b"1" * 1000)
    bury(kafka, dead, [whole, cut])
    assert "0 replayed" in call(kafka, "--dead", dead).stdout
    assert "1 replayed" in call(kafka, "--dead", dead, "--to", topic).stdout
    assert [record.value for record in kafka.read(topic)] == [b"1,2"]


def test_letters_between_sites_stay_where_they_are(kafka: Kafka, topic: str) -> None:
    dead = kafka.topic()
    bury(kafka, dead, [letter(topic, 0, 1, "other_run", b"parameters")])
    result = call(kafka, "--dead", dead)
    assert "not: parameters of a site are no samples" in result.stdout
    assert kafka.read(topic) == []


def test_the_job_file_names_them(kafka: Kafka, topic: str, dead: str, tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(
        f"[kafka]\nbrokers = {json.dumps(kafka.brokers)}\n"
        f'[output]\ndead_letters = "kafka:{dead}"\n',
        encoding="utf-8",
    )
    result = CliRunner().invoke(app, ["replay", "--job", str(job)])
    assert "3 replayed" in result.stdout


def test_wrong_use_is_told(kafka: Kafka, topic: str, dead: str, tmp_path: Path) -> None:
    kafka.produce(topic, [b"1"], partition=0)
    gone = kafka.topic()
    bury(kafka, gone, [letter(fresh_name(), 0, 1, "malformed", b"1")])
    other = tmp_path / "other.jsonl"
    other.write_text('{"a": 1}\n', encoding="utf-8")
    mistakes = {
        (): "give --dead TOPIC or --dead FILE.jsonl",
        ("--dead", fresh_name()): "is not",
        ("--dead", topic): "it is no dead letter",
        ("--dead", gone): "is not there: make it, or name another by --to",
        ("--dead", dead, "--start", "7:1"): f"--start names partition 7; {dead} has none",
        ("--dead", dead, "--start", "soon"): "--start is 'soon'",
        ("--dead", "no.jsonl"): "--dead is 'no.jsonl', which cannot be read",
        ("--dead", other): "whose line 1 is no dead letter",
        ("--dead", other, "--start", "0:1"): "is a file",
    }
    for words, sentence in mistakes.items():
        result = call(kafka, *words)
        assert result.exit_code == 2, (words, result.output)
        assert sentence in result.stderr
