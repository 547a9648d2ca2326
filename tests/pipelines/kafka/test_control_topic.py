"""A node that joins a running job, asked for in a topic."""

import json
from pathlib import Path

from pipelines.networks import read_networks
from tests.brokers.client import Kafka, fresh_name
from tests.pipelines.jobs import finish, models, start, wait_for
from tests.pipelines.kafka.jobs import NODES, predictions, records, settings


def test_a_node_joins_by_a_topic_and_nothing_is_lost(tmp_path: Path, kafka: Kafka) -> None:
    topic, control, out = kafka.topic(2), fresh_name("control"), kafka.topic()
    live = ["source.until_end=false", "exchange.mode=asynchronous"]
    places = [f"network.control=kafka:{control}", f"output.predictions=kafka:{out}"]
    running = start(tmp_path, settings=settings(kafka, [topic], *live, *places))
    wait_for(lambda: (tmp_path / "run/status-0.json").exists())
    for part in range(2):
        kafka.produce(topic, records(30, 30 * part), partition=part)
    kafka.read(out, count=60)
    join = {"join": "n20", "neighbours": ["n00", "n01"], "from": "neighbour"}
    half = json.dumps({"join": "a\ud800b", "neighbours": ["n00"]})
    bad = [b"oops", b"[" * 200_000, half.encode(), b"\xff\n\x00"]
    kafka.produce(control, [*bad, json.dumps(join).encode()])
    wait_for(lambda: _networks(tmp_path) == 2)
    kafka.produce(topic, records(42, 60, nodes=(*NODES, "n20")), partition=0)
    kafka.read(out, count=102)
    running.terminate()
    told = finish(running)
    for offset in range(len(bad)):
        assert told.count(f"offset {offset} of topic {control}: no change is made: it is no") == 1
    made = predictions(kafka, out)
    assert len(made) == 102
    assert sum(row["node"] == "n20" for row in made.values()) == 6
    assert set(models(tmp_path)) == {*NODES, "n20"}
    assert (tmp_path / "run/start/n20.npz").exists()


def _networks(folder: Path) -> int:
    found = read_networks(folder / "run/networks.json")
    return 0 if found is None else len(found.eras)
