"""Keeps an eye on a running job: says what changes, and answers /health and /metrics."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from anabranch.errors import ConfigurationError
from pipelines.config import Job
from pipelines.health import Health, Verdict
from pipelines.run_dir import RunDirectory

__all__ = ["Watcher", "parse_address"]

_EVERY = 1.0


def parse_address(text: str) -> tuple[str, int]:
    """Read PORT or HOST:PORT; this machine alone unless a host is given.

    Raises
    ------
    ConfigurationError
        It is neither.

    >>> parse_address("8080"), parse_address("0.0.0.0:80")
    (('127.0.0.1', 8080), ('0.0.0.0', 80))
    """
    host, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) >= 1 << 16:
        raise ConfigurationError(f"--http is {text!r}; it must be PORT or HOST:PORT")
    return host or "127.0.0.1", int(port)


def _gist(reason: str) -> str:
    """Give a reason without its numbers, which move on."""
    return re.sub(r"[\d,.]+", "", reason)


class Watcher:
    """Judge a job every second while it runs.

    Parameters
    ----------
    job : what is run
    run_dir : where its processes write how they are
    say : told each notice once, and every change of health with its reasons
    """

    def __init__(self, job: Job, run_dir: RunDirectory, say: Callable[[str], None]) -> None:
        self._run_dir, self._say = run_dir, say
        self._health = Health(job)
        self._verdict = Verdict("green")
        self._said: tuple[str, ...] = (self._verdict.state,)
        self._told: set[str] = set()
        self._next = 0.0

    def update(self) -> None:
        """Look at the processes if it is time; may be called often."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _EVERY
        statuses = self.tell_notices()
        self._verdict = self._health.judge(statuses, time.time())
        gist = self._verdict.state, *map(_gist, self._verdict.reasons)
        if statuses and gist != self._said:
            self._said = gist
            self._say("; ".join((f"health is {self._verdict.state}", *self._verdict.reasons)))

    def tell_notices(self) -> list[dict[str, Any]]:
        """Say the notices that were not said yet; give the processes' statuses."""
        statuses = self._run_dir.read_statuses()
        for notice in (notice for status in statuses for notice in status.get("notices", ())):
            if notice not in self._told:
                self._told.add(notice)
                self._say(notice)
        return statuses

    @property
    def verdict(self) -> Verdict:
        """How the job was when last looked at."""
        return self._verdict

    @contextmanager
    def served(self, address: tuple[str, int] | None) -> Iterator[None]:
        """Answer at an address while the context lasts; at none, do nothing.

        Raises
        ------
        ConfigurationError
            The port cannot be used.
        """
        if address is None:
            yield
            return
        from pipelines.http import serve
        from pipelines.metrics import JobCollector

        collector = JobCollector(self._run_dir.read_statuses, lambda: self._verdict.state)
        with serve(address, collector, lambda: self._verdict) as port:
            self._say(f"health and metrics: http://{address[0]}:{port}/health and /metrics")
            yield
