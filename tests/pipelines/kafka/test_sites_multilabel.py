"""Sets of labels over topics: two sites end as one job, also with labels only one of them has."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from anabranch import load
from anabranch.protocol import Labelled
from anabranch.synthetic_labels import labelled
from pipelines.run_dir import RunDirectory
from tests.brokers.client import Kafka, fresh_name
from tests.pipelines.jobs import finish, kill, models, round_of, start, wait_for, workers
from tests.pipelines.kafka.jobs import NODES, predictions, settings

EAST, WEST = NODES[:3], NODES[3:]
COUNT = 600
STREAM = labelled(4, 3, noise=0.1, seed=6)
MORE = [
    f"source.features={json.dumps(STREAM.names)}",
    "source.label=tags",
    "source.label_list=true",
    "learner.kind=doml",
    "learner.cache=60",
    "learner.ranks=",
    "learner.kernel=",
    "learner.dimension=",
    "exchange.rounds_per_tick=2",
]


def records(count: int, begin: int, nodes: Sequence[str], kept: Sequence[str]) -> list[bytes]:
    """Make samples of the nodes, in turn, with those of their labels that are kept."""
    X, y = STREAM.block(begin, count)
    return [
        json.dumps(
            dict(zip(STREAM.names, x, strict=True))
            | {"node": nodes[i % len(nodes)]}
            | {
                "tags": [
                    n for n, there in zip(STREAM.labels, row, strict=True) if there and n in kept
                ]
            }
        ).encode()
        for i, (x, row) in enumerate(zip(X.tolist(), y.tolist(), strict=True))
    ]


@pytest.fixture(scope="module")
def topics(kafka: Kafka) -> dict[str, str]:
    """Each site's own samples; the first label is the east's alone, the last the west's."""
    found = {"east": kafka.topic(), "west": kafka.topic()}
    kafka.produce(found["east"], records(COUNT, 0, EAST, STREAM.labels[:2]))
    kafka.produce(found["west"], records(COUNT, COUNT, WEST, STREAM.labels[1:]))
    return found


def site(kafka: Kafka, topics: dict[str, str], here: str, letters: str) -> list[str]:
    hosts = f"sites.nodes={{east={json.dumps(EAST)}, west={json.dumps(WEST)}}}"
    own = [hosts, f"sites.here={here}", f"sites.topic={letters}", f"sites.run={letters}"]
    return settings(kafka, [topics[here]], "exchange.transport=kafka", *own, *MORE)


def test_two_sites_with_other_labels_end_as_one_job(
    tmp_path: Path, kafka: Kafka, topics: dict[str, str]
) -> None:
    one, letters = tmp_path / "one", fresh_name()
    told = kafka.topic()
    where = {here: tmp_path / here for here in ("east", "west")}
    for folder in (one, *where.values()):
        folder.mkdir()
    both = list(topics.values())
    out = f"output.predictions=kafka:{told}"
    finish(start(one, settings=settings(kafka, both, *MORE, out, "output.margins=true")))
    jobs = {h: start(where[h], settings=site(kafka, topics, h, letters)) for h in where}
    wait_for(lambda: round_of(where["east"]) >= 40)
    kill([jobs["east"].pid, *workers(where["east"]).values()])
    jobs["east"].communicate(timeout=60)
    wait_for(lambda: not workers(where["east"]))
    finish(start(where["east"], "--resume", settings=site(kafka, topics, "east", letters)))
    finish(jobs["west"])
    assert models(where["east"]) | models(where["west"]) == models(one)
    for path in (where["east"] / "run/models").iterdir():
        model = load(path)
        assert isinstance(model, Labelled)
        assert model.labels == STREAM.labels
    _check_told(kafka, told, one)


def _check_told(kafka: Kafka, told: str, folder: Path) -> None:
    """Predictions in the topic are lists of names, and make the scores of the run."""
    rows = list(predictions(kafka, told).values())
    assert len(rows) == 2 * COUNT
    wrong = sum(len({*row["y"]} ^ {*row["prediction"]}) for row in rows)  # type: ignore[misc]
    scores = RunDirectory(folder / "run").final_rows()["cooperative"]["scores"]
    assert scores["HammingLoss"] == pytest.approx(wrong / len(rows) / len(STREAM.labels))
