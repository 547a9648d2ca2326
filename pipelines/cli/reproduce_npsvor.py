"""`anabranch reproduce npsvor`: sets read and prepared, models fitted, page and numbers written."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from anabranch.errors import ConfigurationError, nearest
from anabranch.reproduce.doml_table import Table
from anabranch.reproduce.npsvor import Extent, Reproduction
from anabranch.reproduce.npsvor_paper import QUICK, SETS
from pipelines.cli.guard import complain
from pipelines.cli.kept_parts import PartsFolder
from pipelines.cli.paper_tables import grid, plain, watched
from pipelines.text_sets import FORM, TextSets, find_text_sets

__all__ = ["chosen", "run_npsvor"]

_WIDTH = 180


def chosen(only: Sequence[str], quick: bool) -> tuple[str, ...]:
    """Give the sets asked for, in the order in which they run; commas separate names, too.

    Raises
    ------
    ConfigurationError
        One of them is unknown.

    >>> chosen(["semeval,Treebank"], quick=False)
    ('treebank', 'semeval')
    """
    asked = [name.strip() for names in only for name in names.split(",")]
    for name in asked:
        if name.lower() not in SETS:
            raise ConfigurationError(
                f"unknown set: --only {name!r}{nearest(name, list(SETS))}; "
                f"allowed: {', '.join(SETS)}"
            )
    wanted = {name.lower() for name in asked} or set(QUICK if quick else SETS)
    return tuple(name for name in SETS if name in wanted)


def run_npsvor(
    data: Path | None, only: Sequence[str], quick: bool, seeds: int | None, out: Path
) -> None:
    """Run all methods on the sets in a folder, print tables, write a page and a JSON file.

    Finished pieces and prepared text are kept beside the page, where a second run finds them.

    Parameters
    ----------
    seeds : random splits of each set that has no split of its own and is not large

    Raises
    ------
    ConfigurationError
        There is no folder, none of the sets is in it, or a file cannot be read.
    """
    from anabranch.reproduce.npsvor import reproduce
    from anabranch.reproduce.npsvor_tables import tables
    from pipelines.report.reproduced_npsvor import write_npsvor

    beside = out.with_suffix(".parts")
    sets = _find(data, chosen(only, quick), beside)
    extent = Extent(threads=os.cpu_count() or 1)
    extent = extent if seeds is None else replace(extent, seeds=seeds)
    with watched() as tell:
        much = extent.quick() if quick else extent
        found = reproduce(sets.sets, much, parts=PartsFolder(beside), tell=tell)
    made = tables(found)
    _print(made)
    names = {"run": list(sets.sets), "missing": dict(sets.missing)}
    write_npsvor(found, made, names, out)
    values = {"paper": "npsvor", "quick": quick, "sets": names, **_values(found, made)}
    text = json.dumps(values, indent=1, allow_nan=False)
    out.with_suffix(".json").write_text(text + "\n", encoding="utf-8")


def _find(data: Path | None, names: Sequence[str], kept: Path) -> TextSets:
    if data is None:
        raise ConfigurationError(
            f"--data is missing: the sets are not part of this project; name {FORM}"
        )
    sets = find_text_sets(data, names, kept)
    for name, file in sets.missing.items():
        complain(f"{name} is left out: {file} is not in {data}")
    if not sets.sets:
        raise ConfigurationError(
            f"--data is {str(data)!r}, which has none of {', '.join(names)}; allowed: {FORM}"
        )
    return sets


def _values(found: Reproduction, tables: Sequence[Table]) -> Mapping[str, Any]:
    """Give all that the page shows as JSON values, the charts' data as well."""
    return {
        "sizes": {name: asdict(facts) for name, facts in found.sets.items()},
        "runs": [
            {"set": name, "method": method, "splits": list(runs)}
            for (name, method), runs in found.runs.items()
        ],
        "traces": dict(found.traces),
        "tables": [plain(table) for table in tables],
    }


def _print(tables: Sequence[Table]) -> None:
    # No colours and no width of a terminal's: the tables are for files and pipes as well.
    console = Console(width=_WIDTH, highlight=False)
    for table in tables:
        console.print(grid(table))
        for note in table.notes:
            console.print(note)
