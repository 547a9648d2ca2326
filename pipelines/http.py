"""One HTTP port a job: /health for whoever restarts it, /metrics for Prometheus."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from anabranch.errors import ConfigurationError
from pipelines.health import Verdict
from pipelines.metrics import JobCollector

__all__ = ["serve"]


@contextmanager
def serve(
    address: tuple[str, int], collector: JobCollector, verdict: Callable[[], Verdict]
) -> Iterator[int]:
    """Serve a job's health and metrics while the context lasts; gives the port.

    /health answers 200 while the job is green or yellow and 503 when it is red, with the
    reasons as JSON.

    Raises
    ------
    ConfigurationError
        The port cannot be used.
    """
    registry = CollectorRegistry()
    registry.register(collector)
    pages: dict[str, Callable[[], tuple[int, str, bytes]]] = {
        "/health": lambda: _health(verdict()),
        "/metrics": lambda: (200, CONTENT_TYPE_LATEST, generate_latest(registry)),
    }
    try:
        server = ThreadingHTTPServer(address, _handler(pages))
    except OSError as error:
        raise ConfigurationError(
            f"--http names {address[0]}:{address[1]}, which cannot be used: {error.strerror}"
        ) from None
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, name="http", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def _health(verdict: Verdict) -> tuple[int, str, bytes]:
    body = {"state": verdict.state, "reasons": list(verdict.reasons)}
    return (503 if verdict.state == "red" else 200), "application/json", json.dumps(body).encode()


def _handler(
    pages: dict[str, Callable[[], tuple[int, str, bytes]]],
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(self.path.partition("?")[0])
            code, kind, body = page() if page else (404, "text/plain", b"/health or /metrics\n")
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: a scrape every few seconds is no news."""

    return Handler
