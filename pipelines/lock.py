"""One `anabranch run` at a time in a folder: locks that the kernel lets go when a process dies."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from anabranch.errors import ConfigurationError
from pipelines.config.sections import Job
from pipelines.config.wording import show

__all__ = ["LOCK", "folder_lock", "hold_as_worker", "job_lock"]

LOCK = "lock"
"""File that is locked while a command writes in its folder; it holds process id and command."""
_WORKERS = ".workers.lock"  # shared by a job's processes: they may outlive its command by moments
_TRIES = 50
_POLL = 0.05


@contextmanager
def job_lock(job: Job) -> Iterator[None]:
    """Hold a job's run directory and its recovery directory for one `anabranch run`.

    Raises
    ------
    ConfigurationError
        Another command, or a process of a run that was killed, uses one of them.
    """
    with ExitStack() as held:
        for key, folder in _folders(job).items():
            held.enter_context(folder_lock(key, folder))
        yield


@contextmanager
def folder_lock(
    key: str, folder: Path, command: str = "anabranch run", wait: float = 10.0
) -> Iterator[None]:
    """Hold a folder; it is made if need be, and goes again if nothing was written to it.

    Parameters
    ----------
    key : the job's key that names the folder
    command : that holds it, for those who are refused
    wait : seconds that processes of a run that was killed have to end

    Raises
    ------
    ConfigurationError
        As `job_lock`; or the folder cannot be written.
    """
    with _writable(key, folder):
        made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        with _taken(key, folder) as file:
            with _writable(key, folder):
                file.truncate(0)
                os.write(file.fileno(), f"{os.getpid()} {command}\n".encode())
            _await_workers(key, folder, wait)
            yield
    finally:
        with suppress(OSError):  # not empty: then those around it are not, either
            for path in made:
                path.rmdir()


def hold_as_worker(job: Job, held: ExitStack) -> None:
    """Let nobody begin in a job's folders before this process, a worker of it, has ended."""
    for folder in _folders(job).values():
        with suppress(FileNotFoundError):  # a folder that is missing is the engine's to refuse
            fcntl.flock(held.enter_context((folder / _WORKERS).open("ab")), fcntl.LOCK_SH)


def _folders(job: Job) -> dict[str, Path]:
    """Give the folders that a job writes in, by key, each once."""
    run_dir, recovery = Path(job.job.run_dir), job.recovery.dir
    found = {"job.run_dir": run_dir}
    if recovery is not None and Path(recovery).resolve() != run_dir.resolve():
        found["recovery.dir"] = Path(recovery)
    return found


@contextmanager
def _taken(key: str, folder: Path) -> Iterator[IO[bytes]]:
    path = folder / LOCK
    try:
        with _writable(key, folder):
            file = _locked(path)
    except BlockingIOError:
        raise ConfigurationError(
            f"{key} is {show(str(folder))}, which another {_holder(path)} uses; wait for its end, "
            "or choose another"
        ) from None
    with file:
        try:
            yield file
        finally:
            with suppress(OSError), (folder / _WORKERS).open("rb") as workers:
                fcntl.flock(workers, fcntl.LOCK_EX | fcntl.LOCK_NB)
                (folder / _WORKERS).unlink()
            if _is_at(file, path):  # unlinked while held: who opened it meanwhile looks again
                path.unlink()


@contextmanager
def _writable(key: str, folder: Path) -> Iterator[None]:
    """Say in a sentence that a folder cannot be written; that it is locked is another's to say."""
    try:
        yield
    except BlockingIOError:
        raise
    except OSError as error:
        raise ConfigurationError(
            f"{key} is {show(str(folder))}, which cannot be written: {error.strerror}"
        ) from None


def _locked(path: Path) -> IO[bytes]:
    """Open a file and lock it; again where its last holder has removed it just now."""
    for _ in range(_TRIES):
        path.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as held, suppress(FileNotFoundError):
            file = held.enter_context(path.open("ab"))  # no child inherits it
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(file, path):
                held.pop_all()
                return file
    raise BlockingIOError


def _is_at(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _holder(path: Path) -> str:
    """Say who holds a lock: command and process id, as far as they are known.

    >>> _holder(Path("no such file"))
    '`anabranch run`'
    """
    try:
        process, command = path.read_text(encoding="utf-8").split(maxsplit=1)
    except (OSError, ValueError):  # it has just ended, or just begun
        return "`anabranch run`"
    return f"`{command.strip()}` (process {process})"


def _await_workers(key: str, folder: Path, wait: float) -> None:
    """Wait until the processes have ended that a killed run has left."""
    deadline = time.monotonic() + wait
    with suppress(FileNotFoundError), (folder / _WORKERS).open("rb") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise ConfigurationError(
                        f"{key} is {show(str(folder))}, where processes of a run that was killed "
                        f"have not ended within {wait:g} s; kill them first (python -m "
                        "pipelines.worker)"
                    ) from None
            time.sleep(_POLL)
