"""`anabranch produce`: a file's records in a topic, each once, in order."""

import gzip
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from kafka.partitioner.default import murmur2
from typer.testing import CliRunner, Result

from pipelines.cli.app import app
from tests.brokers.client import Kafka, fresh_name
from tests.brokers.secure import SecureKafka

CSV = 'node,x1,x2,note,y\na,1.50,-2e-3,,1\nb,+1,.5,say,2\nc,007,1e400,"b, c",3\n'
VALUES = [
    b'{"node":"a","x1":1.50,"x2":-2e-3,"note":null,"y":1}',
    b'{"node":"b","x1":1.0,"x2":0.5,"note":"say","y":2}',
    b'{"node":"c","x1":7.0,"x2":1e400,"note":"b, c","y":3}',
]


def call(*words: object) -> Result:
    return CliRunner().invoke(app, ["produce", *map(str, words)])


def at(kafka: Kafka) -> tuple[str, str]:
    return "--brokers", ",".join(kafka.brokers)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text(CSV, encoding="utf-8")
    return tmp_path / "rows.csv"


def test_numbers_of_csv_stay_numbers_digit_for_digit(kafka: Kafka, file: Path) -> None:
    topic, before = kafka.topic(), time.time_ns() // 1_000_000
    result = call(file, "--topic", topic, *at(kafka))
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"{topic}: 3 records in ")
    records = kafka.read(topic, count=3)
    assert [record.value for record in records] == VALUES
    assert [record.key for record in records] == [None] * 3
    for record in records:
        assert before <= record.timestamp <= time.time_ns() // 1_000_000


def test_a_field_becomes_the_key_and_chooses_the_partition(kafka: Kafka, file: Path) -> None:
    topic = kafka.topic(3)
    file.write_text("node,y\n" + "a,1\nb,2\n" * 20, encoding="utf-8")
    assert call(file, "--topic", topic, "--key", "node", *at(kafka)).exit_code == 0
    records = kafka.read(topic, count=40)
    places: dict[bytes, set[int]] = {record.key: set() for record in records}
    for record in records:
        places[record.key].add(record.partition)
        assert json.loads(record.value)["node"].encode() == record.key
    assert places == {key: {(murmur2(key) & 0x7FFFFFFF) % 3} for key in (b"a", b"b")}


def test_without_a_key_partitions_take_turns(kafka: Kafka, tmp_path: Path) -> None:
    topic, file = kafka.topic(3), tmp_path / "rows.jsonl"
    lines = [b'{"x":%d,"y":1}' % i for i in range(2500)]
    file.write_bytes(b"\n".join(lines))
    assert call(file, "--topic", topic, *at(kafka)).exit_code == 0
    by_partition: dict[int, list[bytes]] = {0: [], 1: [], 2: []}
    for record in kafka.read(topic, count=2500):
        by_partition[record.partition].append(record.value)
    assert [by_partition[n] for n in range(3)] == [lines[n::3] for n in range(3)]


def test_keys_may_take_turns_too(kafka: Kafka, file: Path) -> None:
    topic = kafka.topic(3)
    words = ("--topic", topic, "--key", "node", "--partition-by", "turn")
    assert call(file, *words, *at(kafka)).exit_code == 0
    records = kafka.read(topic, count=3)
    assert [(r.partition, r.key) for r in records] == [(0, b"a"), (1, b"b"), (2, b"c")]


@pytest.mark.parametrize("format", ["msgpack", "csv"])
def test_other_formats_say_the_same(kafka: Kafka, file: Path, format: str) -> None:
    topic = kafka.topic()
    words = ("--topic", topic, "--format", format, "--text", "x1")
    assert call(file, *words, *at(kafka)).exit_code == 0
    values = [record.value for record in kafka.read(topic, count=3)]
    if format == "csv":
        assert values == CSV.encode().splitlines()[1:]
        return
    first, _, third = map(msgspec.msgpack.decode, values)
    assert first == {"node": "a", "x1": "1.50", "x2": -0.002, "note": None, "y": 1}
    assert third == {"node": "c", "x1": "007", "x2": float("inf"), "note": "b, c", "y": 3}


