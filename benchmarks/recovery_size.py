"""The recovery directory's size over time: python -m benchmarks.recovery_size [--seconds N].

Jobs of three sizes of state, four snapshots a second, looked at from outside: files and state, and
whether the files still grow in the second half. Then one that keeps replaced snapshots a while, and
one that is killed and resumed.
"""

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from benchmarks.table import Row, print_rows, write_results
from pipelines.state.size import measure
from pipelines.state.snapshots import Snapshots

MEGA, LOGS = 1e6, 17.5e6
"""Bytes; and what the files' logs take where there is less state than that."""
_LOOK = 0.5


@dataclass(frozen=True)
class Sizes:
    """What was seen of a job: state and files in bytes, the latter by time."""

    state: int
    files: list[int]

    @property
    def growth(self) -> float:
        """Highest size in the second half over that in the first."""
        half = len(self.files) // 2
        return max(self.files[half:]) / max(self.files[:half])


def main() -> None:
    """Run the jobs, print the table, write the JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0, help="of each job")
    seconds = parser.parse_args().seconds
    rows: list[Row] = []
    for name, features, more in (
        ("0.6 MB", 200, ()),
        ("3 MB", 2_000, ()),
        ("27 MB", 20_000, ()),
        ("3 MB, replaced ones kept for 5 s", 2_000, ("recovery.backup_every=5s",)),
    ):
        with tempfile.TemporaryDirectory() as folder:
            rows += _rows(name, _watched(Path(folder), seconds, features, more), bool(more))
    with tempfile.TemporaryDirectory() as folder:
        sizes = [
            _watched(Path(folder), seconds / 4, 2_000, ("--resume",) if start else (), kill=True)
            for start in range(4)
        ]
        whole = Sizes(max(one.state for one in sizes), [n for one in sizes for n in one.files])
        rows += _rows("3 MB, killed and resumed three times", whole, False)
    print_rows(Console(width=110), rows)
    print(write_results("recovery_size", rows))


def _rows(name: str, found: Sizes, kept: bool) -> Iterator[Row]:
    peak, bound = max(found.files), 4 * found.state + LOGS
    yield Row(name, "state", found.state / MEGA, "MB")
    yield Row(name, "files, highest", peak / MEGA, "MB", "state", found.state / MEGA,
              "" if kept else "4 of state + 17.5 MB", None if kept else peak <= bound)  # fmt: skip
    yield Row(name, "second half over first", found.growth, "", aim="1.1", met=found.growth <= 1.1)


def _watched(
    folder: Path, seconds: float, features: int, more: tuple[str, ...], *, kill: bool = False
) -> Sizes:
    """Watch a job for some seconds, from its first snapshot on."""
    job = subprocess.Popen(_command(folder, features, more), stdout=subprocess.DEVNULL)
    try:
        # Files that are still being made must not be opened.
        while not (folder / "run/status-0.json").exists():
            time.sleep(_LOOK)
        return _seen(folder / "state", job, seconds)
    finally:
        job.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        job.wait()
        time.sleep(_LOOK)  # workers end with their parent


def _seen(state: Path, job: "subprocess.Popen[bytes]", seconds: float) -> Sizes:
    sizes, live, begin = [], 0, 0.0
    while not begin or time.monotonic() < begin + seconds:
        time.sleep(_LOOK)
        if job.poll() is not None:
            raise SystemExit(f"the job ended with exit code {job.returncode}")
        snapshots, found = Snapshots(state), measure(state)
        if found is None or snapshots.epochs().resume < 3:
            continue
        begin = begin or time.monotonic()
        sizes.append(found[1])
        live = max(live, sum(row.size or 0 for row in snapshots.current()))
    return Sizes(live, sizes)


def _command(folder: Path, features: int, more: tuple[str, ...]) -> list[str]:
    settings = {
        "source.kind": "nonlinear",
        "source.rows": "",
        "source.rows_per_tick": "20",
        "network.nodes": "20",
        "learner.dimension": str(features),
        "output.report": "false",
        "job.run_dir": str(folder / "run"),
        "recovery.dir": str(folder / "state"),
        "recovery.snapshot_every": "250ms",
    }
    sets = [f"{key}={value}" for key, value in settings.items()]
    words = [word for word in more if word.startswith("--")]
    sets += [word for word in more if word not in words]
    return [sys.executable, "-m", "pipelines.cli", "run", *words,
            *(word for text in sets for word in ("--set", text))]  # fmt: skip


if __name__ == "__main__":
    main()
