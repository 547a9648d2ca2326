"""The main job's cost: python -m benchmarks.foundation [--quick] [--only SECTION ...].

Twenty nodes of mean degree four, linear dSVOR, parameters exchanged after every block, four
ordinal metrics cumulative and windowed. Every rate is that of `anabranch run` in a process
of its own; "steady" leaves out starting and ending, "whole" does not. Needs a quiet machine
with two cores.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console

from anabranch.synthetic import make_stream
from benchmarks.jobs import Measured, measure, settings_of
from benchmarks.peers import Peers, loadtxt_rate, parse_rate, river_rate
from benchmarks.table import Row, print_rows, write_results

__all__ = ["main"]

NARROW, WIDE = (20, 1000), (200, 100)
"""Features, and rows a node a tick."""

_RATE = "samples/s"
_ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "1000000000", "MALLOC_TRIM_THRESHOLD_": "4000000000"}
"""As jobs are started with: freed blocks are used again, for the peers too."""
_CSV_ROWS_A_TICK = 20_000


class Plan:
    """How long to measure: in full, or just long enough to see that all of it works."""

    def __init__(self, quick: bool) -> None:
        self.quick = quick
        self.repeats = 1 if quick else 3

    def rounds(self, full: int) -> int:
        """Rounds of a job that has `full` of them in earnest."""
        return max(50, full // 20) if self.quick else full


def main() -> None:
    """Run the sections, print the table, write the JSON."""
    args = _arguments()
    if any(os.environ.get(name) != value for name, value in _ALLOCATOR.items()):
        # The allocator reads them once, when a process begins.
        command = [sys.executable, "-m", "benchmarks.foundation", *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, **_ALLOCATOR})
    plan, console, begin = Plan(args.quick), Console(width=110), time.monotonic()
    rows: list[Row] = []
    measure("wide", settings_of(*WIDE, rounds=25), 1)  # compiles what is not in the cache yet
    for name in args.only or _SECTIONS:
        section = list(_SECTIONS[name](plan))
        print_rows(console, section)
        rows += section
    seconds = time.monotonic() - begin
    path = write_results("foundation", rows, quick=args.quick, seconds=round(seconds, 1))
    if "parallel" in (args.only or _SECTIONS):
        console.print(_advice(rows), highlight=False)
    console.print(f"{seconds:.0f} s; {path}", highlight=False, soft_wrap=True)
    sys.exit(any(row.met is False for row in rows) and not args.quick)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.foundation")
    parser.add_argument("--quick", action="store_true", help="short runs; figures mean little")
    parser.add_argument("--only", nargs="+", choices=list(_SECTIONS), help="sections to run")
    return parser.parse_args()


def _generator(plan: Plan) -> Iterator[Row]:
    for (features, block), rounds, aim in ((NARROW, 600, 2e6), (WIDE, 1500, 5e5)):
        section = f"generator: 20 nodes, {features} features, {block} rows a node a tick"
        job = measure("wide", settings_of(features, block, plan.rounds(rounds)), plan.repeats)
        peers, several = Peers(features, block), plan.rounds(200)
        wanted = f">= {aim / 1e6:g} M"
        kernel, river = peers.kernel_rate(several), river_rate(features, 60_000 // features)
        for peer, rate in (("kernel alone", kernel), ("River LogisticRegression", river)):
            yield Row(section, "steady", job.steady, _RATE, peer, rate, wanted, job.steady >= aim)
        yield Row(section, "whole command", job.whole, _RATE, "kernel alone", kernel)
        loop = peers.simulation_rate(several)
        yield Row(section, "simulate, no scores", loop, _RATE, "kernel alone", kernel)


def _csv(plan: Plan) -> Iterator[Row]:
    section, features = "CSV: 20 nodes, 20 features, 1000 rows a node a tick", NARROW[0]
    copies = 5 if plan.quick else 100
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        path = str(Path(folder) / "wide.csv")
        total = _write_csv(path, features, copies)
        settings = settings_of(*NARROW, rounds=1)
        job = measure(
            path,
            {
                **{k: v for k, v in settings.items() if not k.startswith("source.")},
                "source.rows_per_tick": _CSV_ROWS_A_TICK // (10 if plan.quick else 1),
                "learner.ranks": 4,
                "source.label": "y",
            },
            plan.repeats,
        )
        parse = parse_rate(path, total, _CSV_ROWS_A_TICK)
        numpy_rate = loadtxt_rate(path, total // 5)
    for peer, rate in (("bare parse", parse), ("numpy.loadtxt", numpy_rate)):
        met = job.steady >= 2e5
        yield Row(section, "steady", job.steady, "rows/s", peer, rate, ">= 0.2 M", met)
    yield Row(section, "whole command", job.whole, "rows/s", "numpy.loadtxt", numpy_rate)


def _write_csv(path: str, features: int, copies: int) -> int:
    """Write 20,000 samples, again and again; gives the number of rows."""
    X, y = make_stream("wide", features=features).block(0, _CSV_ROWS_A_TICK)
    names = ",".join([*(f"x{i}" for i in range(features)), "y"])
    form = ",".join(["%.6f"] * features)
    text = "".join(f"{form % tuple(x)},{int(r)}\n" for x, r in zip(X.tolist(), y, strict=True))
    with open(path, "w", encoding="ascii") as file:
        file.write(names + "\n")
        for _ in range(copies):
            file.write(text)
    return copies * len(y)


def _parallel(plan: Plan) -> Iterator[Row]:
    # features, rows a node a tick, rounds, partitions, whether two processes have an aim
    shapes = (
        (20, 1000, 500, 20, None),
        (200, 1000, 250, 20, 1.7),
        (200, 100, 1200, 20, 1.7),
        (200, 100, 1200, 2, None),
    )
    for features, block, rounds, partitions, aim in shapes:
        own = partitions == 20
        where = "a partition a node" if own else "2 partitions dealt to all nodes"
        section = f"parallel: 20 nodes, {features} features, {block} rows, {where}"
        settings = settings_of(features, block, plan.rounds(rounds), partitions=partitions)
        settings["output.report"] = "false"
        settings["source.node"] = "partition" if own else "round-robin"
        one = measure("wide", settings, plan.repeats).steady
        yield Row(section, "1 process, 1 worker", one, _RATE)
        for kind in ("processes", "workers"):
            two = measure("wide", {**settings, f"parallel.{kind}": 2}, plan.repeats).steady
            asked = aim if kind == "processes" else None
            yield Row(
                section,
                f"2 {kind}",
                two,
                _RATE,
                "1 process, 1 worker",
                one,
                "" if asked is None else f">= {asked} times",
                None if asked is None else two >= asked * one,
            )


def _advice(rows: list[Row]) -> str:
    """Say what to choose, from what was measured."""
    found = [row for row in rows if row.section.startswith("parallel") and row.ratio]
    lines = []
    for processes, workers in zip(found[::2], found[1::2], strict=True):
        ratios = {"--processes 2": processes.ratio or 0, "--workers 2": workers.ratio or 0}
        best = max(ratios, key=lambda name: ratios[name])
        choice = best if ratios[best] > 1.1 else "one process with one worker"
        lines.append(f"{processes.section.removeprefix('parallel: ')}: choose {choice}")
    lines.append(
        "Workers are threads that share the interpreter's lock; processes do not. Leave "
        "--workers at 1. --processes pays where each node has partitions of its own, read "
        "where the node lives (source.node = partition), and ticks are large; where rows are "
        "dealt to all nodes, half of them cross between the processes."
    )
    return "\n".join(lines)


def _nodes(plan: Plan) -> Iterator[Row]:
    section = "nodes: 20 features, 100 rows a node a tick, degree 4"
    base: float | None = None
    for nodes, rounds in ((20, 2000), (200, 300), (1000, 100)):
        settings = settings_of(20, 100, plan.rounds(rounds), nodes=nodes)
        job = measure("wide", {**settings, "output.report": "false"}, 1)
        yield from _node_rows(section, nodes, job, base)
        base = base or job.round_us / nodes


def _node_rows(section: str, nodes: int, job: Measured, base: float | None) -> Iterator[Row]:
    peer = "" if base is None else "20 nodes"
    yield Row(section, f"{nodes} nodes, node-round", job.round_us / nodes, "us", peer, base)
    large = nodes == 1000
    yield Row(
        section,
        f"{nodes} nodes, peak memory",
        job.peak / 1e6,
        "MB",
        aim="< 2000 MB" if large else "",
        met=job.peak < 2e9 if large else None,
    )


_SECTIONS: dict[str, Callable[[Plan], Iterator[Row]]] = {
    "generator": _generator,
    "csv": _csv,
    "parallel": _parallel,
    "nodes": _nodes,
}


if __name__ == "__main__":
    main()
