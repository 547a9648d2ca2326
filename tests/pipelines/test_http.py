"""The job's HTTP port, asked as Prometheus and a container's health check ask it."""

import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from anabranch.errors import ConfigurationError
from pipelines.cli.watcher import parse_address
from pipelines.health import Verdict
from pipelines.http import serve
from pipelines.metrics import JobCollector

STATUSES: list[dict[str, Any]] = [
    {
        "process": 0,
        "learned": 5,
        "dead": 1,
        "rate": 2.5,
        "memory": 1000,
        "partitions": {"a:b:3": {"offset": 7, "lag": 2, "age": None}},
        "outputs": {"out": {"sent": 4, "queued": 1}},
        "refused": {"other_run": 2},
        "sites": {"west": {"silent": 9.0}},
        "measures": {"primal": {"max": 4.0, "sum": 6.0, "nodes": 3}},
        "diverging": ["n1"],
    },
    {
        "process": 1,
        "learned": 6,
        "outputs": {"out": {"sent": 5, "queued": 0}},
        "refused": {"other_run": 1},
        "sites": {"west": {"silent": 1.0}},
        "measures": {
            "primal": {"max": 2.0, "sum": 2.0, "nodes": 1},
            "gap": {"max": 0.5, "sum": 0.5, "nodes": 1},
        },
        "diverging": ["n3", "n4"],
    },
]


def get(port: int, page: str) -> tuple[int, str]:
    try:
        with urlopen(f"http://127.0.0.1:{port}{page}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def test_metrics_of_all_processes_together() -> None:
    collector = JobCollector(lambda: STATUSES, lambda: "yellow")
    with serve(("127.0.0.1", 0), collector, lambda: Verdict("yellow")) as port:
        code, text = get(port, "/metrics")
    found = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert code == 200
    assert found["anabranch_samples_total",] == 11
    assert found["anabranch_dead_letters_total",] == 1
    assert found["anabranch_health", "yellow"] == 1
    assert found["anabranch_health", "green"] == 0
    assert found["anabranch_source_lag", "3", "a:b"] == 2
    assert ("anabranch_source_age_seconds", "3", "a:b") not in found
    assert found["anabranch_output_records_total", "out"] == 9
    assert found["anabranch_refused_messages_total", "other_run"] == 3
    assert found["anabranch_site_silent_seconds", "west"] == 1
    assert found["anabranch_resident_memory_bytes", "0"] == 1000
    assert found["anabranch_measure_max", "primal"] == 4
    assert found["anabranch_measure_mean", "primal"] == 2
    assert found["anabranch_measure_mean", "gap"] == 0.5
    assert found["anabranch_diverging_nodes",] == 3


@pytest.mark.parametrize(("state", "code"), [("green", 200), ("yellow", 200), ("red", 503)])
def test_health(state: Any, code: int) -> None:
    collector = JobCollector(list, lambda: state)
    with serve(("127.0.0.1", 0), collector, lambda: Verdict(state, ("why",))) as port:
        answer = get(port, "/health")
        assert get(port, "/nothing")[0] == 404
    assert answer[0] == code
    assert json.loads(answer[1]) == {"state": state, "reasons": ["why"]}


def test_a_port_in_use_is_told() -> None:
    collector = JobCollector(list, lambda: "green")
    with (
        serve(("127.0.0.1", 0), collector, lambda: Verdict("green")) as port,
        pytest.raises(ConfigurationError, match=f"127.0.0.1:{port}, which cannot be used"),
        serve(("127.0.0.1", port), collector, lambda: Verdict("green")),
    ):
        pass


@pytest.mark.parametrize("text", ["", "web", "host:", "70000"])
def test_an_address_that_is_none(text: str) -> None:
    with pytest.raises(ConfigurationError, match="it must be PORT or HOST:PORT"):
        parse_address(text)
