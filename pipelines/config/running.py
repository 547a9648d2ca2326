"""The sections [recovery] and [parallel]: how a job is kept and on what it runs."""

from typing import Annotated

from msgspec import Meta, Struct

from pipelines.config.durations import Duration
from pipelines.config.source import Count, Whole

__all__ = ["Parallel", "Recovery"]


class Recovery(Struct, frozen=True, forbid_unknown_fields=True):
    """Snapshots, from which a job continues after a stop or a crash."""

    dir: Annotated[
        str | None,
        Meta(
            description="Folder for snapshots; {name} and {run_dir} are replaced. none: no "
            "recovery."
        ),
    ] = None
    snapshot_every: Annotated[Duration, Meta(description="Time between snapshots.")] = Duration(10)
    backup_every: Annotated[
        Duration, Meta(description="How long replaced snapshots are kept, for a backup's sake.")
    ] = Duration(0)


class Parallel(Struct, frozen=True, forbid_unknown_fields=True):
    """Workers and processes on this machine."""

    workers: Annotated[
        Count,
        Meta(description="Threads a process; they share the interpreter's lock."),
    ] = 1
    processes: Annotated[
        Annotated[int, Meta(ge=1, le=32)], Meta(description="Processes; they share nothing.")
    ] = 1
    restarts: Annotated[
        Whole,
        Meta(
            description="Times in a row the processes are restarted from recovery after a crash: "
            "after 1 s, 10 s, then a minute each; an hour without one, and they are counted anew."
        ),
    ] = 3
