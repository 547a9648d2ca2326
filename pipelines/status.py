"""How far a process has come, written every second for whoever watches."""

import json
import time
from threading import Event

from operators.hub import Hub
from pipelines.config import Job
from pipelines.run_dir import RunDirectory, write_whole

__all__ = ["write_status"]

_EVERY = 1.0


def write_status(
    run_dir: RunDirectory, process: int, hub: Hub, job: Job, done: Event, begin: float
) -> None:
    """Write this process's status file every second until `done`, and once more then."""
    while True:
        ended = done.wait(_EVERY)
        seconds = time.monotonic() - begin
        status = {
            "process": process,
            "samples": hub.restored + hub.rows,
            "rows_total": job.source.rows,
            "seconds": seconds,
            "rate": hub.rows / seconds if seconds else 0.0,
            "draining": hub.drain.is_set(),
        }
        write_whole(run_dir.status_of(process), json.dumps(status))
        if ended:
            return
