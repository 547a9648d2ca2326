"""The job's HTTP port, asked as Prometheus and a container's health check ask it, and worse."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from anabranch.errors import ConfigurationError
from pipelines import guests
from pipelines.health import Verdict
from pipelines.http import Answer, serve
from pipelines.port import listen, parse_address, url


class Nothing(Collector):
    """One metric, to see that it gets there."""

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("anabranch_nothing", "Nothing.", value=0)


class Packed:
    """A page there is twice."""

    def answer(self, path: str) -> Answer | None:
        return Answer(200, "text/plain", b"plain", b"packed") if path == "/page" else None


@contextmanager
def served(verdict: Verdict, host: str = "127.0.0.1") -> Iterator[int]:
    with (
        listen((host, 0)) as listening,
        serve(listening, Nothing(), lambda: verdict, Packed()),
    ):
        yield listening.getsockname()[1]


def get(port: int, page: str, **headers: str) -> tuple[int, str]:
    request = Request(f"http://127.0.0.1:{port}{page}", headers=headers)
    try:
        with urlopen(request, timeout=5) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=5)


def test_metrics_are_served_as_text() -> None:
    with served(Verdict("yellow")) as port:
        code, text = get(port, "/metrics")
    (family,) = text_string_to_metric_families(text)
    assert (code, family.name, family.samples[0].value) == (200, "anabranch_nothing", 0)


@pytest.mark.parametrize(("state", "code"), [("green", 200), ("yellow", 200), ("red", 503)])
def test_health(state: Any, code: int) -> None:
    with served(Verdict(state, ("why",))) as port:
        answer = get(port, "/health")
        assert get(port, "/nothing")[0] == 404
    assert answer[0] == code
    assert json.loads(answer[1]) == {"state": state, "reasons": ["why"]}


def test_a_port_in_use_is_told() -> None:
    with (
        served(Verdict("green")) as port,
        pytest.raises(ConfigurationError, match=f"127.0.0.1:{port}, which cannot be used: Address"),
    ):
        listen(("127.0.0.1", port))
    for host in ("no.such.host.invalid", "a" * 300):
        with pytest.raises(ConfigurationError, match="there is no such host"):
            listen((host, 0))


@pytest.mark.parametrize(
    "text", ["", "web", "host:", "70000", "²", "٣", "[::1]", "::1:80", "a@b:1"]
)
def test_an_address_that_is_none(text: str) -> None:
    with pytest.raises(ConfigurationError, match="it must be PORT, HOST:PORT"):
        parse_address(text)


@pytest.mark.skipif(not socket.has_ipv6, reason="there is no IPv6 here")
def test_the_port_may_be_of_ipv6() -> None:
    try:
        listening = listen(parse_address("[::1]:0"))
    except ConfigurationError:
        pytest.skip("there is no IPv6 here")
    with listening, serve(listening, Nothing(), lambda: Verdict("green")):
        assert url(listening).startswith("http://[::1]:")
        with urlopen(f"{url(listening)}health", timeout=5) as answer:
            assert answer.status == 200


@pytest.mark.parametrize(
    ("accepted", "body"),
    [("gzip", "packed"), ("br, *", "packed"), ("gzip;q=0", "plain"), ("gzip; q=0.0, *", "plain")],
)
def test_a_client_may_refuse_gzip(accepted: str, body: str) -> None:
    with served(Verdict("green")) as port:
        assert get(port, "/page", **{"Accept-Encoding": accepted}) == (200, body)


def _closed(slow: socket.socket, within: int) -> bool:
    try:
        for _ in range(within):
            time.sleep(0.1)
            slow.sendall(b"a")
    except OSError:
        return True
    return False


def test_a_request_has_so_much_time_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guests, "HEAD_TIME", 0.5)
    with served(Verdict("green")) as port, connect(port) as slow:
        slow.sendall(b"GET /health HTTP/1.1\r\nX")
        assert _closed(slow, within=40)  # though it always says something in time


@pytest.mark.parametrize("line", [b"X-Long: " + b"a" * 500 + b"\r\n", b"a" * 508])
def test_a_request_has_so_much_space_in_all(line: bytes) -> None:
    with served(Verdict("green")) as port, connect(port) as large:
        begin = b"GET /health HTTP/1.1\r\n"
        large.sendall(begin + (line * 100)[: guests.HEAD_SIZE - len(begin)])
        assert large.recv(100).startswith(b"HTTP/1.0 431 ")


def test_connections_are_bounded_and_the_slowest_makes_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(guests, "MOST", 3)
    monkeypatch.setattr(guests, "DAWDLES_AFTER", 60.0)
    with ExitStack() as held:
        port = held.enter_context(served(Verdict("green")))
        silent = [held.enter_context(connect(port)) for _ in range(3)]
        time.sleep(0.2)
        with connect(port) as refused:
            assert refused.recv(100).startswith(b"HTTP/1.0 503 ")
        monkeypatch.setattr(guests, "DAWDLES_AFTER", 0.0)
        assert get(port, "/health")[0] == 200
        assert silent[0].recv(1) == b""
        monkeypatch.setattr(guests, "DAWDLES_AFTER", 60.0)
        for one in silent:
            one.close()
        time.sleep(0.2)
        assert [get(port, "/health")[0] for _ in range(5)] == [200] * 5


def test_the_port_is_served_again_when_a_connection_could_not_be_accepted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failures = [OSError(24, "Too many open files"), OSError(24, "Too many open files")]
    accept = socket.socket.accept

    def failing(self: socket.socket) -> Any:
        if failures:
            raise failures.pop()
        return accept(self)

    monkeypatch.setattr(socket.socket, "accept", failing)
    with served(Verdict("green")) as port:
        assert get(port, "/health")[0] == 200
    assert "a connection cannot be accepted: Too many open files" in caplog.text
