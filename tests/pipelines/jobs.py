"""Jobs run as a user runs them, and the same jobs in the reference loop."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from anabranch.model_file import read
from anabranch.placement import Placement
from anabranch.protocol import Learner
from anabranch.signal import Windower
from anabranch.simulate import Rows, Simulation, simulate
from anabranch.stream import Block, Share
from pipelines.config import Job, from_json, load_job
from pipelines.flow import build_plan
from pipelines.run_dir import read_lines
from pipelines.signal import window_plan
from pipelines.sources import build_source

SETTINGS = [
    "source.kind=nonlinear",
    "source.rows=6000",
    "source.rows_per_tick=12",
    "source.partitions=2",
    "network.nodes=6",
    "network.degree=3",
    "learner.kernel=gaussian",
    "learner.dimension=40",
    "exchange.final_rounds=3",
    "recovery.snapshot_every=200ms",
    "output.report=false",
]


def command(folder: Path, *more: str, settings: list[str] = SETTINGS) -> list[str]:
    """Give the command line of a job whose run directory and snapshots are in a folder."""
    if "source.kind=nonlinear" not in settings:
        settings = ["source.rows=", *settings]
    own = [f"job.run_dir={folder / 'run'}", f"recovery.dir={folder / 'state'}"]
    sets = [word for setting in [*settings, *own] for word in ("--set", setting)]
    return [sys.executable, "-m", "pipelines.cli", "run", *sets, *more]


def start(folder: Path, *more: str, settings: list[str] = SETTINGS) -> "subprocess.Popen[bytes]":
    """Start a job in the background."""
    return subprocess.Popen(
        command(folder, *more, settings=settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
    )


def finish(job: "subprocess.Popen[bytes]", code: int = 0, timeout: float = 120) -> str:
    """Wait for a job's end and check its exit code."""
    out, _ = job.communicate(timeout=timeout)
    assert job.returncode == code, out.decode()
    return out.decode()


def workers(folder: Path) -> dict[int, int]:
    """Find the process ids of a job's running processes, by process number."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            words = _words(entry)
            if "pipelines.worker" in words and str(folder / "run" / "job.json") in words:
                found[int(words[words.index("--process") + 1])] = int(entry.name)
    return found


def _words(entry: Path) -> list[str]:
    try:
        return (entry / "cmdline").read_bytes().decode().split("\0")
    except OSError:
        return []


def wait_for(condition: object, seconds: float = 60) -> None:
    """Wait until a callable gives something true."""
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def round_of(folder: Path) -> int:
    """Give the newest round in the scores."""
    return max((row["round"] for row in read_lines(folder / "run" / "scores.jsonl")), default=-1)


def kill(pids: list[int]) -> None:
    """Kill processes as hard as it goes."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def models(folder: Path) -> dict[str, dict[str, bytes]]:
    """Give every array of every node's model, as bytes."""
    return {file.stem: arrays(read(file).state) for file in (folder / "run/models").glob("*.npz")}


def arrays(state: dict[str, object]) -> dict[str, bytes]:
    """Give the arrays of a model as bytes."""
    return {k: v.tobytes() for k, v in state.items() if isinstance(v, np.ndarray)}


def reference(job: Job) -> Simulation:
    """Run a job in the loop of `anabranch.simulate`."""
    source = build_source(job)
    plan = build_plan(job, source)
    placement = plan.placement
    blocks: dict[int, list[Block]] = {}
    windows = window_plan(job)
    for part in source.partitions:
        partition = source.blocks.build_part("source", part, None)
        cut = Windower(windows, part).take if windows else lambda block: block
        while isinstance(block := partition.next_batch()[0], Block):
            blocks.setdefault(block.tick, []).append(cut(block))
    learners: dict[str, Learner] = {node: plan.make(node) for node in placement.nodes}
    return simulate(
        learners,
        plan.weights,
        [_tick(placement, blocks[tick]) for tick in sorted(blocks)],
        final_rounds=plan.final_rounds,
        policy=plan.policy,
        rounds_per_tick=plan.rounds_per_tick,
        drift=plan.drift,
    )


def _tick(placement: Placement, blocks: list[Block]) -> dict[str, list[Rows]]:
    shares = [placement.shares(block) for block in blocks]
    return {
        node: [_rows(share[node]) for share in shares if node in share] for node in placement.nodes
    }


def _rows(share: Share) -> Rows:
    return (share.X, share.y) if share.labels is None else (share.X, share.y, share.labels)


def resolved(settings: list[str] = SETTINGS) -> Job:
    """Resolve the job that `command` runs."""
    return load_job(None, settings)


def read_job(folder: Path) -> Job:
    """Read the job a run was started with."""
    return from_json((folder / "run" / "job.json").read_bytes())
