"""What is read of a job under a soak: memory, handles, snapshots, state, series."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

from anabranch.errors import ConfigurationError
from benchmarks.processes import children, folder_bytes, memory, open_files, threads
from benchmarks.trends import Limit
from pipelines.run_dir import RunDirectory
from pipelines.state.snapshots import Snapshots

__all__ = ["DONE", "LIMITS", "Reading", "look"]

Reading = dict[str, float]
"""Values at one time, by name."""

DONE = "samples, millions"
LIMITS = {
    "memory, MB": Limit(share=0.05, least=10.0),
    "open files": Limit(least=1.0),
    "threads": Limit(least=1.0),
    "recovery directory, MB": Limit(share=0.1, least=1.0),
    "state, MB": Limit(share=0.05),
    "Prometheus series": Limit(),
}
"""What may come in eight hours. The run directory has none: scores are meant to be added."""


def look(parent: int, folder: Path, port: int) -> Reading | None:
    """Read how a job does.

    Parameters
    ----------
    parent : its supervising process
    folder : has its run directory `run` and its recovery directory `state`
    port : where it serves its metrics

    Returns
    -------
    None while it is being started or ended.
    """
    workers = children(parent)
    status = RunDirectory(folder / "run").read_status()
    if not workers or not status:
        return None
    try:
        reading = {
            **_of_process("supervisor", parent),
            **{
                k: v
                for i, pid in enumerate(workers)
                for k, v in _of_process(f"process {i}", pid).items()
            },
            "recovery directory, MB": folder_bytes(folder / "state") / 1e6,
            "state, MB": _state(folder / "state") / 1e6,
            "Prometheus series": float(_series(port)),
            "run directory, MB": folder_bytes(folder / "run") / 1e6,
        }
    except (OSError, sqlite3.Error, ConfigurationError):  # no snapshot yet, or it is ending
        return None
    return {DONE: float(status["samples"]) / 1e6, **reading}


def _of_process(name: str, pid: int) -> Reading:
    ways: dict[str, Callable[[int], int | None]] = {
        "memory, MB": memory, "open files": open_files, "threads": threads,
    }  # fmt: skip
    found = {f"{name}: {what}": way(pid) for what, way in ways.items()}
    if None in found.values():
        raise ProcessLookupError(pid)
    return {key: float(value or 0) / (1e6 if "MB" in key else 1) for key, value in found.items()}


def _state(folder: Path) -> int:
    return sum(row.size or 0 for row in Snapshots(folder).current())


def _series(port: int) -> int:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return sum(not line.startswith("#") for line in lines)
