"""What the processes of a job have written, as a scrape finds it."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from pipelines.config import Job
from pipelines.live.records import Now, read_now
from pipelines.metrics.counts import Counts
from pipelines.metrics.scores import NewestScores, ScoreRow
from pipelines.run_dir import RunDirectory
from pipelines.state.size import measure

__all__ = ["JobFiles", "Seen"]

_SCORES_READ = 1 << 20
"""Bytes of the scores' end that are read when a job is taken up again."""
_MEASURED_EVERY = 5.0
"""Seconds for which the size of the snapshots stands."""


@dataclass(frozen=True)
class Seen:
    """A job at one moment.

    Attributes
    ----------
    statuses : the processes' newest
    state : of its health: green, yellow or red
    nows : the processes' nodes and edges
    scores : newest row of the network and of each companion, by learner
    counts : gives the sums of a count over all processes, by label
    snapshot : age (s) and size (bytes) of the snapshots, if there are any
    time : seconds since 1970
    """

    statuses: Sequence[Mapping[str, Any]] = ()
    state: str = "green"
    nows: Sequence[Now] = ()
    scores: Mapping[str, ScoreRow] = field(default_factory=dict)
    counts: Callable[[str], Mapping[str, float]] = lambda name: {}
    snapshot: tuple[float, int] | None = None
    time: float = field(default_factory=time.time)


class JobFiles:
    """Reads a job's files for one scrape after another.

    Parameters
    ----------
    job, run_dir : what is run, and where its processes write how they are
    state : gives the state of its health
    """

    def __init__(self, job: Job, run_dir: RunDirectory, state: Callable[[], str]) -> None:
        self._job, self._run_dir, self._state = job, run_dir, state
        self._scores = NewestScores(run_dir.scores, _SCORES_READ)
        self._counts = Counts()
        self._lock = Lock()
        self._snapshot: tuple[float, tuple[float, int] | None] = (0.0, None)

    def count(self) -> None:
        """Take the processes' counts, lest a restart between two scrapes lose what came before."""
        with self._lock:
            self._counts.take(self._run_dir.read_statuses())

    def read(self) -> Seen:
        """Read all there is; scrapes at one time wait for each other."""
        with self._lock:
            found = (
                read_now(self._run_dir.now_of(process))
                for process in range(self._job.parallel.processes)
            )
            statuses = self._run_dir.read_statuses()
            self._counts.take(statuses)
            return Seen(
                statuses=statuses,
                state=self._state(),
                nows=[now for now in found if now is not None],
                scores=self._scores.read(),
                counts=self._counts.still().of,
                snapshot=self._measured(),
            )

    def _measured(self) -> tuple[float, int] | None:
        if self._job.recovery.dir is None:
            return None
        (at, known), now = self._snapshot, time.monotonic()
        if known is None or now - at >= _MEASURED_EVERY:
            at, known = now, measure(Path(self._job.recovery.dir))
            self._snapshot = at, known
        return None if known is None else (known[0] + now - at, known[1])
