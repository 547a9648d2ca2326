"""A job over topics under watch: python -m benchmarks.kafka_soak [SECONDS] [--rate N].

A producer writes samples at a steady rate; processes learn them, with recovery, and write
their predictions. Memory, open files and the size of the snapshots are read every few seconds,
and drawn. Needs Java and Maven.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.jobs import command
from benchmarks.kafka_topics import broker, sample
from benchmarks.table import Row, print_rows, write_results
from benchmarks.watching import Sample, slopes, watch
from pipelines.run_dir import RunDirectory
from tests.brokers.client import Kafka

__all__ = ["main"]

ROWS = 20_000


def main() -> None:
    """Run producer and job, print, write and draw how it went; exit 1 when it ended badly."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kafka_soak")
    parser.add_argument("seconds", type=float, nargs="?", default=3600.0)
    parser.add_argument("--rate", type=int, default=500, help="samples a second")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--every", type=float, default=5.0, help="seconds between readings")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as name, broker() as kafka:
        samples, code, rows = _soak(kafka, Path(name), args)
    print_rows(Console(width=110), rows)
    path = write_results("kafka_soak", rows, exit_code=code, samples=samples)
    _draw(samples, path.with_suffix(".html"))
    print(f"{'failed' if code else 'ended well on SIGTERM'}; {path}, and .html beside it")
    sys.exit(code != 0)


def _soak(
    kafka: Kafka, folder: Path, args: argparse.Namespace
) -> tuple[list[Sample], int, list[Row]]:
    topic, out = kafka.topic(4), kafka.topic(4)
    data = folder / "samples.jsonl"
    data.write_bytes(b"".join(value + b"\n" for value in sample(0, ROWS)))
    produce = [command({})[0], "produce", str(data), "--topic", topic, "--rate", str(args.rate)]
    produce += ["--brokers", ",".join(kafka.brokers), "--repeat"]
    producer = subprocess.Popen(produce, stdout=subprocess.DEVNULL)
    with (folder / "output").open("w+") as output:
        line = command(_settings(kafka, topic, out, folder, args))
        job = subprocess.Popen(line, stdout=output, stderr=subprocess.STDOUT, cwd=folder)
        try:
            samples, code = watch(job, folder, args.seconds, args.every)
        finally:
            producer.terminate()
            producer.wait()
        output.seek(0)
        if code:
            print(output.read(), file=sys.stderr)
    return samples, code, [*slopes(samples), *_counts(kafka, topic, out, folder)]


def _counts(kafka: Kafka, topic: str, out: str, folder: Path) -> list[Row]:
    """What was learned and predicted is what was read."""
    learned = RunDirectory(folder / "run").final_rows()["cooperative"]["samples"]
    offered, written = (sum(kafka.ends(name).values()) for name in (topic, out))
    section, peer = "soak: records", ("learned", float(learned))
    return [
        Row(section, "produced", float(offered), ""),
        Row(section, "learned", float(learned), ""),
        Row(section, "predictions", float(written), "", *peer, "1", written == learned),
    ]


def _settings(
    kafka: Kafka, topic: str, out: str, folder: Path, args: argparse.Namespace
) -> dict[str, Any]:
    return {
        "source.kind": "kafka",
        "source.rows": "",  # the built-in job's source is a generator
        "source.topics": json.dumps([topic]),
        "source.features": json.dumps([f"x{i + 1}" for i in range(20)]),
        "kafka.brokers": json.dumps(kafka.brokers),
        "network.nodes": 20,
        "learner.ranks": 4,
        "evaluation.companions": "[]",
        "output.predictions": f"kafka:{out}",
        "job.run_dir": folder / "run",
        "recovery.dir": folder / "state",
        "parallel.processes": args.processes,
        "parallel.restarts": 0,
    }


def _draw(samples: Sequence[Sample], path: Path) -> None:
    """Draw every reading over the minutes."""
    from bokeh.layouts import column
    from bokeh.plotting import figure, output_file, save

    names = [name for name in samples[-1] if name != "seconds"]
    plots = []
    for name in names:
        points = [(s["seconds"] / 60, s[name]) for s in samples if name in s]
        plot = figure(title=name, height=200, width=900, x_axis_label="minutes")
        plot.y_range.start = 0
        plot.line(*map(list, zip(*points, strict=True)))
        plots.append(plot)
    output_file(path, title="soak", mode="inline")
    save(column(plots))


if __name__ == "__main__":
    main()
