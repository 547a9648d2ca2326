"""Eight hours of a job at the pace of a generator: python -m benchmarks.soak [--samples N].

Two processes with recovery learn 200 million samples: 7,000 a second for eight hours, in
minutes. Memory, open files, threads, snapshots, state and Prometheus series are read all along;
a line through each tells its growth in an hour of the job, and whether that counts as flat.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.jobs import command, settings_of
from benchmarks.soak_readings import DONE, LIMITS, Reading, look
from benchmarks.table import Row, print_rows, write_results
from benchmarks.trends import HOURS, Trend, rows_of, trends
from pipelines.run_dir import RunDirectory
from pipelines.supervise import free_ports

__all__ = ["main"]

NODES, FEATURES = 20, 20


def main() -> None:
    """Run the job, print and write how its resources went; exit 1 when it failed or grew."""
    args = _arguments()
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder, begin = Path(name), time.monotonic()
        readings, code = _soak(folder, args)
        rate = args.samples / (time.monotonic() - begin)
        learned = 0 if code else _learned(folder)
    found = trends(readings, DONE, args.samples / 1e6, LIMITS)
    title = f"soak: {args.samples:,} samples as {HOURS:g} hours"
    rows = [*rows_of(title, found), Row(title, "rate, all in all", rate, "samples/s")]
    print_rows(Console(width=110), rows)
    path = write_results("soak", rows, exit_code=code, learned=learned, readings=readings)
    print(f"{_verdict(found, code, learned == args.samples)}; {path}")
    sys.exit(bool(code) or learned != args.samples or any(one.flat is False for one in found))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak")
    parser.add_argument(
        "--samples", type=lambda text: int(float(text)), default=200_000_000, help="2e8 without"
    )
    parser.add_argument("--every", type=float, default=2.0, help="seconds between readings")
    parser.add_argument("--rows", type=int, default=200, help="rows a node a tick")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="further settings"
    )
    return parser.parse_args()


def _settings(folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    return {
        **settings_of(FEATURES, args.rows, rounds=1, nodes=NODES, partitions=NODES),
        "source.rows": args.samples,
        "source.node": "partition",
        "job.run_dir": folder / "run",
        "recovery.dir": folder / "state",
        "recovery.snapshot_every": "1s",
        "evaluation.every": 1000,
        "output.report": "false",
        "parallel.processes": 2,
        "parallel.restarts": 0,
        **dict(pair.split("=", 1) for pair in args.set),
    }


def _soak(folder: Path, args: argparse.Namespace) -> tuple[list[Reading], int]:
    (port,) = free_ports(1)
    line = command(_settings(folder, args), "--source", "wide", "--http", str(port))
    readings: list[Reading] = []
    with (folder / "output").open("w+") as output:
        job = subprocess.Popen(line, stdout=output, stderr=subprocess.STDOUT, cwd=folder)
        begin = time.monotonic()
        try:
            while job.poll() is None:
                time.sleep(args.every)
                if (reading := look(job.pid, folder, port)) is not None:
                    readings.append({"seconds": time.monotonic() - begin, **reading})
        finally:
            job.terminate()
            code = job.wait()
        if code:
            output.seek(0)
            print(output.read(), file=sys.stderr)
    return readings, code


def _learned(folder: Path) -> int:
    return int(RunDirectory(folder / "run").final_rows()["cooperative"]["samples"])


def _verdict(found: Sequence[Trend], code: int, whole: bool) -> str:
    if code:
        return f"the job failed with {code}"
    if not whole:
        return "samples were lost"
    growing = [one.reading for one in found if one.flat is False]
    if growing:
        return f"growing: {', '.join(growing)}"
    judged = [one for one in found if one.flat]
    return f"all {len(judged)} flat" if judged else "too few readings for a verdict"


if __name__ == "__main__":
    main()
