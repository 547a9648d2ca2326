"""Files of predictions that a job wrote before it was told another name for them."""

import os
from pathlib import Path

from pipelines.config import Job, Target
from pipelines.state.snapshots import Snapshots
from pipelines.state.unpickle import read_snapshot

__all__ = ["cut_former", "former_files"]

_STEP = "anabranch.predictions"


def former_files(job: Job) -> tuple[str, ...]:
    """Give the names by which the snapshots know files of predictions other than the present."""
    path, store = Target.of(job.output.predictions or "").path, _store(job)
    if path is None or store is None:
        return ()
    return tuple(sorted(store.keys(_STEP) - {path.name}))


def cut_former(before: Job, job: Job) -> None:
    """Cut the file that predictions went to before to where the snapshots leave it.

    What follows there is predicted again, and goes to another file, or to none.
    """
    texts = (before.output.predictions, job.output.predictions)
    old, new = (Target.of(text or "").path if text else None for text in texts)
    store = _store(job)
    if old is None or old == new or store is None or not old.is_file():
        return
    for row in store.current():
        if (row.step, row.key) == (_STEP, old.name):
            length = int(read_snapshot(store.read(row)))
            os.truncate(old, min(length, old.stat().st_size))


def _store(job: Job) -> Snapshots | None:
    folder = job.recovery.dir
    if folder is None or not any(Path(folder).glob("part-*.sqlite3")):
        return None
    return Snapshots(Path(folder))
