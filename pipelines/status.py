"""How far a process has come, written every second for whoever watches."""

import json
import time
from pathlib import Path
from threading import Event

import msgspec

from anabranch.learners import LEARNERS
from pipelines.config import Job
from pipelines.gauges import Gauges
from pipelines.now import Gatherer
from pipelines.run_dir import RunDirectory, write_whole

__all__ = ["write_status"]

_SHARE = 0.02
"""Most of a process's time that may go into telling how its nodes are."""


def write_status(
    run_dir: RunDirectory, process: int, gauges: Gauges, job: Job, done: Event, begin: float
) -> None:
    """Write this process's status and its nodes every `monitor.interval` until `done`, and then.

    Where there are so many nodes that gathering them takes long, they are written less often than
    the status: after 50 times as long.
    """
    gatherer = Gatherer(gauges.hub, LEARNERS[job.learner.kind].task)
    started = time.time() - (time.monotonic() - begin)
    ended, due = False, 0.0
    while not ended:
        ended = done.wait(job.monitor.interval)
        status = {
            "process": process,
            "rows_total": job.source.rows,
            "seconds": time.monotonic() - begin,
            "started": started,
            **gauges.read(),
        }
        write_whole(run_dir.status_of(process), json.dumps(status))
        if ended or time.monotonic() >= due:
            took = _write_nodes(gatherer, run_dir.now_of(process))
            due = time.monotonic() + took / _SHARE - job.monitor.interval


def _write_nodes(gatherer: Gatherer, path: Path) -> float:
    """Write the nodes; give the processor time of this thread that it took, in seconds."""
    begin = time.thread_time()
    write_whole(path, msgspec.json.encode(gatherer.gather()).decode())
    return time.thread_time() - begin
