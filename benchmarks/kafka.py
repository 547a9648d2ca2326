"""A job over topics: python -m benchmarks.kafka [--quick].

Twenty nodes of mean degree four, linear dSVOR, 20 features as JSON, one Apache Kafka. The job
consumes, decodes, predicts, learns, exchanges and produces predictions; the bare loop consumes,
decodes (msgspec) and produces as many records of the same size. Both rates are read off the
times at which the broker took the records of the output. Needs Java, Maven and a quiet machine.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from kafka import KafkaProducer
from rich.console import Console

from benchmarks.jobs import command
from benchmarks.kafka_peers import bare_loop, consume_rate, produce_rate
from benchmarks.kafka_topics import broker, fill, sample, timed, written
from benchmarks.table import Row, print_rows, write_results
from tests.brokers.client import Kafka

__all__ = ["main"]

_RATE = "records/s"
_AIM = 0.7


def main() -> None:
    """Measure, print the table, write the JSON; exit 1 when an aim is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kafka")
    parser.add_argument("--quick", action="store_true", help="short runs; figures mean little")
    quick = parser.parse_args().quick
    count = 40_000 if quick else 400_000
    rows: list[Row] = []
    with broker() as kafka:
        for partitions in (1, 4):
            topic = fill(kafka, count, partitions)
            rows += _throughput(kafka, topic, count, partitions)
            if partitions > 1:
                rows += _consumers(kafka, topic, count, partitions)
        rows += _latency(kafka, 5 if quick else 30)
    print_rows(Console(width=110), rows)
    print(write_results("kafka", rows, quick=quick))
    sys.exit(any(row.met is False for row in rows) and not quick)


def _settings(kafka: Kafka, topic: str, out: str, folder: Path) -> dict[str, Any]:
    return {
        "source.kind": "kafka",
        "source.topics": json.dumps([topic]),
        "source.rows": "",  # the built-in job's source is a generator
        "source.features": json.dumps([f"x{i + 1}" for i in range(20)]),
        "kafka.brokers": json.dumps(kafka.brokers),
        "network.nodes": 20,
        "network.degree": 4,
        "learner.ranks": 4,
        "learner.kernel": "linear",
        "evaluation.companions": "[]",
        "output.predictions": f"kafka:{out}",
        "output.report": "false",
        "job.run_dir": folder / "run",
        "recovery.dir": folder / "state",
    }


def _throughput(kafka: Kafka, topic: str, count: int, partitions: int) -> Iterator[Row]:
    section = f"20 features, JSON, {count:,} records in {partitions} partitions"
    bare = timed(kafka, partitions)
    bare_loop(kafka, topic, count, bare, partitions)
    loop = written(kafka, bare).rate
    for mode in ("synchronous", "asynchronous"):
        out = timed(kafka, partitions)
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            settings = _settings(kafka, topic, out, Path(folder))
            ticks = {"exchange.mode": mode, "source.until_end": "true"}
            ticks["source.rows_per_tick"] = str(400 // partitions)
            _run(command({**settings, **ticks}))
        rate = written(kafka, out).rate
        yield Row(
            section, f"{mode} job", rate, _RATE, "bare loop", loop,
            f"at least {_AIM} of it", rate >= _AIM * loop,
        )  # fmt: skip


def _run(line: list[str]) -> None:
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(
            f"{' '.join(line)}\nended with {done.returncode}:\n{done.stdout}{done.stderr}"
        )


def _consumers(kafka: Kafka, topic: str, count: int, partitions: int) -> Iterator[Row]:
    section = "the client alone"
    numbers = list(range(partitions))
    one = consume_rate(kafka, topic, count, [numbers])
    several = consume_rate(kafka, topic, count, [[number] for number in numbers])
    yield Row(section, f"one consumer for {partitions} partitions", one, _RATE)
    yield Row(section, "a consumer for each", several, _RATE, "one for all", one)
    yield Row(section, "producer", produce_rate(kafka, kafka.topic(), count), _RATE)


def _latency(kafka: Kafka, seconds: int, rate: int = 1000) -> Iterator[Row]:
    topic, out = kafka.topic(4), timed(kafka)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        settings = _settings(kafka, topic, out, Path(folder))
        line = command({**settings, "exchange.mode": "asynchronous"})
        job = subprocess.Popen(line, stdout=subprocess.DEVNULL)
        try:
            _steadily(kafka, topic, 5 * rate, rate)  # until kernels and connections are warm
            begin = _steadily(kafka, topic, seconds * rate, rate)
            found = kafka.read(out, count=(seconds + 5) * rate, timeout=120)
        finally:
            job.terminate()
            job.wait()
    waits = [r.timestamp - json.loads(r.value)["time"] for r in found if r.timestamp >= begin]
    section = f"from a sample's production to its prediction's, {rate:,} samples/s"
    for name, share in (("p50", 50), ("p99", 99), ("longest", 100)):
        yield Row(section, name, float(np.percentile(waits, share)), "ms")


def _steadily(kafka: Kafka, topic: str, count: int, rate: int) -> float:
    """Produce at a steady rate; gives when it began, in ms."""
    values, begin = sample(0, count), time.time()
    with KafkaProducer(bootstrap_servers=kafka.brokers) as producer:
        for number, value in enumerate(values):
            wait = begin + number / rate - time.time()
            if wait > 0.001:
                time.sleep(wait)
            producer.send(topic, value, partition=number % 4)
        producer.flush()
    return begin * 1000


if __name__ == "__main__":
    main()
