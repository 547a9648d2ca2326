"""A reproduction on the terminal and in JSON: tables, and how far it has come."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid

from anabranch.reproduce.doml_table import Cell, Table
from pipelines.cli.guard import complain

__all__ = ["grid", "plain", "show", "watched", "write_values"]


@contextmanager
def watched() -> Iterator[Callable[[str, int, int], None]]:
    """Give what to call before each piece of work: with what it is, its number, of how many.

    A bar on a terminal; lines elsewhere.
    """
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task("")

        def tell(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)
            if not console.is_terminal:
                complain(f"{done + 1}/{total}: {what}")

        yield tell


def show(tables: Sequence[Table], width: int) -> None:
    """Print tables and their notes."""
    # No colours and no width of a terminal's: the tables are for files and pipes as well.
    console = Console(width=width, highlight=False)
    for table in tables:
        console.print(grid(table), *table.notes, sep="\n")


def write_values(values: Mapping[str, Any], page: Path) -> None:
    """Write the values of a page as JSON beside it."""
    text = json.dumps(values, indent=1, allow_nan=False)
    page.with_suffix(".json").write_text(text + "\n", encoding="utf-8")


def grid(table: Table) -> Grid:
    """Give a table for the terminal."""
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


def plain(table: Table) -> dict[str, Any]:
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
