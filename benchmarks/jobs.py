"""Jobs run as a user runs them: `anabranch run` in a process of its own, timed from outside."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.processes import children, memory
from pipelines.run_dir import RunDirectory, read_lines

__all__ = ["Measured", "command", "measure", "settings_of"]

_LOOK = 0.1
_SETTLED = 30
"""Rounds after which the standardisation is frozen and the caches are warm."""
_AHEAD = 16
"""Ticks the source runs ahead, exchange.ticks_ahead."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One job, medians over its repeats.

    Attributes
    ----------
    steady : samples/s from a fifth of the way (round 30 at least) to the source's last ticks
    whole : samples/s from the start of the command to its end
    round_us : microseconds a round, over the same part as `steady`
    peak : highest resident memory in bytes, added over the worker processes; 0 if unknown
    """

    steady: float
    whole: float
    round_us: float
    peak: float


def settings_of(
    features: int, block: int, rounds: int, nodes: int = 20, partitions: int = 1
) -> dict[str, Any]:
    """Give the settings of a job from the `wide` generator: `block` rows a node a tick.

    The samples of a tick are shared between the partitions.
    """
    return {
        "source.width": features,
        "source.partitions": partitions,
        "source.rows": rounds * block * nodes,
        "source.rows_per_tick": block * nodes // partitions,
        "network.nodes": nodes,
        "network.degree": 4,
        "learner.kernel": "linear",
        "evaluation.companions": "[]",
    }


def command(settings: Mapping[str, Any], *what: str) -> list[str]:
    """Give the command line of a job: `what` is its file, or --source and a kind or file."""
    program = Path(sys.executable).parent / "anabranch"
    pairs = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    return [str(program), "run", *what, *pairs]


def measure(source: str, settings: Mapping[str, Any], repeats: int = 3) -> Measured:
    """Run a job some times.

    Raises
    ------
    RuntimeError
        A run fails; the message is what it printed.
    """
    runs = [_run(source, settings) for _ in range(repeats)]
    return Measured(
        median(run.steady for run in runs),
        median(run.whole for run in runs),
        median(run.round_us for run in runs),
        median(run.peak for run in runs),
    )


def _run(source: str, settings: Mapping[str, Any]) -> Measured:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        run_dir = RunDirectory(Path(folder) / "run")
        begin = time.monotonic()
        line = command({**settings, "job.run_dir": run_dir.path}, "--source", source)
        peak = _perform(line, Path(folder))
        seconds = time.monotonic() - begin
        rows = [row for row in read_lines(run_dir.scores) if row["node"] is None]
    samples = int(rows[-1]["samples"])
    steady, round_us = _middle([row for row in rows if not row["final"]])
    return Measured(steady, samples / seconds, round_us, peak)


def _perform(line: list[str], folder: Path) -> float:
    """Run a command to its end and give the peak memory of the processes it started."""
    peaks: dict[int, int] = {}
    with (folder / "output").open("w+") as output:
        job = subprocess.Popen(line, stdout=output, stderr=subprocess.STDOUT, cwd=folder)
        try:
            while job.poll() is None:
                for pid in children(job.pid):
                    peaks[pid] = max(peaks.get(pid, 0), memory(pid, "VmHWM") or 0)
                time.sleep(_LOOK)
        finally:
            job.terminate()
            job.wait()
        if job.returncode:
            output.seek(0)
            raise RuntimeError(f"{' '.join(line)}\nended with {job.returncode}:\n{output.read()}")
    return float(sum(peaks.values()))


def _middle(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """Give samples/s and microseconds a round between two rows of scores.

    The end is left out: there the source has nothing more to read, and the nodes only catch
    up the ticks it was ahead.
    """
    tick, total = int(rows[0]["samples"]), int(rows[-1]["samples"])
    settled = max(_SETTLED, int(rows[-1]["round"]) // 5)
    middle = [row for row in rows if row["round"] >= settled]
    middle = [row for row in middle if row["samples"] <= total - _AHEAD * tick]
    # A run too short for that is measured over all its scores.
    first, last = (middle[0], middle[-1]) if len(middle) > 1 else (rows[0], rows[-1])
    seconds = (_time(last) - _time(first)).total_seconds()
    rounds = int(last["round"]) - int(first["round"])
    return (int(last["samples"]) - int(first["samples"])) / seconds, seconds / rounds * 1e6


def _time(row: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(str(row["time"]))
