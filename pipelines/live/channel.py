"""The newest events of a page, handed to every viewer that looks at it."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition

__all__ = ["Channel", "Channels", "event"]

MOST = 32
"""Viewers at once, over all pages."""


def event(name: str, data: bytes) -> bytes:
    r"""Give a server-sent event; `data` is JSON on one line.

    >>> event("now", b"{}")
    b'event: now\ndata: {}\n\n'
    """
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


class Channel:
    """Holds the newest of each kind of event: a slow viewer misses some and never fills memory."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._newest: dict[str, tuple[int, bytes]] = {}
        self._count = 0
        self._closed = False

    def put(self, name: str, data: bytes) -> None:
        """Make an event the newest of its kind, unless it says what the last one said."""
        with self._changed:
            if self._newest.get(name, (0, b""))[1] != data:
                self._count += 1
                self._newest[name] = self._count, data
                self._changed.notify_all()

    def close(self) -> None:
        """Let every viewer have what is there, then end."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def take(self, seen: int, seconds: float) -> tuple[int, list[bytes], bool]:
        """Wait for events after the one numbered `seen`.

        Returns
        -------
        seen, events, ended : events are empty after `seconds` without any
        """
        with self._changed:
            self._changed.wait_for(lambda: self._count > seen or self._closed, seconds)
            newer = sorted((n, name, data) for name, (n, data) in self._newest.items() if n > seen)
            return self._count, [event(name, data) for _, name, data in newer], self._closed


class Channels:
    """A channel for each page that somebody looks at."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._open: dict[str, tuple[Channel, int]] = {}
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether every stream has ended, and none begins."""
        return self._closed

    @contextmanager
    def viewed(self, page: str) -> Iterator[Channel | None]:
        """Look at a page while the context lasts; None where too many look already."""
        with self._changed:
            full = self._closed or sum(count for _, count in self._open.values()) >= MOST
            if not full:
                channel, count = self._open.get(page, (Channel(), 0))
                self._open[page] = channel, count + 1
        if full:
            yield None
            return
        try:
            yield channel
        finally:
            with self._changed:
                channel, count = self._open.pop(page)
                if count > 1:
                    self._open[page] = channel, count - 1

    def watched(self) -> dict[str, Channel]:
        """Give the pages that somebody looks at now."""
        with self._changed:
            return {page: channel for page, (channel, _) in self._open.items()}

    def close(self) -> None:
        """End every viewer's stream, and let none begin."""
        with self._changed:
            self._closed = True
            for channel, _ in self._open.values():
                channel.close()
