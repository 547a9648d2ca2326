"""The job's HTTP port, asked as Prometheus and a container's health check ask it."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from anabranch.errors import ConfigurationError
from pipelines.cli.watcher import parse_address
from pipelines.health import Verdict
from pipelines.http import serve


class Nothing(Collector):
    """One metric, to see that it gets there."""

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("anabranch_nothing", "Nothing.", value=0)


def get(port: int, page: str) -> tuple[int, str]:
    try:
        with urlopen(f"http://127.0.0.1:{port}{page}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def test_metrics_are_served_as_text() -> None:
    with serve(("127.0.0.1", 0), Nothing(), lambda: Verdict("yellow")) as port:
        code, text = get(port, "/metrics")
    (family,) = text_string_to_metric_families(text)
    assert (code, family.name, family.samples[0].value) == (200, "anabranch_nothing", 0)


@pytest.mark.parametrize(("state", "code"), [("green", 200), ("yellow", 200), ("red", 503)])
def test_health(state: Any, code: int) -> None:
    with serve(("127.0.0.1", 0), Nothing(), lambda: Verdict(state, ("why",))) as port:
        answer = get(port, "/health")
        assert get(port, "/nothing")[0] == 404
    assert answer[0] == code
    assert json.loads(answer[1]) == {"state": state, "reasons": ["why"]}


def test_a_port_in_use_is_told() -> None:
    with (
        serve(("127.0.0.1", 0), Nothing(), lambda: Verdict("green")) as port,
        pytest.raises(ConfigurationError, match=f"127.0.0.1:{port}, which cannot be used"),
        serve(("127.0.0.1", port), Nothing(), lambda: Verdict("green")),
    ):
        pass


@pytest.mark.parametrize("text", ["", "web", "host:", "70000"])
def test_an_address_that_is_none(text: str) -> None:
    with pytest.raises(ConfigurationError, match="it must be PORT or HOST:PORT"):
        parse_address(text)