@pytest.mark.parametrize("format", ["json", "msgpack", "csv"])
def test_json_lines_packed(kafka: Kafka, tmp_path: Path, format: str) -> None:
    topic, file = kafka.topic(), tmp_path / "rows.jsonl.gz"
    lines = b'\xef\xbb\xbf{"k": "n 1", "x": 1.10}\n\n{"k": 7, "x": [1]}\r\n{"x": 2}\nno JSON\n'
    file.write_bytes(gzip.compress(lines))
    result = call(file, "--topic", topic, "--format", format, "--key", "k", *at(kafka))
    assert result.exit_code == 0
    assert "line 4: field 'k'" in result.stderr
    assert "line 5: " in result.stderr
    assert "2 lines are no records and were left out" in result.stderr
    first, second = kafka.read(topic, count=2)
    assert (first.key, second.key) == (b"n 1", b"7")
    wanted: dict[str, list[Any]] = {
        "json": [b'{"k": "n 1", "x": 1.10}', b'{"k": 7, "x": [1]}'],
        "msgpack": [
            msgspec.msgpack.encode(r) for r in ({"k": "n 1", "x": 1.1}, {"k": 7, "x": [1]})
        ],
        "csv": [b"n 1,1.1", b"7,[1]"],
    }
    assert [first.value, second.value] == wanted[format]


def test_bad_json_is_the_readers_affair(kafka: Kafka, tmp_path: Path) -> None:
    topic, file = kafka.topic(), tmp_path / "rows.ndjson"
    file.write_bytes(b'{"x": 1}\nno JSON\n\xff\n')
    assert call(file, "--topic", topic, *at(kafka)).exit_code == 0
    assert [r.value for r in kafka.read(topic, count=3)] == [b'{"x": 1}', b"no JSON", b"\xff"]


def test_bad_rows_are_left_out_and_told(kafka: Kafka, file: Path) -> None:
    topic = kafka.topic()
    file.write_bytes(b'x,y\n1,2\n3\n1,2,3\n"1,2\n\xff,1\n' + b"1\n" * 30)
    result = call(file, "--topic", topic, *at(kafka))
    assert result.exit_code == 0
    assert "line 3: it has 1 fields, and the header 2" in result.stderr
    assert "further bad lines are only counted" in result.stderr
    assert "34 lines are no records" in result.stderr
    assert [record.value for record in kafka.read(topic)] == [b'{"x":1,"y":2}']


def test_a_missing_topic_is_made(kafka: Kafka, file: Path) -> None:
    topic = fresh_name()
    assert call(file, "--topic", topic, "--partitions", 2, *at(kafka)).exit_code == 0
    assert set(kafka.ends(topic)) == {0, 1}


def test_the_rate_is_kept(kafka: Kafka, file: Path) -> None:
    topic = kafka.topic()
    file.write_text("x,y\n" + "1,1\n" * 41, encoding="utf-8")
    begin = time.monotonic()
    assert call(file, "--topic", topic, "--rate", 20, *at(kafka)).exit_code == 0
    assert time.monotonic() - begin >= 2.0
    times = [record.timestamp for record in kafka.read(topic, count=41)]
    assert times[-1] - times[0] >= 1500


