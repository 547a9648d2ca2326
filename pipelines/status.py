"""How far a process has come, written every second for whoever watches."""

import json
import time
from threading import Event

from pipelines.config import Job
from pipelines.gauges import Gauges
from pipelines.run_dir import RunDirectory, write_whole

__all__ = ["write_status"]

_EVERY = 1.0


def write_status(
    run_dir: RunDirectory, process: int, gauges: Gauges, job: Job, done: Event, begin: float
) -> None:
    """Write this process's status file every second until `done`, and once more then."""
    while True:
        ended = done.wait(_EVERY)
        status = {
            "process": process,
            "rows_total": job.source.rows,
            "seconds": time.monotonic() - begin,
            **gauges.read(),
        }
        write_whole(run_dir.status_of(process), json.dumps(status))
        if ended:
            return
