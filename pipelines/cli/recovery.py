"""The folder of snapshots, made ready for a run."""

import sqlite3
from contextlib import closing
from pathlib import Path

from anabranch.errors import ConfigurationError
from pipelines.config import Job
from pipelines.config.wording import show

__all__ = ["PARTITIONS", "prepare_recovery"]

PARTITIONS = 4
"""Files that the snapshots are spread over; the number is fixed for the life of a folder."""


def prepare_recovery(job: Job, *, resume: bool = False, overwrite: bool = False) -> None:
    """Create the snapshot files of a new run, or see that those of an old one are there.

    Raises
    ------
    ConfigurationError
        `resume` finds no snapshots or damaged ones, or a new run would find those of another.
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
        return
    if files and not overwrite:
        raise ConfigurationError(
            f"recovery.dir is {show(str(folder))}, which holds another run's snapshots; choose "
            "another, or give --overwrite to replace them or --resume to continue"
        )
    for file in files:
        file.unlink()
    _create(folder)


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


def _create(folder: Path) -> None:
    from bytewax.recovery import init_db_dir

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"recovery.dir is {show(str(folder))}, which cannot be created: {error.strerror}"
        ) from None
    init_db_dir(folder, PARTITIONS)  # type: ignore[no-untyped-call]
