"""Keeps an eye on a running job: says what changes, and answers at its HTTP port."""

import logging
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pipelines.config import Job
from pipelines.health import Health, Verdict
from pipelines.live.records import Now, read_now
from pipelines.port import url
from pipelines.run_dir import RunDirectory

__all__ = ["Watcher"]

_EVERY, _DETAILS_EVERY = 1.0, 10.0
_DETAILS = ("samples", "dead", "rounds", "waiting", "messages", "memory", "files")
_LEVELS = {"green": logging.INFO, "yellow": logging.WARNING, "red": logging.ERROR}
_health_log = logging.getLogger("anabranch.health")
_source_log = logging.getLogger("anabranch.source")


def _gist(reason: str) -> str:
    """Give a reason without its numbers, which move on."""
    return re.sub(r"[\d,.]+", "", reason)


def _tell(verdict: Verdict) -> None:
    text = "; ".join((f"health is {verdict.state}", *verdict.reasons))
    _health_log.log(_LEVELS[verdict.state], text)


def _details(status: dict[str, Any]) -> dict[str, Any]:
    """Give what a process tells of itself, and how many records are left in its partitions."""
    lags = [part["lag"] or 0 for part in status.get("partitions", {}).values()]
    age = time.monotonic() - status["clock"]
    return {key: status.get(key) for key in _DETAILS} | {"lag": sum(lags), "age": round(age, 1)}


class Watcher:
    """Judge a job every second while it runs.

    Parameters
    ----------
    job : what is run
    run_dir : where its processes write how they are
    say : told where the job is to be seen

    Notes
    -----
    Each notice is logged once, and every change of health with its reasons.
    """

    def __init__(self, job: Job, run_dir: RunDirectory, say: Callable[[str], None]) -> None:
        self._job, self._run_dir, self._say = job, run_dir, say
        self._health = Health(job)
        self._verdict = Verdict("green")
        self._said: tuple[str, ...] = (self._verdict.state,)
        self._told: set[str] = set()
        self._next = self._details_at = 0.0
        self._look: Callable[[list[dict[str, Any]], Verdict], None] = lambda *_: None

    def update(self) -> None:
        """Look at the processes if it is time; may be called often."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _EVERY
        statuses = self.tell_notices()
        self._verdict = self._health.judge(statuses, time.monotonic(), self._edges())
        self._tell_details(statuses)
        gist = self._verdict.state, *map(_gist, self._verdict.reasons)
        if statuses and gist != self._said:
            self._said = gist
            _tell(self._verdict)
        self._look(statuses, self._verdict)

    def _tell_details(self, statuses: list[dict[str, Any]]) -> None:
        """Say once in a while, at debug, what the verdict was found from."""
        due = bool(statuses) and time.monotonic() >= self._details_at
        if not due or not _health_log.isEnabledFor(logging.DEBUG):
            return
        self._details_at = time.monotonic() + _DETAILS_EVERY
        for status in statuses:
            told = "judged %s by what process %d tells"
            process = status["process"]
            _health_log.debug(told, self._verdict.state, process, extra=_details(status))

    def _edges(self) -> list[Now]:
        """Read what the processes' nodes heard, where health asks for it."""
        if self._job.exchange.mode == "synchronous":
            return []
        files = map(self._run_dir.now_of, range(self._job.parallel.processes))
        return [now for now in map(read_now, files) if now is not None]

    def tell_notices(self) -> list[dict[str, Any]]:
        """Say the notices that were not said yet; give the processes' statuses."""
        statuses = self._run_dir.read_statuses()
        for notice in (notice for status in statuses for notice in status.get("notices", ())):
            if notice not in self._told:
                self._told.add(notice)
                _source_log.warning(notice)
        return statuses

    def lost(self, reason: str, *, planned: bool = False) -> None:
        """Take note that all processes are started again, and why; to be called before they are."""
        self._health.lost(reason, time.monotonic(), planned=planned)
        self._next = 0.0
        self.update()

    @property
    def verdict(self) -> Verdict:
        """How the job was when last looked at."""
        return self._verdict

    @contextmanager
    def served(self, listening: socket.socket | None) -> Iterator[None]:
        """Answer at a port while the context lasts; at none, do nothing."""
        if listening is None:
            yield
            return
        from pipelines.http import serve
        from pipelines.live.job import LiveJob
        from pipelines.live.pages import LivePages
        from pipelines.metrics import JobCollector, JobFiles

        files = JobFiles(self._job, self._run_dir, lambda: self._verdict.state)
        collector = JobCollector(self._job, files.read)
        live = LiveJob(self._job, self._run_dir)
        pages = LivePages(self._job, live, f"{time.time_ns():x}")
        with serve(listening, collector, lambda: self._verdict, pages):
            self._say(f"live page: {url(listening)} (also /health and /metrics)")

            def look(statuses: list[dict[str, Any]], verdict: Verdict) -> None:
                files.count()
                live.update(statuses, verdict)

            self._look = look
            try:
                yield
            finally:
                live.close()
