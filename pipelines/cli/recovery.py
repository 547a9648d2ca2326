"""The folder of snapshots, made ready for a run."""

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

from anabranch.errors import ConfigurationError
from pipelines.config import Job
from pipelines.config.wording import show

__all__ = ["PARTITIONS", "check_no_snapshots", "prepare_recovery", "tell_resumption"]

log = logging.getLogger("anabranch.recovery")

PARTITIONS = 4
"""Files that the snapshots are spread over; the number is fixed for the life of a folder."""


def prepare_recovery(job: Job, *, resume: bool = False, overwrite: bool = False) -> None:
    """Create the snapshot files of a new run, or see that those of an old one are there.

    Raises
    ------
    ConfigurationError
        `resume` finds no snapshots, damaged ones or those of a newer version, or a new run would
        find those of another.
    """
    if job.recovery.dir is None:
        return
    folder = Path(job.recovery.dir)
    files = sorted(folder.glob("part-*.sqlite3*"))
    if resume:
        if not files:
            raise ConfigurationError(
                f"--resume finds no snapshots in recovery.dir, {show(str(folder))}"
            )
        _check_files(folder)
        _look_through(folder)
        return
    if files and not overwrite:
        raise ConfigurationError(
            f"recovery.dir is {show(str(folder))}, which holds another run's snapshots; choose "
            "another, or give --overwrite to replace them or --resume to continue"
        )
    for file in files:
        file.unlink()
    _create(folder)


def check_no_snapshots(job: Job) -> None:
    """Refuse to begin anew by --continue where a run has left snapshots: it may have lost the rest.

    Files that no process has used yet are of a start that was cut short, and no loss.

    Raises
    ------
    ConfigurationError
        There are snapshots, or files of which nobody can tell.
    """
    from pipelines.state.snapshots import Snapshots

    folder = Path(job.recovery.dir or "")
    if job.recovery.dir is None or not any(folder.glob("part-*.sqlite3")):
        return
    try:
        used = Snapshots(folder).epochs().execution >= 0
    except sqlite3.Error:
        used = True
    if used:
        raise ConfigurationError(
            f"recovery.dir is {show(str(folder))}, which holds a run's snapshots, but job.run_dir "
            f"is {show(job.job.run_dir)}, which holds no run to --continue; put that folder back, "
            "or give --overwrite to begin anew"
        )


def tell_resumption(job: Job) -> None:
    """Log from which snapshot a job goes on, if there is one; while none of its processes run."""
    if job.recovery.dir is None:
        return
    from pipelines.state.snapshots import Snapshots

    epochs = Snapshots(Path(job.recovery.dir)).epochs()
    if epochs.execution >= 0:
        told = "goes on from the last snapshot before epoch %d"
        log.info(told, epochs.resume, extra={"epoch": epochs.resume})


def _check_files(folder: Path) -> None:
    """Refuse a folder that lacks a file of snapshots, or holds one that is none."""
    for number in range(PARTITIONS):
        file = folder / f"part-{number}.sqlite3"
        if not file.is_file():
            raise ConfigurationError(
                f"recovery.dir is {show(str(folder))}, which lacks {file.name}; --resume needs all "
                f"{PARTITIONS} files of its snapshots"
            )
        try:
            with closing(sqlite3.connect(file)) as database:
                database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.Error as error:
            raise ConfigurationError(
                f"recovery.dir is {show(str(folder))}, whose {file.name} is damaged: {error}"
            ) from None


def _look_through(folder: Path) -> None:
    from pipelines.state.nodes import check_schema  # late: it loads the engine
    from pipelines.state.snapshots import Snapshots

    snapshots = Snapshots(folder)
    try:
        check_schema(snapshots)
        disagreement = snapshots.disagreement()
        snapshots.compact()
    except sqlite3.Error as error:
        raise ConfigurationError(
            f"recovery.dir is {show(str(folder))}, whose files are damaged: {error}"
        ) from None
    if disagreement:
        raise ConfigurationError(
            f"recovery.dir is {show(str(folder))}, from which nothing can be resumed: "
            f"{disagreement}"
        )


def _create(folder: Path) -> None:
    from bytewax.recovery import init_db_dir

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"recovery.dir is {show(str(folder))}, which cannot be created: {error.strerror}"
        ) from None
    init_db_dir(folder, PARTITIONS)  # type: ignore[no-untyped-call]
