"""`anabranch reproduce doml`: the sets read, the experiments run, page and numbers written."""

import json
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid

from anabranch.errors import ConfigurationError, nearest
from anabranch.reproduce.doml_paper import QUICK, SETS
from anabranch.reproduce.doml_table import Cell, Table
from pipelines.cli.guard import complain
from pipelines.label_sets import ORIGIN, LabelSets, read_sets

__all__ = ["chosen", "run_doml"]

_WIDTH = 160


def chosen(only: Sequence[str], quick: bool) -> tuple[str, ...]:
    """Give the sets asked for, in the order in which they run.

    Raises
    ------
    ConfigurationError
        One of them is unknown.

    Examples
    --------
    >>> chosen(["Scene", "emotions"], quick=False)
    ('emotions', 'scene')
    """
    known = {name.lower(): name for name in SETS}
    for name in only:
        if name.lower() not in known:
            raise ConfigurationError(
                f"unknown set: --only {name!r}{nearest(name, list(SETS))}; "
                f"allowed: {', '.join(SETS)}"
            )
    asked = {known[name.lower()] for name in only} or set(QUICK if quick else SETS)
    return tuple(name for name in SETS if name in asked)


def run_doml(data: Path | None, only: Sequence[str], quick: bool, out: Path) -> None:
    """Run everything that the sets in a folder allow, print it, write a page and a JSON file.

    Raises
    ------
    ConfigurationError
        There is no folder, none of the sets is in it, or a file cannot be read.
    """
    from pipelines.report.reproduced_doml import write_doml

    found = _read(data, chosen(only, quick))
    tables = _run(found, quick)
    # No colours and no width of a terminal's: the tables are for files and pipes as well.
    console = Console(width=_WIDTH, highlight=False)
    for table in tables:
        console.print(_grid(table))
    sets = {"run": list(found.splits), "missing": dict(found.missing)}
    write_doml(tables, sets, out)
    values = {"paper": "doml", "quick": quick, "sets": sets, "tables": [_plain(t) for t in tables]}
    text = json.dumps(values, indent=1, allow_nan=False)
    out.with_suffix(".json").write_text(text + "\n", encoding="utf-8")


def _read(data: Path | None, names: Sequence[str]) -> LabelSets:
    if data is None:
        raise ConfigurationError(
            "--data is missing: the seven sets are not part of this project; get their ARFF and "
            f"XML files from {ORIGIN}, and name the folder that holds them"
        )
    found = read_sets(data, names)
    for name, file in found.missing.items():
        complain(f"{name} is left out: {file} is not in {data}")
    if not found.splits:
        raise ConfigurationError(
            f"--data is {str(data)!r}, which has none of {', '.join(names)}; allowed: a folder "
            f"with ARFF and XML files from {ORIGIN}"
        )
    return found


def _run(found: LabelSets, quick: bool) -> list[Table]:
    """Run with a bar on a terminal; lines elsewhere."""
    from anabranch.reproduce.doml import Extent, reproduce

    extent = Extent.quick() if quick else Extent()
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task("")

        def tell(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)
            if not console.is_terminal:
                complain(f"{done + 1}/{total}: {what}")

        return reproduce(found.splits, extent, tell)


def _grid(table: Table) -> Grid:
    grid = Grid(title=table.caption, title_justify="left", caption_justify="left")
    for i, name in enumerate(table.columns):
        grid.add_column(name, justify="right" if i else "left")
    for row in table.rows:
        grid.add_row(*(_written(cell) for cell in row))
    return grid


def _written(cell: Cell) -> str:
    """Write a cell: words as they are, numbers short.

    >>> [_written(cell) for cell in (0.23561, 20, 3.2e-11, None, "ring")]
    ['0.2356', '20', '3.2e-11', '-', 'ring']
    """
    if cell is None:
        return "-"
    if isinstance(cell, str) or not isfinite(cell):
        return str(cell)
    if cell == int(cell) and abs(cell) < 1e9:
        return f"{cell:,.0f}"
    return f"{cell:.4f}" if 1e-3 <= abs(cell) < 1e4 else f"{cell:.1e}"


def _plain(table: Table) -> dict[str, Any]:
    """Give a table as JSON values; what is not finite becomes null."""
    return {
        "key": table.key,
        "caption": table.caption,
        "columns": list(table.columns),
        "rows": [[_finite(cell) for cell in row] for row in table.rows],
        "notes": list(table.notes),
    }


def _finite(cell: Cell) -> Cell:
    return None if isinstance(cell, float) and not isfinite(cell) else cell
