"""A file's way through Kafka: python -m examples.kafka_demo FILE.csv [--label NAME] [--ranks Q].

Starts a broker of its own, produces the file's records to a topic, runs a job that reads the
topic and writes its predictions to another, and runs the same job on the file. Ends with 1 when
a prediction is missing or the two jobs' scores differ.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from anabranch.synthetic import nonlinear
from pipelines.run_dir import RunDirectory
from tests.brokers.apache import Apache
from tests.brokers.client import Kafka
from tests.brokers.jars import ApacheMissingError
from tests.brokers.tansu import Tansu

RUNS = Path("runs")


def main() -> None:
    """Run the demonstration."""
    parser = argparse.ArgumentParser(prog="python -m examples.kafka_demo")
    parser.add_argument("file", type=Path, nargs="?", help="CSV; without one, a synthetic set")
    parser.add_argument("--label", default="y")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kafka-demo-") as name:
        file = args.file or _synthetic(Path(name) / "synthetic.csv")
        with _broker(Path(name) / "broker") as up:
            same = _compare(Kafka(up), file, args.label)
    print("the topic gave what the file gave" if same else "the topic and the file differ")
    sys.exit(not same)


def _synthetic(path: Path) -> Path:
    X, y = nonlinear(seed=1).block(0, 2000)
    rows = (f"{a},{b},{int(label)}\n" for (a, b), label in zip(X.tolist(), y, strict=True))
    path.write_text("x1,x2,y\n" + "".join(rows))
    return path


def _broker(folder: Path) -> Apache | Tansu:
    folder.mkdir()
    try:
        return Apache(folder)
    except ApacheMissingError as missing:
        print(f"{missing}; using Tansu")
        return Tansu(folder)


def _compare(kafka: Kafka, file: Path, label: str) -> bool:
    brokers = ",".join(kafka.brokers)
    _anabranch("produce", str(file), "--topic", "samples", "--brokers", brokers)
    kafka.topic(name="predictions")
    common = _settings(file, label)
    topic = {
        "source.kind": "kafka",
        "source.topics": '["samples"]',
        "source.until_end": "true",
        "kafka.brokers": json.dumps(kafka.brokers),
        "output.predictions": "kafka:predictions",
    }
    scores = [
        _scores("kafka-demo", common | topic),
        _scores("kafka-demo-file", common | {"source.paths": json.dumps([str(file)])}),
    ]
    rows = sum(1 for _ in file.open()) - 1
    made = {record.key for record in kafka.read("predictions")}
    print(f"{len(made):,} predictions for {rows:,} records; scores {scores[0]}")
    return len(made) == rows and scores[0] == scores[1]


def _settings(file: Path, label: str) -> dict[str, str]:
    lines = file.read_text().splitlines()
    names = lines[0].split(",")
    ranks = max(int(float(line.split(",")[names.index(label)])) for line in lines[1:])
    return {
        "source.kind": "csv",
        "source.rows": "",  # the built-in job's source is a generator
        "source.label": label,
        "source.features": json.dumps([name for name in names if name != label]),
        "learner.ranks": str(ranks),
        "evaluation.companions": "[]",
    }


def _scores(name: str, settings: dict[str, str]) -> dict[str, float]:
    run_dir = RunDirectory(RUNS / name)
    shutil.rmtree(run_dir.path, ignore_errors=True)
    settings = {"job.name": name, "job.run_dir": str(run_dir.path), **settings}
    _anabranch("run", *(w for key, value in settings.items() for w in ("--set", f"{key}={value}")))
    scores: dict[str, float] = run_dir.final_rows()["cooperative"]["scores"]
    return scores


def _anabranch(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "pipelines.cli", *words], check=True)


if __name__ == "__main__":
    main()
