"""Jobs that read and write topics, run as a user runs them."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from anabranch.synthetic import nonlinear
from pipelines.run_dir import read_lines
from tests.brokers.client import Kafka

FEATURES = ("x1", "x2")
NODES = tuple(f"n{i:02d}" for i in range(6))

SETTINGS = [
    "source.kind=kafka",
    "source.until_end=true",
    'source.features=["x1","x2"]',
    "source.node=field:node",
    "source.rows_per_tick=12",
    "network.nodes=6",
    "network.degree=3",
    "learner.ranks=4",
    "learner.kernel=gaussian",
    "learner.dimension=40",
    "exchange.mode=synchronous",
    "exchange.final_rounds=3",
    "recovery.snapshot_every=200ms",
    "output.report=false",
    "evaluation.companions=[]",
]


def settings(kafka: Kafka, topics: Sequence[str], *more: str) -> list[str]:
    """Give the settings of a job that reads topics; `more` come last and win."""
    brokers = f"kafka.brokers={json.dumps(kafka.brokers)}"
    return [*SETTINGS, brokers, f"source.topics={json.dumps(list(topics))}", *more]


def records(count: int, begin: int = 0, nodes: Sequence[str] = NODES) -> list[bytes]:
    """Make labelled samples of the nodes, in turn."""
    X, y = nonlinear(seed=3).block(begin, count)
    return [
        json.dumps(
            {"x1": x[0], "x2": x[1], "y": int(label), "node": nodes[(begin + i) % len(nodes)]}
        ).encode()
        for i, (x, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True))
    ]


def fill(kafka: Kafka, partitions: int = 2, count: int = 3000) -> str:
    """Make a topic with so many samples in each partition; give its name."""
    topic = kafka.topic(partitions)
    for number in range(partitions):
        kafka.produce(topic, records(count, number * count), partition=number)
    return topic


def as_files(folder: Path, kafka: Kafka, topic: str) -> list[str]:
    """Write each partition to a JSON Lines file, named as the partition; give the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    lines: dict[int, list[bytes]] = {}
    for record in kafka.read(topic):
        lines.setdefault(record.partition, []).append(record.value + b"\n")
    paths = []
    for number, rows in sorted(lines.items()):
        path = folder / f"part-{number}.jsonl"
        path.write_bytes(b"".join(rows))
        paths.append(str(path))
    return paths


def final_scores(folder: Path) -> dict[str, float]:
    """Give the scores of the whole network over the whole stream."""
    rows = [row for row in read_lines(folder / "run/scores.jsonl") if row["node"] is None]
    scores: dict[str, float] = rows[-1]["scores"]
    return scores


def predictions(kafka: Kafka, topic: str) -> dict[str, dict[str, object]]:
    """Give the predictions of a topic by id, the last of each id."""
    found: dict[str, dict[str, object]] = {}
    for record in kafka.read(topic):
        row = json.loads(record.value)
        assert record.key.decode() == row["id"]
        found[row["id"]] = row
    return found


def same(a: dict[str, bytes], b: dict[str, bytes]) -> bool:
    """Tell whether two models have the same arrays."""
    return a.keys() == b.keys() and all(np.array_equal(a[k], b[k]) for k in a)
