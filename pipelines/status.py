"""How far a process has come, written every second for whoever watches."""

import json
import logging
import time
from pathlib import Path
from threading import Event

import msgspec

from anabranch.learners import LEARNERS
from pipelines.config import Job
from pipelines.files import read_object, write_whole
from pipelines.gauges import Gauges
from pipelines.now import Gatherer
from pipelines.run_dir import RunDirectory

__all__ = ["write_status"]

log = logging.getLogger("anabranch.output")

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
    former = read_object(run_dir.status_of(process)) or {}
    gauges.before = int(former.get("samples", 0))
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
        try:
            write_whole(run_dir.status_of(process), json.dumps(status))
            if ended or time.monotonic() >= due:
                took = _write_nodes(gatherer, run_dir.now_of(process))
                due = time.monotonic() + took / _SHARE - job.monitor.interval
        except OSError as error:  # a full disk is no reason never to tell again
            log.warning("how the process is cannot be written: %s", error.strerror)


def _write_nodes(gatherer: Gatherer, path: Path) -> float:
    """Write the nodes; give the processor time of this thread that it took, in seconds."""
    begin = time.thread_time()
    write_whole(path, msgspec.json.encode(gatherer.gather()).decode())
    return time.thread_time() - begin
