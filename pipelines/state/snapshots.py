"""The files of a recovery directory, as Bytewax 0.21 lays them out."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from anabranch.errors import ConfigurationError
from pipelines.config.wording import show

__all__ = ["Epochs", "Row", "Snapshots"]

_NAME = "part-*.sqlite3"
_FEW_PAGES = 256
_TRIES = 10


@dataclass(frozen=True, slots=True)
class Row:
    """One step's snapshot of one key.

    Attributes
    ----------
    step, key : where it belongs
    epoch : the snapshot's number
    size : bytes; None where the key had nothing to keep
    made : when it was written
    file : name of the file that holds it
    """

    step: str
    key: str
    epoch: int
    size: int | None
    made: datetime
    file: str


@dataclass(frozen=True, slots=True)
class Epochs:
    """From where a job would go on.

    Attributes
    ----------
    execution : how often the job was started, from 0; -1 before the first start
    workers : workers of the last start
    resume : snapshots before this epoch count
    """

    execution: int
    workers: int
    resume: int


class Snapshots:
    """What a recovery directory holds; nothing is changed but by `prune` and `compact`.

    Parameters
    ----------
    folder : the recovery directory

    Raises
    ------
    ConfigurationError
        There are no snapshots here.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._held: dict[str, sqlite3.Connection] = {}
        self._epochs: Epochs | None = None
        self.files = sorted(folder.glob(_NAME))
        if not self.files:
            raise ConfigurationError(
                f"{show(str(folder))} holds no snapshots; allowed: a recovery directory "
                f"({_NAME}), or the directory of a run that has one"
            )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let all that is read meanwhile be of one moment, though a job replaces it.

        Raises
        ------
        sqlite3.Error
            A file is too damaged to be read.
        """
        with self._hold():
            yield

    def _hold(self) -> ExitStack:
        """Hold each file by itself, and all again where the job has gone on meanwhile."""
        tries = 0
        while True:
            tries += 1
            with ExitStack() as files:
                before = self.epochs()
                held = {file.name: files.enter_context(_begun(file)) for file in self.files}
                after = self.epochs()
                # In the end, epochs that are newer than what is held: then nothing is lacking.
                if before == after or tries == _TRIES:
                    files.callback(self._let_go)
                    self._held, self._epochs = held, after
                    return files.pop_all()

    def _let_go(self) -> None:
        self._held, self._epochs = {}, None

    @contextmanager
    def _opened(self, file: Path) -> Iterator[sqlite3.Connection]:
        if file.name in self._held:
            yield self._held[file.name]
            return
        with _opened(file) as database:
            yield database

    def faults(self) -> list[str]:
        """Tell what is wrong with the files: missing, damaged, or of several directories."""
        found: list[str] = []
        counts: dict[str, int] = {}
        for file in self.files:
            try:
                with self._opened(file) as database:
                    found.extend(_damage(file, database))
                    counts[file.name] = database.execute("SELECT part_count FROM parts").fetchone()[
                        0
                    ]
            except (sqlite3.Error, TypeError) as error:
                found.append(f"{file.name} is damaged: {error}")
        wanted = max(counts.values(), default=0)
        missing = {f"part-{number}.sqlite3" for number in range(wanted)} - {
            file.name for file in self.files
        }
        found += [f"{name} is missing" for name in sorted(missing)]
        return found or [told for told in [self.disagreement()] if told]

    def epochs(self) -> Epochs:
        """Give from where a job would go on."""
        if self._epochs is not None:
            return self._epochs
        starts: list[tuple[int, int, int]] = []
        fronts: dict[tuple[int, int], int] = {}
        for file in self.files:
            with self._opened(file) as database:
                starts += database.execute("SELECT ex_num, worker_count, resume_epoch FROM exs")
                for start, worker, front in database.execute(_FRONTS):
                    fronts[start, worker] = max(front, fronts.get((start, worker), front))
        if not starts:
            return Epochs(-1, 0, 1)
        number, workers, resume = max(starts)
        reached = (fronts.get((number, worker), resume) for worker in range(workers))
        return Epochs(number, workers, min(reached))

    def disagreement(self) -> str:
        """Say how the files are of different times, so that no job can go on; "" if they are not.

        The engine refuses them: what was to be kept for that epoch may be deleted already.
        """
        kept: dict[str, int] = {}
        for file in self.files:
            with self._opened(file) as database:
                (epoch,) = database.execute("SELECT max(commit_epoch) FROM commits").fetchone()
                kept[file.name] = epoch or 0
        resume = self.epochs().resume  # after the files: it only grows while a job runs
        late = {name: epoch for name, epoch in kept.items() if epoch > resume}
        if not late:
            return ""
        return (
            f"the files are of different times, as when two runs wrote to them: a job would go on "
            f"from epoch {resume:,}, but {', '.join(late)} hold none before epoch "
            f"{min(late.values()):,}; put a copy of all of them back, or begin anew (--overwrite)"
        )

    def rows(self) -> list[Row]:
        """Give all snapshots, newest first within a key."""
        query = "SELECT step_id, state_key, snap_epoch, length(ser_change), created_at FROM snaps"
        rows: list[Row] = []
        for file in self.files:
            with self._opened(file) as database:
                rows.extend(
                    Row(step, key, epoch, size, datetime.fromisoformat(made).replace(tzinfo=UTC),
                        file.name)
                    for step, key, epoch, size, made in database.execute(query)
                )  # fmt: skip
        return sorted(rows, key=lambda row: (row.step, row.key, -row.epoch))

    def current(self) -> list[Row]:
        """Give the snapshot of each key that a job would go on from; keys without one are gone."""
        resume = self.epochs().resume
        newest: dict[tuple[str, str], Row] = {}
        for row in self.rows():
            if row.epoch < resume:
                newest.setdefault((row.step, row.key), row)
        return [row for row in newest.values() if row.size is not None]

    def keys(self, step: str) -> set[str]:
        """Give the keys that a step ever had a snapshot of."""
        found: set[str] = set()
        for file in self.files:
            with self._opened(file) as database:
                query = "SELECT DISTINCT state_key FROM snaps WHERE step_id = ?"
                found.update(key for (key,) in database.execute(query, (step,)))
        return found

    def read(self, row: Row) -> bytes:
        """Give a snapshot's bytes."""
        query = (
            "SELECT ser_change FROM snaps WHERE step_id = ? AND state_key = ? AND snap_epoch = ?"
        )
        with self._opened(self.folder / row.file) as database:
            found = database.execute(query, (row.step, row.key, row.epoch)).fetchone()
        return bytes(found[0])

    def prune(self) -> int:
        """Delete what no resume can need, and give the room back; gives the bytes saved.

        Deleted are snapshots that a later one, before the epoch of resuming, replaces. Those
        after that epoch stay: the next start deletes them itself.

        Raises
        ------
        ConfigurationError
            A job is using the directory.
        """
        resume, before = self.epochs().resume, self.size
        for file in self.files:
            try:
                with closing(sqlite3.connect(file, timeout=1.0, isolation_level=None)) as database:
                    database.execute("BEGIN EXCLUSIVE")
                    database.execute(_SUPERSEDED, {"resume": resume})
                    database.execute("COMMIT")
                    database.execute("VACUUM")
            except sqlite3.OperationalError as error:
                raise ConfigurationError(
                    f"{file.name} cannot be pruned: {error}; allowed: while no job uses it"
                ) from None
        return before - self.size

    def compact(self) -> None:
        """Give room back that was needed once: where more than half of a file is empty.

        A file in use is left alone.
        """
        for file in self.files:
            with closing(sqlite3.connect(file, timeout=0.0, isolation_level=None)) as database:
                empty, pages = (
                    database.execute(f"PRAGMA {name}").fetchone()[0]
                    for name in ("freelist_count", "page_count")
                )
                if empty > max(_FEW_PAGES, pages // 2):
                    with suppress(sqlite3.OperationalError):
                        database.execute("VACUUM")

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(file.stat().st_size for file in self.folder.glob(f"{_NAME}*"))


_FRONTS = "SELECT ex_num, worker_index, worker_frontier FROM fronts"
_SUPERSEDED = """
DELETE FROM snaps WHERE snap_epoch < (
    SELECT max(later.snap_epoch) FROM snaps AS later
    WHERE later.step_id = snaps.step_id AND later.state_key = snaps.state_key
        AND later.snap_epoch < :resume
)
"""


@contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    """Open a file to be read; what was not written into it yet is, when nobody else has it open."""
    place = file.absolute().as_uri()
    with closing(sqlite3.connect(f"{place}?mode=rw", uri=True)) as database:
        database.execute("PRAGMA query_only = ON")
        yield database


@contextmanager
def _begun(file: Path) -> Iterator[sqlite3.Connection]:
    """Open a file whose content stays as it is now, whatever a job writes to it."""
    with _opened(file) as database:
        database.isolation_level = None
        database.execute("BEGIN")
        database.execute("SELECT count(*) FROM snaps").fetchone()  # a read is what begins it
        yield database


def _damage(file: Path, database: sqlite3.Connection) -> Iterator[str]:
    for (found,) in database.execute("PRAGMA quick_check(3)"):
        if found != "ok":
            yield f"{file.name} is damaged: {found}"
