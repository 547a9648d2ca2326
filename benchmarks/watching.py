"""A long job under watch: memory, open files, sizes of folders."""

import signal
import subprocess
import time
from pathlib import Path

import numpy as np

from benchmarks.processes import children, folder_bytes, memory, open_files
from benchmarks.table import Row
from pipelines.run_dir import RunDirectory

__all__ = ["Sample", "slopes", "watch"]

Sample = dict[str, float]
"""Readings at one time; "seconds" is the time."""


def watch(
    job: "subprocess.Popen[bytes]", folder: Path, seconds: float, every: float
) -> tuple[list[Sample], int]:
    """Read how a job does for so long, then stop it; gives the readings and its exit code.

    The code is 1 for a job that ended by itself, however well.
    """
    samples: list[Sample] = []
    begin = time.monotonic()
    try:
        while time.monotonic() - begin < seconds and job.poll() is None:
            time.sleep(every)
            samples.append({"seconds": time.monotonic() - begin, **_look(job.pid, folder)})
    finally:
        early = job.poll() is not None
        job.send_signal(signal.SIGTERM)
        code = job.wait()
    return samples, code or int(early)


def _look(parent: int, folder: Path) -> Sample:
    sample: Sample = {}
    for number, pid in enumerate(children(parent)):
        sample[f"process {number}: memory, MB"] = (memory(pid) or 0) / 1e6
        sample[f"process {number}: open files"] = float(open_files(pid) or 0)
    sample["snapshots, MB"] = folder_bytes(folder / "state") / 1e6
    sample["run directory, MB"] = folder_bytes(folder / "run") / 1e6
    status = RunDirectory(folder / "run").read_status() or {}
    sample["samples, millions"] = float(status.get("samples", 0)) / 1e6
    return sample


def slopes(samples: list[Sample]) -> list[Row]:
    """Fit a line to the second half of each reading; give where it ends and how it grows."""
    half = samples[len(samples) // 2 :]
    rows = []
    for name in (key for key in half[-1] if key != "seconds"):
        points = [(s["seconds"] / 60, s[name]) for s in half if name in s]
        minutes, values = np.array(points).T
        slope = float(np.polyfit(minutes, values, 1)[0]) if len(points) > 1 else 0.0
        rows.append(Row("soak: at the end", name, float(values[-1]), ""))
        rows.append(Row("soak: growth in the second half", name, slope, "a minute"))
    return rows
