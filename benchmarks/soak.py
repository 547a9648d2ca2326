"""An endless job under watch: python -m benchmarks.soak [SECONDS].

Two processes with recovery learn from a generator that never ends. Memory, open files and
the size of the snapshots are read every few seconds; what still grows in the second half
of the run is a leak, or an output that is meant to grow (scores).
"""

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.jobs import command, settings_of
from benchmarks.processes import children, folder_bytes, memory, open_files
from benchmarks.table import Row, print_rows, write_results
from pipelines.run_dir import RunDirectory

__all__ = ["main"]

Sample = dict[str, float]


def main() -> None:
    """Run the job, print and write how its resources went; exit 1 when it ended badly."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak")
    parser.add_argument("seconds", type=float, nargs="?", default=600.0)
    parser.add_argument("--every", type=float, default=5.0, help="seconds between readings")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        samples, code = _soak(Path(folder), args.seconds, args.every)
    rows = _slopes(samples)
    print_rows(Console(width=110), rows)
    path = write_results("soak", rows, exit_code=code, samples=samples)
    ending = "failed" if code else "ended well on SIGTERM"
    print(f"{ending}; {path}")
    sys.exit(code != 0)


def _settings(folder: Path) -> dict[str, Any]:
    settings = settings_of(200, 100, rounds=1, partitions=2)
    del settings["source.rows"]
    return {
        **settings,
        "job.run_dir": folder / "run",
        "recovery.dir": folder / "state",
        "parallel.processes": 2,
        "parallel.restarts": 0,
    }


def _soak(folder: Path, seconds: float, every: float) -> tuple[list[Sample], int]:
    samples: list[Sample] = []
    with (folder / "output").open("w+") as output:
        # The job that runs without a file has an end; this one must not.
        (folder / "job.toml").write_text('[source]\nkind = "wide"\n')
        line = command(_settings(folder), str(folder / "job.toml"))
        job = subprocess.Popen(line, stdout=output, stderr=subprocess.STDOUT, cwd=folder)
        begin = time.monotonic()
        try:
            while time.monotonic() - begin < seconds and job.poll() is None:
                time.sleep(every)
                samples.append({"seconds": time.monotonic() - begin, **_look(job.pid, folder)})
        finally:
            early = job.poll() is not None
            job.send_signal(signal.SIGTERM)
            code = job.wait()
        if code or early:
            output.seek(0)
            print(output.read(), "the job ended by itself" if early else "", file=sys.stderr)
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


def _slopes(samples: list[Sample]) -> list[Row]:
    """Fit a line to the second half of each reading."""
    half = samples[len(samples) // 2 :]
    rows = []
    for name in (key for key in half[-1] if key != "seconds"):
        points = [(s["seconds"] / 60, s[name]) for s in half if name in s]
        minutes, values = np.array(points).T
        slope = float(np.polyfit(minutes, values, 1)[0]) if len(points) > 1 else 0.0
        rows.append(Row("soak: at the end", name, float(values[-1]), ""))
        rows.append(Row("soak: growth in the second half", name, slope, "a minute"))
    return rows


if __name__ == "__main__":
    main()