def test_repeating_goes_on_until_told_and_then_nothing_is_lost(kafka: Kafka, file: Path) -> None:
    topic = kafka.topic()
    command = [sys.executable, "-m", "pipelines.cli", "produce", str(file), "--topic", topic]
    with subprocess.Popen(
        [*command, "--repeat", "--rate", "200", *at(kafka)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            kafka.read(topic, count=20, timeout=60)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0, err
    values = [record.value for record in kafka.read(topic)]
    assert out.startswith(f"{topic}: {len(values):,} records in ")
    assert values == [VALUES[i % 3] for i in range(len(values))]


def test_the_job_file_names_the_brokers(kafka: Kafka, file: Path, tmp_path: Path) -> None:
    job, topic = tmp_path / "job.toml", kafka.topic()
    job.write_text(f"[kafka]\nbrokers = {json.dumps(kafka.brokers)}\n", encoding="utf-8")
    assert call(file, "--topic", topic, "--job", job).exit_code == 0
    assert len(kafka.read(topic, count=3)) == 3


def test_guarded_brokers(
    secure_kafka: SecureKafka, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = secure_kafka.topic()
    monkeypatch.setenv("SECRET", secure_kafka.passwords["bob"])
    keys = {
        "security": "sasl_tls",
        "mechanism": "SCRAM-SHA-256",
        "username": "bob",
        "password_env": "SECRET",
        "ca_file": secure_kafka.certificates.ca_file,
    }
    words = ["--topic", topic, "--brokers", secure_kafka.sasl_tls[0]]
    words += [word for key, value in keys.items() for word in ("--set", f"kafka.{key}={value}")]
    refused = call(file, *words)
    assert refused.exit_code == 2
    assert "may not be" in refused.stderr
    assert secure_kafka.passwords["bob"] not in refused.output
    secure_kafka.grant("bob", topic, "WRITE")
    done = call(file, *words)
    assert done.exit_code == 0, done.output
    assert len(secure_kafka.read(topic)) == 3


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["no.csv"], "cannot be read: No such file"),
        (["no.parquet"], "ends in none of .csv, .tsv, .arff, .jsonl, .ndjson"),
        (["{file}", "--key", "nod"], "--key is 'nod', which the header"),
        (["{file}", "--text", "nod"], "--text is 'nod', which the header"),
        (["{file}", "--rate", "0"], "--rate is 0; it must be more than 0"),
        (["{file}", "--partitions", "0"], "--partitions is 0; it must be 1 or more"),
        (["{file}", "--partition-by", "key"], "--key names no field"),
        (["{file}", "--set", "job.name=a"], "'job.name=a' is not of the form kafka.KEY=VALUE"),
        (["{file}", "--set", "kafka.securty=tls"], "kafka.securty is unknown; did you mean"),
        (["{file}", "--set", "kafka.security=tsl"], 'kafka.security is "tsl"'),
        (["{file}", "--set", "kafka.ca_file=ca.pem"], "kafka.ca_file is 'ca.pem', but"),
        (["{file}", "--brokers", "localhost"], "kafka.brokers names 'localhost'"),
        (["{file}", "--brokers", "bob:word@h:9"], 'a name or password before "@h:9"; it must be'),
        (["{file}", "--job", "no.toml"], "the job file no.toml cannot be read"),
    ],
)
def test_wrong_use_is_told(file: Path, words: list[str], sentence: str) -> None:
    words = [word.replace("{file}", str(file)) for word in words]
    brokers = [] if {"--brokers", "--job"} & set(words) else ["--brokers", "localhost:1"]
    result = call(*words, "--topic", "t", *brokers)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_nobody_named_and_nobody_there(file: Path) -> None:
    assert "give --brokers HOST:PORT, or a job file" in call(file, "--topic", "t").stderr
    words = ("--topic", "t", "--brokers", "localhost:1", "--set", "kafka.timeout=1s")
    result = call(file, *words)
    assert result.exit_code == 2
    assert "'localhost:1'" in result.stderr
    assert "nobody answers within 1 s" in result.stderr


def test_brokers_that_go_away_and_come_back(private_kafka: Kafka, file: Path) -> None:
    topic = private_kafka.topic()
    file.write_text("x\n" + "".join(f"{i}\n" for i in range(400)), encoding="utf-8")
    command = [sys.executable, "-m", "pipelines.cli", "produce", str(file), "--topic", topic]
    with subprocess.Popen(
        [*command, "--rate", "100", *at(private_kafka)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            private_kafka.read(topic, count=20, timeout=60)
            private_kafka.broker.kill()
            told = process.stderr.readline() if process.stderr else ""
            private_kafka.broker.start()
            out, err = process.communicate(timeout=100)
        finally:
            process.kill()
    assert told.startswith("warning: "), told + err
    assert private_kafka.brokers[0] in told
    assert process.returncode == 0, err
    assert out.startswith(f"{topic}: 400 records in ")
    values = [record.value for record in private_kafka.read(topic)]
    assert values == [b'{"x":%d}' % i for i in range(400)]
