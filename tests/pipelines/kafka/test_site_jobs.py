"""Several jobs with a topic between them end as one job does."""

import json
import struct
from pathlib import Path

import pytest

from pipelines.run_dir import RunDirectory, read_lines
from tests.brokers.client import Kafka, fresh_name
from tests.pipelines.jobs import finish, kill, models, round_of, start, wait_for, workers
from tests.pipelines.kafka.jobs import NODES, records, settings

EAST, WEST = NODES[:3], NODES[3:]
COUNT = 1200


@pytest.fixture(scope="module")
def topics(kafka: Kafka) -> dict[str, str]:
    """Each site's own samples; the west has half as many again."""
    found = {"east": kafka.topic(), "west": kafka.topic()}
    kafka.produce(found["east"], records(COUNT, nodes=EAST))
    kafka.produce(found["west"], records(COUNT + COUNT // 2, COUNT, nodes=WEST))
    return found


@pytest.fixture(scope="module")
def truth(
    tmp_path_factory: pytest.TempPathFactory, kafka: Kafka, topics: dict[str, str]
) -> dict[str, dict[str, bytes]]:
    """The models of one job that reads both topics."""
    folder = tmp_path_factory.mktemp("one")
    finish(start(folder, settings=settings(kafka, list(topics.values()))))
    return models(folder)


def site(kafka: Kafka, topics: dict[str, str], here: str, letters: str, *more: str) -> list[str]:
    hosts = f"sites.nodes={{east={json.dumps(EAST)}, west={json.dumps(WEST)}}}"
    own = [hosts, f"sites.here={here}", f"sites.topic={letters}", f"sites.run={letters}"]
    return settings(kafka, [topics[here]], "exchange.transport=kafka", *own, *more)


def folders(tmp_path: Path) -> dict[str, Path]:
    made = {name: tmp_path / name for name in ("east", "west")}
    for folder in made.values():
        folder.mkdir()
    return made


@pytest.mark.parametrize("partitions", [1, 3])
def test_two_sites_end_as_one_job(
    tmp_path: Path, kafka: Kafka, topics: dict[str, str], truth: object, partitions: int
) -> None:
    letters, where = fresh_name(), folders(tmp_path)
    jobs = [
        start(
            where[here],
            settings=site(kafka, topics, here, letters, f"sites.partitions={partitions}"),
        )
        for here in where
    ]
    for job in jobs:
        finish(job)
    assert models(where["east"]) | models(where["west"]) == truth
    assert not _samples_in(kafka, letters, topics)
    # The run is over: begun anew under its name, its old letters would be taken for new ones.
    again = start(where["east"], "--overwrite", settings=site(kafka, topics, "east", letters))
    assert "holds messages of site" in finish(again, code=2)


@pytest.mark.parametrize("shape", ["server", "graph"])
def test_an_elastic_net_over_two_sites(
    tmp_path: Path, kafka: Kafka, topics: dict[str, str], shape: str
) -> None:
    """Its nodes are not alike: the hub, at one site, serves the nodes of both."""
    graph = {"server": "star", "graph": "ring"}[shape]
    learner = ["learner.kind=elastic-net", f"learner.shape={shape}", f"network.graph={graph}"]
    learner += ["network.degree=", "learner.kernel=", "learner.dimension="]
    one = tmp_path / "one"
    one.mkdir()
    finish(start(one, settings=settings(kafka, list(topics.values()), *learner)))
    letters, where = fresh_name(), folders(tmp_path)
    jobs = [
        start(where[here], settings=site(kafka, topics, here, letters, *learner)) for here in where
    ]
    for job in jobs:
        finish(job)
    assert models(where["east"]) | models(where["west"]) == models(one)


def _samples_in(kafka: Kafka, letters: str, topics: dict[str, str]) -> list[float]:
    """Search the letters for every feature of every sample, as text and as a float."""
    whole = b"\n".join(record.value for record in kafka.read(letters))
    assert len(whole) > 100_000
    rows = [json.loads(record.value) for t in topics.values() for record in kafka.read(t)]
    values = [row[name] for row in rows for name in ("x1", "x2")]
    return [v for v in values if struct.pack("<d", v) in whole or repr(v).encode() in whole]


def test_a_site_killed_comes_back_from_an_old_snapshot(
    tmp_path: Path, kafka: Kafka, topics: dict[str, str], truth: object
) -> None:
    letters, where = fresh_name(), folders(tmp_path)
    seldom = ["recovery.snapshot_every=2s"]
    jobs = {
        here: start(where[here], settings=site(kafka, topics, here, letters, *seldom))
        for here in where
    }
    wait_for(lambda: round_of(where["east"]) >= 60)
    kill([jobs["east"].pid, *workers(where["east"]).values()])
    jobs["east"].communicate(timeout=60)
    wait_for(lambda: not workers(where["east"]))
    back = start(
        where["east"],
        *("--resume", "--processes", "2"),
        settings=site(kafka, topics, "east", letters, *seldom),
    )
    finish(back)
    finish(jobs["west"])
    assert models(where["east"]) | models(where["west"]) == truth


def test_an_asynchronous_site_goes_on_alone_and_agrees_again(tmp_path: Path, kafka: Kafka) -> None:
    topics = {"east": kafka.topic(), "west": kafka.topic()}
    letters, where = fresh_name(), folders(tmp_path)
    free = [
        "exchange.mode=asynchronous",
        "exchange.stale_after=1s",
        "exchange.idle_every=200ms",
        "source.until_end=false",
        "evaluation.every=10",
    ]
    both = {here: site(kafka, topics, here, letters, *free) for here in where}
    jobs = {here: start(where[here], settings=both[here]) for here in where}
    for here, nodes in (("east", EAST), ("west", WEST)):
        kafka.produce(topics[here], records(300, nodes=nodes))
        wait_for(lambda here=here: _seen(where[here]) >= 300)
    kill([jobs["west"].pid, *workers(where["west"]).values()])
    jobs["west"].communicate(timeout=60)
    kafka.produce(topics["east"], records(600, 300, nodes=EAST))
    wait_for(lambda: _seen(where["east"]) >= 900)
    jobs["west"] = start(where["west"], "--resume", settings=both["west"])
    kafka.produce(topics["west"], records(300, 300, nodes=WEST))
    wait_for(lambda: _seen(where["west"]) >= 600)
    for here in where:
        before = len(_rows(where[here]))
        wait_for(lambda here=here, before=before: len(_rows(where[here])) > before + 3)
    for job in jobs.values():
        job.terminate()
    for job in jobs.values():
        finish(job)
    counts = [
        RunDirectory(f / "run").final_rows()["cooperative"]["samples"] for f in where.values()
    ]
    assert counts == [900, 600]


def _rows(folder: Path) -> list[dict[str, object]]:
    return [row for row in read_lines(folder / "run/scores.jsonl") if row["node"] is None]


def _seen(folder: Path) -> int:
    return max((int(str(row["samples"])) for row in _rows(folder)), default=0)


def test_letters_hold_no_sample_even_when_each_follows_one(tmp_path: Path, kafka: Kafka) -> None:
    """The first moments of a node that has one sample would be that sample."""
    topics = {"east": kafka.topic(), "west": kafka.topic()}
    for here, nodes in (("east", EAST), ("west", WEST)):
        kafka.produce(topics[here], records(300, nodes=nodes))
    letters, where = fresh_name(), folders(tmp_path)
    single = ["source.rows_per_tick=3"]
    jobs = [
        start(where[here], settings=site(kafka, topics, here, letters, *single)) for here in where
    ]
    for job in jobs:
        finish(job)
    assert not _samples_in(kafka, letters, topics)


def test_letters_of_another_network_are_refused_and_told(
    tmp_path: Path, kafka: Kafka, topics: dict[str, str]
) -> None:
    letters, where = fresh_name(), folders(tmp_path)
    kafka.topic(name=letters)
    kafka.produce(letters, [b"\x00nonsense", b"{}"], keys=[b"n00\x00n03", b"what"])
    jobs = [start(where[here], settings=site(kafka, topics, here, letters)) for here in where]
    # The first names a node of the east as its receiver, so the west passes it over.
    assert "2 dead letters (malformed_message 2)" in finish(jobs[0])
    assert "1 dead letters (malformed_message 1)" in finish(jobs[1])
