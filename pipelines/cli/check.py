"""`anabranch check`: what a job would do, without doing it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.guard import complain
from pipelines.cli.source import check_source
from pipelines.cli.traffic import first_blocks, traffic
from pipelines.config import Job, build_weights, load_job
from pipelines.config.derive import ROWS_PER_NODE
from pipelines.config.learner import task_of
from pipelines.topics import settle

if TYPE_CHECKING:
    from anabranch.network import Weights
    from anabranch.stream import Block

__all__ = ["check"]

_SLOW_GAP = 0.01
_SHOWN = 6


def check(
    job: Annotated[
        Path | None, typer.Argument(help="Job file (TOML); without it, the built-in job.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Sets any key of the job file."),
    ] = None,
) -> None:
    """Check a job and print its network: size, degrees, spectral gap, traffic a round."""
    resolved = load_job(job, settings or [])
    source = check_source(resolved, settle(resolved, None, make=False))
    weights = build_weights(resolved.network)
    features = source.columns or len(source.features) or None
    facts = _job_facts(resolved, features) | _graph_facts(weights)
    blocks = first_blocks(resolved, source)
    for name, value in (facts | traffic(resolved, source, weights, blocks)).items():
        typer.echo(f"{name:20}{value}")
    found = (*_unusable(blocks), *_short(resolved, blocks))
    for warning in (*found, *_warnings(resolved, weights, len(source.partitions))):
        complain(f"warning: {warning}")


def _job_facts(job: Job, features: int | None) -> dict[str, str]:
    known = {"labels": _labels(job)} if task_of(job.learner) == "multilabel" else {}
    return {
        "learner": _learner(job),
        "features": "told by the first record" if features is None else f"{features}",
        **known,
        **_windows(job),
        "rows a tick": f"{job.source.rows_per_tick:,} of each partition",
    }


def _windows(job: Job) -> dict[str, str]:
    """Say what nodes learn of raw samples, and when they raise alarms."""
    signal, alarm, facts = job.signal, job.alarm, {}
    if signal.window is not None:
        shared = 1.0 - (signal.hop or signal.window) / signal.window
        overlap = f", {shared:.0%} shared with the one before" if shared > 0.0 else ""
        facts["windows"] = f"{signal.window:,} samples every {signal.hop:,}{overlap}"
        facts["modes"] = f"{signal.modes} a channel, over {signal.trials:,} noisy copies"
    if alarm.rise is not None:
        ranks = "rank" if alarm.rise == 1 else "ranks"
        facts["alarms"] = (
            f"{alarm.rise} {ranks} up for {alarm.stay} windows, to {job.output.alarms}"
        )
    return facts


def _labels(job: Job) -> str:
    source, names = job.source, job.source.label_names
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    known = f"{len(names)}: {shown}" if names else "none known yet"
    new = {"grow": "new ones are taken up", "ignore": "new ones are ignored"}
    told = new.get(source.new_labels, "records with new ones are refused")
    return f"{known}; {told}" if source.label_list else known


def _learner(job: Job) -> str:
    ranked = task_of(job.learner) == "ordinal"
    return job.learner.kind + (f", {job.learner.ranks} ranks" if ranked else "")


def _graph_facts(weights: "Weights") -> dict[str, str]:
    graph = weights.graph
    degrees = [graph.degree(node) for node in graph.nodes]
    return {
        "nodes": f"{len(graph.nodes)}",
        "edges": f"{len(graph.edges)}",
        "degree": f"min {min(degrees)}, mean {sum(degrees) / len(degrees):.3g}, max {max(degrees)}",
        "diameter": f"{graph.diameter}",
        "weights": weights.rule,
        "spectral radius": f"{weights.spectral_radius:.6f}",
        "spectral gap": f"{weights.spectral_gap:.6f}",
        "topology hash": graph.hash(),
    }


def _unusable(blocks: Sequence["Block"]) -> Iterator[str]:
    """Say so where no record of the first blocks can be used, and why not the first one."""
    letters = [letter for block in blocks for letter in block.dead]
    if letters and not any(len(block.y) for block in blocks):
        what = f"none of the first {len(letters):,} records"
        if len(letters) == 1:
            what = "no record"
        yield f"{what} of {letters[0].partition} could be used: {letters[0].detail}"


def _short(job: Job, blocks: Sequence["Block"]) -> Iterator[str]:
    """Say so where a file ends before its first window."""
    window, count = job.signal.window, job.signal.samples * sum(len(block.y) for block in blocks)
    if window is not None and 0 < count < window and not any(block.dead for block in blocks):
        yield (
            f"{blocks[0].partition} has no whole window: {count:,} samples, signal.window is "
            f"{window:,}"
        )


def _warnings(job: Job, weights: "Weights", partitions: int) -> Iterator[str]:
    nodes = len(weights.graph.nodes)
    if nodes > 1 and weights.spectral_gap < _SLOW_GAP:
        yield (
            f"the spectral gap is {weights.spectral_gap:.2g}: nodes take about "
            f"{1 / weights.spectral_gap:,.0f} rounds to agree; more edges make it wider"
        )
    rows = job.source.rows_per_tick * partitions / len(job.hosted)
    if job.signal.hop is not None:
        rows *= job.signal.samples / job.signal.hop
    if rows > ROWS_PER_NODE and job.job.kind == "stream":
        yield (
            f"{rows:,.0f} rows a node between exchanges: fast, but nodes hear of each other "
            "less often and learn worse; see source.rows_per_tick"
        )
    if not job.source.bounded and job.recovery.dir is None:
        yield "the source is endless and recovery.dir is not set: a crash loses what was learned"
    if job.source.bounded and job.exchange.mode == "asynchronous":
        yield "exchange.mode is asynchronous: results vary from run to run"
    if job.job.kind == "batch" and job.source.split is None:
        yield "a batch job without source.split has no held-back rows to be scored on"
    if job.parallel.workers > 1:
        yield "workers of one process share the interpreter's lock; parallel.processes do not"
