"""An endless job under watch: python -m benchmarks.soak [SECONDS].

Two processes with recovery learn from a generator that never ends. Memory, open files and
the size of the snapshots are read every few seconds; what still grows in the second half
of the run is a leak, or an output that is meant to grow (scores).
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.jobs import command, settings_of
from benchmarks.table import print_rows, write_results
from benchmarks.watching import Sample, slopes, watch

__all__ = ["main"]


def main() -> None:
    """Run the job, print and write how its resources went; exit 1 when it ended badly."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak")
    parser.add_argument("seconds", type=float, nargs="?", default=600.0)
    parser.add_argument("--every", type=float, default=5.0, help="seconds between readings")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        samples, code = _soak(Path(folder), args.seconds, args.every)
    rows = slopes(samples)
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
    with (folder / "output").open("w+") as output:
        # The job that runs without a file has an end; this one must not.
        (folder / "job.toml").write_text('[source]\nkind = "wide"\n')
        line = command(_settings(folder), str(folder / "job.toml"))
        job = subprocess.Popen(line, stdout=output, stderr=subprocess.STDOUT, cwd=folder)
        samples, code = watch(job, folder, seconds, every)
        if code:
            output.seek(0)
            print(output.read(), file=sys.stderr)
    return samples, code


if __name__ == "__main__":
    main()
