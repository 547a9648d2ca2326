"""A job under attack: python -m benchmarks.chaos [--samples N] [--kills N] [--restarts N].

The job's processes are killed at random moments and begun again from recovery, and the broker is
restarted, until all samples are learned. The job is then held against the same job undisturbed:
in synchronous time bit for bit, in asynchronous time by its counts. Needs Java and Maven.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console

from anabranch.model_file import read
from benchmarks.jobs import command
from benchmarks.kafka_topics import broker, fill
from benchmarks.processes import children
from benchmarks.table import Row, print_rows, write_results
from pipelines.run_dir import RunDirectory
from tests.brokers.client import Kafka

__all__ = ["main"]

PARTITIONS = 4


def main() -> None:
    """Attack both kinds of time, print and write what came of it; exit 1 if anything differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chaos")
    parser.add_argument("--samples", type=int, default=200_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--restarts", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rows: list[Row] = []
    with broker() as kafka:
        topic = fill(kafka, args.samples, PARTITIONS)
        for mode in ("synchronous", "asynchronous"):
            rows += _attacked(kafka, topic, mode, args)
    print_rows(Console(width=110), rows)
    print(write_results("chaos", rows, seed=args.seed))
    sys.exit(any(row.met is False for row in rows))


def _attacked(kafka: Kafka, topic: str, mode: str, args: argparse.Namespace) -> Iterator[Row]:
    section = f"{mode}: {args.samples:,} samples, {args.kills} kills, {args.restarts} restarts"
    with tempfile.TemporaryDirectory(prefix="chaos-") as name:
        calm, wild = Path(name) / "calm", Path(name) / "wild"
        outs = [kafka.topic(PARTITIONS) for _ in range(2)]
        _undisturbed(_settings(kafka, topic, mode, calm, outs[0]))
        begin = time.monotonic()
        _disturbed(kafka, _settings(kafka, topic, mode, wild, outs[1]), wild, args)
        yield Row(section, "time taken", time.monotonic() - begin, "s")
        learned = RunDirectory(wild / "run").final_rows()["cooperative"]["samples"]
        yield _exact(section, "samples learned", learned, args.samples)
        made = [record.key for record in kafka.read(outs[1], timeout=120)]
        yield _exact(section, "predictions, duplicates removed by id", len(set(made)), args.samples)
        yield Row(section, "duplicates", float(len(made) - len(set(made))), "records")
        if mode == "synchronous":
            same = _models(calm) == _models(wild)
            yield Row(section, "models equal bit for bit", float(same), "", aim="1", met=same)


def _exact(section: str, figure: str, value: float, wanted: int) -> Row:
    return Row(section, figure, float(value), "", aim=f"{wanted:,}", met=value == wanted)


def _settings(kafka: Kafka, topic: str, mode: str, folder: Path, out: str) -> dict[str, Any]:
    return {
        "source.kind": "kafka",
        "source.rows": "",  # the built-in job's source is a generator
        "source.topics": json.dumps([topic]),
        "source.features": json.dumps([f"x{i + 1}" for i in range(20)]),
        "source.until_end": "true",
        "source.rows_per_tick": 100,
        "kafka.brokers": json.dumps(kafka.brokers),
        "network.nodes": 20,
        "learner.ranks": 4,
        "learner.kernel": "linear",
        "exchange.mode": mode,
        "evaluation.companions": "[]",
        "output.predictions": f"kafka:{out}",
        "output.report": "false",
        "job.run_dir": folder / "run",
        "recovery.dir": folder / "state",
        "recovery.snapshot_every": "1s",
        "parallel.processes": 2,
    }


def _undisturbed(settings: dict[str, Any]) -> None:
    done = subprocess.run(command(settings), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)


def _disturbed(
    kafka: Kafka, settings: dict[str, Any], folder: Path, args: argparse.Namespace
) -> None:
    """Start the job again after every kill; spread kills and restarts over its samples."""
    chance = random.Random(args.seed)
    shots = ["kill"] * args.kills + ["restart"] * args.restarts
    chance.shuffle(shots)
    moments = sorted(chance.uniform(0.02, 0.9) for _ in shots)
    job = _start(settings, folder)
    for shot, moment in zip(shots, moments, strict=True):
        _await(job, folder, int(moment * args.samples))
        if shot == "restart":
            kafka.broker.kill()
            time.sleep(chance.uniform(0, 5))
            kafka.broker.start()
            continue
        for pid in (job.pid, *children(job.pid)):
            os.kill(pid, signal.SIGKILL)
        job.wait()
        job = _start(settings, folder, "--resume")
    if job.wait():
        raise RuntimeError((folder / "output").read_text())


def _start(settings: dict[str, Any], folder: Path, *how: str) -> "subprocess.Popen[bytes]":
    folder.mkdir(exist_ok=True)
    with (folder / "output").open("ab") as output:
        line = [*command(settings), *how]
        return subprocess.Popen(line, stdout=output, stderr=subprocess.STDOUT)


def _await(job: "subprocess.Popen[bytes]", folder: Path, samples: int) -> None:
    """Wait until so many samples are learned; a job that has ended has learned them all."""
    run_dir = RunDirectory(folder / "run")
    while job.poll() is None:
        status = run_dir.read_status()
        if status is not None and status["samples"] >= samples:
            return
        time.sleep(0.05)


def _models(folder: Path) -> dict[str, dict[str, bytes]]:
    files = (folder / "run" / "models").glob("*.npz")
    return {file.stem: _arrays(read(file).state) for file in files}


def _arrays(state: dict[str, Any]) -> dict[str, bytes]:
    return {name: value.tobytes() for name, value in state.items() if hasattr(value, "tobytes")}


if __name__ == "__main__":
    main()
