"""Connections to a job's HTTP port: so many at once, each with so much time and space to ask."""

import io
import logging
import socket
import sys
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any

from typing_extensions import override

__all__ = ["Guests", "Head", "Server"]

MOST = 64
"""Connections at once: more than streams, so that somebody who asks for health is heard."""
DAWDLES_AFTER = 1.0
"""Seconds after which a connection that is still asking, or taking its answer, may be closed
for another; /health takes milliseconds."""
HEAD_TIME = 10.0
"""Seconds in which a request must have been made, however it comes in."""
HEAD_SIZE = 1 << 14
_PAUSE = 0.1
"""Seconds without accepting after it failed, as where no descriptor is left."""
_FULL = b"HTTP/1.0 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"

log = logging.getLogger("anabranch.http")


class Guests:
    """Who is connected; the one that has dawdled longest makes room where all places are taken."""

    def __init__(self) -> None:
        self._since: dict[socket.socket, float] = {}
        self._lasting: set[socket.socket] = set()
        self._lock = Lock()

    def admit(self, guest: socket.socket) -> bool:
        """Give a connection a place if there is one."""
        with self._lock:
            if len(self._since) + len(self._lasting) >= MOST and not self._make_room():
                return False
            self._since[guest] = time.monotonic()
            return True

    def _make_room(self) -> bool:
        oldest = next(iter(self._since), None)
        if oldest is None or time.monotonic() - self._since[oldest] < DAWDLES_AFTER:
            return False
        del self._since[oldest]
        with suppress(OSError):
            oldest.shutdown(socket.SHUT_RDWR)  # its thread sees the end, and closes it
        return True

    def stay(self, guest: socket.socket) -> bool:
        """Let one that is sent a stream stay; its number is bounded elsewhere."""
        with self._lock:
            known = self._since.pop(guest, None) is not None
            if known:
                self._lasting.add(guest)
            return known

    def leave(self, guest: socket.socket) -> None:
        """Take note that a connection is closed."""
        with self._lock:
            self._since.pop(guest, None)
            self._lasting.discard(guest)


class Head(io.RawIOBase):
    """What a client sends, until its time or space is over.

    Attributes
    ----------
    full : whether it sent more than there is space for
    """

    def __init__(self, guest: socket.socket) -> None:
        self._guest, self._until = guest, time.monotonic() + HEAD_TIME
        self._left = HEAD_SIZE
        self.full = False

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: Any) -> int:
        """Read what is there; TimeoutError when the time is over."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if self._left <= 0:
            self.full = True
            return 0
        self._guest.settimeout(left)
        count = self._guest.recv_into(buffer, min(len(buffer), self._left))
        self._left -= count
        return count


class Server(ThreadingHTTPServer):
    """Serve at a socket that listens already; survives whatever a connection does."""

    daemon_threads = True

    def __init__(
        self, listening: socket.socket, handler: type[BaseHTTPRequestHandler], guests: Guests
    ) -> None:
        super().__init__(("", 0), handler, bind_and_activate=False)
        self.socket.close()
        self.socket, self.address_family = listening, listening.family
        self.server_address = listening.getsockname()
        self._guests = guests

    @override
    def get_request(self) -> tuple[socket.socket, Any]:
        try:
            return self.socket.accept()
        except OSError as error:
            log.warning("a connection cannot be accepted: %s", error.strerror)
            time.sleep(_PAUSE)
            raise

    @override
    def process_request(self, request: Any, client_address: Any) -> None:
        if self._guests.admit(request):
            super().process_request(request, client_address)
            return
        try:
            request.setblocking(False)
            request.send(_FULL)
        finally:
            self.shutdown_request(request)

    @override
    def shutdown_request(self, request: Any) -> None:
        self._guests.leave(request)
        super().shutdown_request(request)

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away."""
        if not isinstance(sys.exception(), OSError):
            log.error("a request failed", exc_info=True)
