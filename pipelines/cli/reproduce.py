"""`anabranch reproduce`: a paper's experiments again, its statements beside our values."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from anabranch.errors import ConfigurationError, nearest
from pipelines.cli.guard import complain

__all__ = ["reproduce"]

_OPTIONS: Mapping[str, Sequence[str]] = {
    "doml": ("data", "only", "quick"),
    "dsvor": ("data", "only", "quick", "seeds"),
    "elastic-net": ("seeds",),
    "npsvor": ("data", "only", "quick", "seeds"),
    "ordinal": ("data", "only", "quick", "seeds"),
}
"""Papers, and the options that each has."""
_SEEDS = 5
_PATIENTS_NODES = 15
"""So many that a node has no more than 21 patients: alone it then fits worse than a mean."""


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help=f"{', '.join(_OPTIONS)}.")],
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="elastic-net: data sets that are drawn; 5 unless given. dsvor: sets and networks "
            "that are drawn; 10. npsvor: random splits of a set; 3. ordinal: holdouts of each set; "
            "all.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder. doml: the sets' ARFF and XML files, as Mulan names them. ordinal: "
            "NAME.csv and NAME.splits.csv. npsvor: the texts. dsvor: the bearings' feat_*.csv; "
            "without it they are left out."
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            "--sets",
            metavar="SET",
            help="doml, npsvor, ordinal: this set only; dsvor: this part only; may be repeated.",
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="All but elastic-net: the quick sets, and less of everything."
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Page to write; PAPER.html unless given.")
    ] = None,
) -> None:
    """Run all of a paper's experiments, print its statements beside our values, write a page."""
    if paper not in _OPTIONS:
        raise ConfigurationError(
            f"unknown paper: PAPER={paper!r}{nearest(paper, list(_OPTIONS))}; "
            f"allowed: {', '.join(_OPTIONS)}"
        )
    _check_options(paper, seeds=seeds, data=data, only=only, quick=quick)
    target = Path(f"{paper}.html") if out is None else out
    _check_target(target)
    _run(paper, data, only or (), quick, seeds, target)
    typer.echo(f"report: {target}")


def _run(
    paper: str,
    data: Path | None,
    only: Sequence[str],
    quick: bool,
    seeds: int | None,
    target: Path,
) -> None:
    """Run a paper's experiments; imported late, since compiled code takes a while to load."""
    if paper == "doml":
        from pipelines.cli.reproduce_doml import run_doml

        run_doml(data, only, quick, target)
    elif paper == "dsvor":
        from pipelines.cli.reproduce_dsvor import run_dsvor

        run_dsvor(data, only, quick, seeds, target)
    elif paper == "npsvor":
        from pipelines.cli.reproduce_npsvor import run_npsvor

        run_npsvor(data, only, quick, seeds, target)
    elif paper == "ordinal":
        from pipelines.cli.reproduce_ordinal import run_ordinal

        run_ordinal(data, only, quick, seeds, target)
    else:
        _elastic_net(seeds or _SEEDS, target)


def _check_options(paper: str, **given: Any) -> None:
    """Refuse options of another paper."""
    own = _OPTIONS[paper]
    for name, value in given.items():
        if value and name not in own:
            raise ConfigurationError(
                f"--{name} is {value!r}, but {paper} has no such option; "
                f"allowed: {', '.join(f'--{one}' for one in own)}"
            )


def _check_target(target: Path) -> None:
    """Refuse before the experiments what would fail after them."""
    from pipelines.report.bokeh_parts import check_bokeh

    check_bokeh()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(target, str(error)) from None
    if target.is_dir() or not os.access(target if target.exists() else target.parent, os.W_OK):
        raise _unwritable(target, "allowed: a file in a folder that can be written to")


def _unwritable(target: Path, why: str) -> ConfigurationError:
    return ConfigurationError(f"--out is {str(target)!r}, which cannot be written: {why}")


def _elastic_net(seeds: int, target: Path) -> None:
    """Run, print and write; imported late, since compiled code takes a while to load."""
    from anabranch.reproduce.elastic_net import compare_local
    from anabranch.reproduce.elastic_net import reproduce as run_all
    from anabranch.reproduce.elastic_net_data import diabetes
    from pipelines.report.reproduced import write_reproduced

    complain(f"running the experiments over {seeds} data sets; the sweeps take about half a minute")
    found = run_all(seeds)
    patients = compare_local([diabetes(seed) for seed in range(seeds)], (_PATIENTS_NODES,))
    # No colours and no width of a terminal's: the table is for files and pipes as well.
    console = Console(width=118, highlight=False)
    console.print(
        _table("statement", [(f.what, f.paper, f.ours, f.differs) for f in found.findings])
    )
    for name, rows in found.sweeps.items():
        console.print(_numbers(f"{name} varied", rows))
    console.print(_numbers("together and alone, synthetic", found.local))
    console.print(_numbers("together and alone, diabetes", patients))
    write_reproduced(found, patients, seeds, target)


def _table(first: str, rows: Sequence[Sequence[str]]) -> Table:
    table = Table(first, title="The paper's statements beside our values", title_justify="left")
    for column in ("paper", "ours", "where they differ, and why"):
        table.add_column(column)
    for row in rows:
        table.add_row(*row)
    return table


def _numbers(title: str, rows: Sequence[Mapping[str, float | None]]) -> Table:
    table = Table(title=title, title_justify="left")
    for key in rows[0]:
        table.add_column(key, justify="right")
    for row in rows:
        table.add_row(*(_number(value) for value in row.values()))
    return table


def _number(value: float | None) -> str:
    """Write a number, or that it was not reached.

    >>> _number(0.03987), _number(20), _number(None)
    ('0.0399', '20', 'never')
    """
    if value is None:
        return "never"
    return f"{value:g}" if value == int(value) else f"{value:.4f}"
