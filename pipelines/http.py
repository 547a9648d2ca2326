"""One HTTP port a job: /health for whoever restarts it, /metrics for Prometheus, pages for people.

The standard library's server does: a job has few viewers, each a thread that mostly waits.
"""

import io
import json
import logging
import socket
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from threading import Thread
from typing import Protocol

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

from pipelines.guests import Guests, Head, Server
from pipelines.health import Verdict

__all__ = ["Answer", "Pages", "serve"]

_HEADERS = {
    # Bokeh makes style elements of its own.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "connect-src 'self'; img-src 'self' data: blob:; font-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_PATIENCE = 20.0
"""Seconds in which a client must take an answer, or a piece of one."""

log = logging.getLogger("anabranch.http")


@dataclass(frozen=True)
class Answer:
    """What is sent for a request.

    Attributes
    ----------
    packed : the body by gzip, for those who take it
    stream : sent piece by piece instead of a body, for as long as it gives something
    lasting : whether the answer to this address never changes
    """

    code: int
    kind: str
    body: bytes = b""
    packed: bytes | None = None
    stream: Generator[bytes, None, None] | None = None
    lasting: bool = False


class Pages(Protocol):
    """What there is besides health and metrics."""

    def answer(self, path: str) -> Answer | None:
        """Answer for a path as it came, percent signs and all; None if there is no such page."""
        ...


class _NoPages:
    def answer(self, path: str) -> Answer | None:
        return None


def serve(
    listening: socket.socket,
    collector: Collector,
    verdict: Callable[[], Verdict],
    pages: Pages | None = None,
) -> AbstractContextManager[None]:
    """Serve a job's health, metrics and pages while the context lasts, at a socket that listens.

    /health answers 200 while the job is green or yellow and 503 when it is red, with the
    reasons as JSON.
    """
    registry = CollectorRegistry()
    registry.register(collector)
    return _served(listening, _Routes(registry, verdict, pages or _NoPages()))


@contextmanager
def _served(listening: socket.socket, routes: "_Routes") -> Iterator[None]:
    guests = Guests()
    server = Server(listening, _handler(routes, guests), guests)
    thread = Thread(target=server.serve_forever, name="http", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


@dataclass(frozen=True)
class _Routes:
    registry: CollectorRegistry
    verdict: Callable[[], Verdict]
    pages: Pages

    def answer(self, path: str) -> Answer:
        if path == "/health":
            return _health(self.verdict())
        if path == "/metrics":
            return Answer(200, CONTENT_TYPE_LATEST, generate_latest(self.registry))
        found = self.pages.answer(path)
        return found or Answer(404, "text/plain; charset=utf-8", b"/, /health or /metrics\n")


def _health(verdict: Verdict) -> Answer:
    body = json.dumps({"state": verdict.state, "reasons": list(verdict.reasons)}).encode()
    return Answer(503 if verdict.state == "red" else 200, "application/json", body)


def _handler(routes: _Routes, guests: Guests) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        server_version = "anabranch"
        sys_version = ""
        timeout = _PATIENCE

        def setup(self) -> None:
            super().setup()
            self._head = Head(self.connection)
            self.rfile = io.BufferedReader(self._head)

        def parse_request(self) -> bool:
            if not super().parse_request():
                return False
            if self._head.full:
                self.send_error(431)
                return False
            self.connection.settimeout(_PATIENCE)
            return True

        def do_GET(self) -> None:
            answer = routes.answer(self.path.partition("?")[0])
            if answer.stream is not None and not guests.stay(self.connection):
                return
            body = self._begin(answer)
            if answer.stream is None:
                self.wfile.write(body)
                return
            with closing(answer.stream) as pieces:
                for piece in pieces:
                    self.wfile.write(piece)
                    self.wfile.flush()

        def do_HEAD(self) -> None:
            self._begin(routes.answer(self.path.partition("?")[0]))

        def _begin(self, answer: Answer) -> bytes:
            packs = _takes_gzip(self.headers.get_all("Accept-Encoding", []))
            body = answer.packed if packs and answer.packed is not None else answer.body
            self.send_response(answer.code)
            for name, value in _headers(answer, body).items():
                self.send_header(name, value)
            self.end_headers()
            return body

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            log.debug("%s: %s", self.requestline, code, extra={"client": self.client_address[0]})

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing of clients that are slow or wrong."""

    return Handler


def _headers(answer: Answer, body: bytes) -> dict[str, str]:
    kept = "public, max-age=31536000, immutable" if answer.lasting else "no-store"
    headers = {"Content-Type": answer.kind, "Cache-Control": kept}
    if answer.packed is not None:
        headers["Vary"] = "Accept-Encoding"
    if body is answer.packed:
        headers["Content-Encoding"] = "gzip"
    if answer.stream is None:
        headers["Content-Length"] = str(len(body))
    return headers | _HEADERS


def _takes_gzip(headers: Sequence[str]) -> bool:
    """Tell whether a client takes gzip, which it may refuse by a quality of 0.

    >>> [_takes_gzip([text]) for text in ("br, gzip", "gzip;q=0, *", "*;q=0.5", "x;q=one")]
    [True, False, True, False]
    """
    qualities = {}
    for part in ",".join(headers).lower().split(","):
        name, *parameters = (word.strip() for word in part.split(";"))
        quality = next((one[2:] for one in parameters if one.startswith("q=")), "1")
        qualities[name] = quality.strip("0.") != ""
    return qualities.get("gzip", qualities.get("*", False))
