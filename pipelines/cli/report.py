"""`anabranch report`: one page about one run, or several compared."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["report", "write_page"]


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="Page to write; report.html in the run's folder, ./comparison.html for several.",
        ),
    ] = None,
) -> None:
    """Write a self-contained HTML page about a run, or comparing several."""
    alone = runs[0] / "report.html" if len(runs) == 1 else Path("comparison.html")
    target = alone if out is None else out
    write_page(runs, target)
    typer.echo(f"report: {target}")


def write_page(runs: Sequence[Path], target: Path) -> None:
    """Write a report; imported late, since drawing takes a while to load.

    Raises
    ------
    ConfigurationError
        A run directory is none, or what draws the charts is not installed.
    """
    from pipelines.report import write_report

    write_report(runs, target)
