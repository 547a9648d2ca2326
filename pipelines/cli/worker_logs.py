"""Warnings and errors of the processes' logs, for the terminal."""

import logging
import time

from pipelines.cli.closing import SENTENCE
from pipelines.logs import read_line
from pipelines.run_dir import RunDirectory
from pipelines.tail import Tail

__all__ = ["WorkerLogs"]

_EVERY = 0.5


class WorkerLogs:
    """Gives what the processes have warned of since the last look, as they wrote it.

    Why a job was stopped is left out: that is told at the end, once. Of an error the traceback
    stays in the log.

    Parameters
    ----------
    run_dir : where the logs are
    processes : how many there are

    Attributes
    ----------
    begun : bytes of each log that were there before: those of the run that is resumed
    """

    def __init__(self, run_dir: RunDirectory, processes: int) -> None:
        paths = [run_dir.log(process) for process in range(processes)]
        self.begun = tuple(path.stat().st_size if path.exists() else 0 for path in paths)
        self._tails = [
            Tail(path, newest=0 if size else None)
            for path, size in zip(paths, self.begun, strict=True)
        ]
        for tail in self._tails:
            tail.lines()
        self._next = 0.0

    def lines(self, *, now: bool = False) -> list[str]:
        """Give the new lines if it is time to look, or at once."""
        if not now and time.monotonic() < self._next:
            return []
        self._next = time.monotonic() + _EVERY
        new = (raw.decode(errors="replace") for tail in self._tails for raw in tail.lines())
        return [text for text in new if _is_warning(text)]


def _is_warning(text: str) -> bool:
    line = read_line(text)
    if line is None or line.level < logging.WARNING:
        return False
    return SENTENCE.match(line.message) is None
