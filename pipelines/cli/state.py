"""`anabranch state`: what the snapshots of a job hold, without running it."""

import json
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.errors import ConfigurationError

if TYPE_CHECKING:
    from pipelines.config import Job
    from pipelines.state.snapshots import Snapshots
    from pipelines.state.summary import Summary

__all__ = ["state"]


def state(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A run directory, or a recovery directory.")
    ],
    export: Annotated[
        Path | None,
        typer.Option(help="Folder to write every node's model to, as the job would at its end."),
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete snapshots that later ones replace.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tell the rounds, sizes, ages and integrity of a job's snapshots; export its models.

    Exit code 1 where something is wrong with them.
    """
    from pipelines.state.snapshots import Snapshots

    job, place = _where(folder)
    snapshots = Snapshots(place)
    saved = snapshots.prune() if prune else None
    summary = _summary(snapshots)
    written = [] if export is None else _export(summary, export, job)
    if as_json:
        more = {"exported": dict(written)} if export else {}
        typer.echo(json.dumps(summary.as_json() | more, indent=2))
    else:
        _print(summary, written, saved)
    if summary.faults:
        raise typer.Exit(1)


def _where(folder: Path) -> tuple["Job | None", Path]:
    """Give the job, if the folder is a run's, and its recovery directory."""
    from pipelines.run_dir import RunDirectory

    run = RunDirectory(folder)
    if not run.holds_run():
        return None, folder
    job = run.read_job()
    if job.recovery.dir is None:
        raise ConfigurationError(f"{folder} is a run without snapshots: recovery.dir is not set")
    return job, Path(job.recovery.dir)


def _summary(snapshots: "Snapshots") -> "Summary":
    from pipelines.state.summary import summarise

    try:
        return summarise(snapshots)
    except sqlite3.Error as error:
        faults = "; ".join(snapshots.faults()) or str(error)
        raise ConfigurationError(f"{snapshots.folder} cannot be read: {faults}") from None


def _export(summary: "Summary", folder: Path, job: "Job | None") -> list[tuple[str, str]]:
    from pipelines.models import model_metadata
    from pipelines.sources import build_source
    from pipelines.state.nodes import export_models
    from pipelines.topics import open_topics

    metadata: dict[str, Any] = {}
    if job is not None:
        metadata = model_metadata(job, build_source(job, open_topics(job, 0)).features)
    return list(export_models(summary.nodes, folder, metadata))


def _print(summary: "Summary", written: list[tuple[str, str]], saved: int | None) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, soft_wrap=True)
    table = Table(pad_edge=False)
    for name in ("node", "learner", "next round", "samples", "bytes", "written"):
        table.add_column(name, justify="left" if name in ("node", "learner") else "right")
    for node in summary.nodes:
        made = node.made.strftime("%Y-%m-%d %H:%M:%S")
        numbers = (f"{node.round:,}", f"{node.samples:,}", f"{node.size:,}", made)
        table.add_row(node.node, node.kind, *numbers)
    console.print(table)
    for step, rows in summary.steps.items():
        console.print(f"{step}: {len(rows):,} keys, {sum(row.size or 0 for row in rows):,} bytes")
    low, high = summary.rounds
    rounds = f"round {low:,}" if low == high else f"rounds {low:,} to {high:,}"
    console.print(
        f"goes on at {rounds}, epoch {summary.epochs.resume:,}; last snapshot "
        f"{summary.age():,.0f} s old; {summary.live:,} bytes of state in {summary.size:,} bytes "
        f"of files; {summary.replaced:,} replaced snapshots"
    )
    if saved is not None:
        console.print(f"pruned: {saved:,} bytes saved")
    for node_name, path in written:
        console.print(f"{node_name}: {path}")
    for fault in summary.faults:
        console.print(f"wrong: {fault}")
    if not summary.faults:
        console.print("nothing is wrong")
