"""Every mistake in topics, brokers and sites is told in one sentence."""

import copy
from typing import Any

import pytest

from anabranch.errors import ConfigurationError
from pipelines.config import build_job

Tables = dict[str, dict[str, Any]]
KAFKA: Tables = {
    "source": {"kind": "kafka", "topics": ["t"], "features": ["a", "b"], "until_end": True},
    "kafka": {"brokers": ["localhost:9092"]},
    "network": {"nodes": ["p", "q"], "graph": "complete"},
    "learner": {"kind": "dsvor", "ranks": 3},
}
SITES = {"here": "east", "nodes": {"east": ["p"], "west": ["q"]}}
APART = {"id": "field:id", "node": "id"}
TIME = "2026-01-31 12:00+01:00"

WRONG = [
    ({"source.topics": []}, "source.topics is empty; it must name one or more topics"),
    ({"source.topics": ["t", "t"]}, 'source.topics has "t" twice'),
    ({"source.topics": ["a b"]}, 'source.topics has "a b", which names no topic'),
    ({"source.start": "soon"}, 'source.start is "soon"; it must be earliest, latest, or a time'),
    ({"source.start": "2026-01-31"}, 'source.start is "2026-01-31"; it must be earliest, latest'),
    ({"source.columns": ["a"]}, "source.columns applies to csv only"),
    ({"source.format": "csv", "source.features": None}, "source.features is none; messages in csv"),
    ({"source.rows": 5}, "source.rows is 5, but applies to generators only"),
    ({"source.paths": ["f"]}, "source.paths"),
    ({"source.on_expired": "skip"}, "it must be one of earliest, latest, stop"),
    ({"source.label_wait": "5s"}, 'source.label_wait is "5s", but source.id is none'),
    ({"source.node": "id"}, 'source.node is "id", but source.id is none'),
    ({"source.id": "field:id"}, "a label would not find the node of its sample"),
    ({"source.id": "id"}, 'source.id is "id"; it must be one of key, header:NAME, field:NAME'),
    ({**{f"source.{k}": v for k, v in APART.items()}, "source.features": None}, "must name them"),
    ({**{f"source.{k}": v for k, v in APART.items()}, "source.format": "csv"}, "json or msgpack"),
    ({"kafka.brokers": []}, "kafka.brokers is empty, but source.topics needs one"),
    ({"kafka.brokers": ["localhost"]}, 'kafka.brokers has "localhost"; it must be host:port'),
    ({"kafka.brokers": ["h:99999"]}, 'kafka.brokers has "h:99999"; it must be host:port'),
    ({"kafka.security": "ssl"}, "it must be one of plaintext, sasl_plaintext, sasl_tls, tls"),
    ({"kafka.password": "x"}, "the key kafka.password is unknown"),
    ({"output.predictions": "kafka:"}, "output.predictions"),
    ({"output.predictions": "kafka:a", "output.scores": "kafka:a"}, "a place of its own"),
    (
        {"output.predictions": "kafka:t"},
        'output.predictions is "t", which is in source.topics, too',
    ),
    ({"output.dead_letters": "kafka:t"}, "it must be another topic"),
    ({"kafka.brokers": ["bob:word@host:9"]}, 'a name or password before "@host:9"; it must be'),
    ({"output.scores": "scores.jsonl"}, "it must be kafka:TOPIC"),
    ({"exchange.transport": "kafka"}, "sites.nodes is empty"),
    ({"sites.here": "east"}, 'exchange.transport is "local"; it must be "kafka"'),
    ({"job.kind": "batch", "source.until_end": False}, "source.until_end must be true"),
]
HOSTS = [
    ({"here": "north"}, 'sites.here is "north"; allowed: east, west'),
    ({"here": None}, "sites.here is none"),
    ({"nodes": {"east": ["p"], "west": ["q", "p"]}}, 'sites.nodes has "p" twice'),
    ({"nodes": {"east": ["p"], "west": ["q", "r"]}}, 'has "r", which is no node of the network'),
    ({"nodes": {"east": ["p"]}}, 'sites.nodes lacks "q"'),
    ({"nodes": {"east": ["p", "q"], "west": []}}, 'sites.nodes gives "west" no node'),
    ({"topic": "t"}, 'sites.topic is "t", which is in source.topics, too'),
    ({"retention": "0s"}, 'sites.retention is "0s"; it must be longer than 0s'),
    ({"brokers": ["nowhere"]}, 'sites.brokers has "nowhere"'),
    ({"topic": "a/b"}, 'sites.topic has "a/b", which names no topic'),
    ({"brokers": ["nowhere"]}, 'has "nowhere"; it must be host:port'),
]


def changed(changes: dict[str, Any]) -> Tables:
    tables = copy.deepcopy(KAFKA)
    for place, value in changes.items():
        section, _, key = place.partition(".")
        tables.setdefault(section, {})[key] = value
    return tables


@pytest.mark.parametrize(("changes", "message"), WRONG)
def test_wrong(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        build_job(changed(changes))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("changes", "message"), HOSTS)
def test_wrong_hosts(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        build_job(changed({"exchange.transport": "kafka"}) | {"sites": SITES | changes})
    assert message in str(caught.value)


@pytest.mark.parametrize("start", ["earliest", "latest", TIME])
def test_right(start: str) -> None:
    job = build_job(changed({"source.start": start, "source.until_end": False}))
    assert job.exchange.mode == "asynchronous"
    assert job.hosted == ("p", "q")
    assert not job.source.bounded


def test_sites_speak_over_the_jobs_own_brokers_unless_told_otherwise() -> None:
    own = changed({"exchange.transport": "kafka", "job.name": "trial"}) | {"sites": SITES}
    job = build_job(own)
    assert job.hosted == ("p",)
    assert job.sites.brokers == ("localhost:9092",)
    assert (job.sites.run, job.sites.topic) == ("trial", "anabranch.parameters.trial")
    shared = {**SITES, "brokers": ["shared:9092"], "security": "tls"}
    job = build_job(own | {"sites": shared})
    assert job.sites.brokers == ("shared:9092",)
    assert job.kafka.security == "plaintext"


def test_a_bounded_job_with_labels_apart() -> None:
    job = build_job(changed({f"source.{k}": v for k, v in APART.items()}))
    assert job.exchange.mode == "synchronous"
    assert job.source.label_wait is None
