"""One HTTP port a job: /health for whoever restarts it, /metrics for Prometheus, pages for people.

The standard library's server does: a job has few viewers, each a thread that mostly waits.
"""

import json
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Protocol

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

from anabranch.errors import ConfigurationError
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
"""Seconds in which a client must take or say something."""


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
    address: tuple[str, int],
    collector: Collector,
    verdict: Callable[[], Verdict],
    pages: Pages | None = None,
) -> AbstractContextManager[int]:
    """Serve a job's health, metrics and pages while the context lasts; gives the port.

    /health answers 200 while the job is green or yellow and 503 when it is red, with the
    reasons as JSON.

    Raises
    ------
    ConfigurationError
        The port cannot be used.
    """
    registry = CollectorRegistry()
    registry.register(collector)
    return _served(address, _Routes(registry, verdict, pages or _NoPages()))


@contextmanager
def _served(address: tuple[str, int], routes: "_Routes") -> Iterator[int]:
    try:
        server = _Server(address, _handler(routes))
    except OSError as error:
        raise ConfigurationError(
            f"--http names {address[0]}:{address[1]}, which cannot be used: {error.strerror}"
        ) from None
    thread = Thread(target=server.serve_forever, name="http", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


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


def _handler(routes: _Routes) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        server_version = "anabranch"
        sys_version = ""
        timeout = _PATIENCE

        def do_GET(self) -> None:
            answer = routes.answer(self.path.partition("?")[0])
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
            packs = "gzip" in self.headers.get("Accept-Encoding", "")
            body = answer.packed if packs and answer.packed is not None else answer.body
            self.send_response(answer.code)
            self.send_header("Content-Type", answer.kind)
            kept = "public, max-age=31536000, immutable" if answer.lasting else "no-store"
            self.send_header("Cache-Control", kept)
            if answer.packed is not None:
                self.send_header("Vary", "Accept-Encoding")
            if body is answer.packed:
                self.send_header("Content-Encoding", "gzip")
            if answer.stream is None:
                self.send_header("Content-Length", str(len(body)))
            for name, value in _HEADERS.items():
                self.send_header(name, value)
            self.end_headers()
            return body

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: a scrape every few seconds is no news."""

    return Handler
