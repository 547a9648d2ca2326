"""`anabranch state`: what the snapshots of a job hold, without running it."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.errors import ConfigurationError

if TYPE_CHECKING:
    from rich.table import Table

    from pipelines.run_dir import RunDirectory
    from pipelines.state.nodes import Exported
    from pipelines.state.snapshots import Snapshots
    from pipelines.state.summary import Summary

__all__ = ["state"]

_NAMELESS = (
    "exported without the fields' names and how records are read: give the run directory instead "
    "of its snapshots for models that can predict files"
)


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

    run, place = _where(folder)
    snapshots = Snapshots(place)
    saved = _pruned(snapshots) if prune else None
    summary = _summary(snapshots, run)
    written = [] if export is None else _export(summary, export, run)
    missing = [f"node {one.node!r} was not exported: {one.trouble}" for one in written if one.wrong]
    summary = replace(summary, faults=summary.faults + missing)
    note = _NAMELESS if run is None and any(one.path for one in written) else ""
    if as_json:
        more: dict[str, Any] = {"exported": _files(written), "note": note} if export else {}
        typer.echo(json.dumps(summary.as_json() | more, indent=2))
    else:
        _print(summary, written, note, saved)
    if summary.faults:
        raise typer.Exit(1)


def _where(folder: Path) -> tuple["RunDirectory | None", Path]:
    """Give the run, if the folder is one's, and its recovery directory."""
    from pipelines.run_dir import RunDirectory

    run = RunDirectory(folder)
    if not run.holds_run():
        return None, folder
    job = run.read_job()
    if job.recovery.dir is None:
        raise ConfigurationError(f"{folder} is a run without snapshots: recovery.dir is not set")
    return run, Path(job.recovery.dir)


def _pruned(snapshots: "Snapshots") -> int:
    from pipelines.lock import folder_lock

    with folder_lock("recovery.dir", snapshots.folder, "anabranch state --prune"):
        try:
            return snapshots.prune()
        except sqlite3.Error as error:
            raise _damaged(snapshots, error) from None


def _summary(snapshots: "Snapshots", run: "RunDirectory | None") -> "Summary":
    from pipelines.state.summary import summarise

    try:
        return summarise(snapshots, complete=run is not None and run.is_complete())
    except sqlite3.Error as error:
        raise _damaged(snapshots, error) from None


def _damaged(snapshots: "Snapshots", error: sqlite3.Error) -> ConfigurationError:
    faults = "; ".join(snapshots.faults()) or str(error)
    return ConfigurationError(f"{snapshots.folder} cannot be read: {faults}")


def _export(summary: "Summary", folder: Path, run: "RunDirectory | None") -> "Sequence[Exported]":
    from pipelines.models import model_metadata
    from pipelines.sources import build_source
    from pipelines.state.nodes import export_models
    from pipelines.topics import open_topics

    metadata: dict[str, Any] = {}
    if run is not None:
        job = run.read_job()
        metadata = model_metadata(job, build_source(job, open_topics(job, 0)).features)
    return list(export_models(summary.nodes, folder, metadata))


def _files(written: "Sequence[Exported]") -> dict[str, str]:
    """Give each node's file; or, in brackets, why there is none."""
    return {one.node: one.path or f"({one.trouble})" for one in written}


def _print(summary: "Summary", written: "Sequence[Exported]", note: str, saved: int | None) -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(_table(summary))
    for step, rows in summary.steps.items():
        size = sum(row.size or 0 for row in rows)
        console.print(f"{step}: {_count(len(rows), 'key')}, {_count(size, 'byte')}")
    console.print(_where_it_stands(summary))
    if saved is not None:
        console.print(f"pruned: {_count(saved, 'byte')} saved")
    for name, path in _files(written).items():
        console.print(f"{name}: {path}")
    if note:
        console.print(note)
    for fault in summary.faults:
        console.print(f"wrong: {fault}")
    if not summary.faults:
        console.print("nothing is wrong")


def _table(summary: "Summary") -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(pad_edge=False)
    for name in ("node", "learner"):
        table.add_column(name, overflow="fold")
    for name in ("next round", "samples", "bytes", "written"):
        table.add_column(name, justify="right", no_wrap=True)
    for node in summary.nodes:
        made = node.made.strftime("%Y-%m-%d %H:%M:%S")
        numbers = (
            "done" if node.done else f"{node.round:,}",
            f"{node.samples:,}",
            f"{node.size:,}",
            made,
        )
        table.add_row(Text(node.node), Text(node.kind), *numbers)
    return table


def _where_it_stands(summary: "Summary") -> str:
    low, high = summary.rounds
    rounds = f"at round {low:,}" if low == high else f"at rounds {low:,} to {high:,}"
    if not summary.nodes:
        rounds = "without a snapshot of any node"
    times = f" ({summary.multiple:.1f} times)" if summary.multiple else ""
    return (
        f"{'complete; ' if summary.complete else ''}goes on {rounds}, epoch "
        f"{summary.epochs.resume:,}; last snapshot {summary.age():,.0f} s old; "
        f"{_count(summary.live, 'byte')} of state in {_count(summary.size, 'byte')} of files"
        f"{times}; "
        f"{_count(summary.replaced, 'replaced snapshot')}"
    )


def _count(number: int, noun: str) -> str:
    """Say how many there are of something.

    >>> _count(1, "key"), _count(2000, "key")
    ('1 key', '2,000 keys')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
