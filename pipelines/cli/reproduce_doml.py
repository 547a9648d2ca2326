"""`anabranch reproduce doml`: the sets read, the experiments run, page and numbers written."""

from collections.abc import Sequence
from pathlib import Path

from anabranch.errors import ConfigurationError, nearest
from anabranch.reproduce.doml_paper import QUICK, SETS
from anabranch.reproduce.doml_table import Table
from pipelines.cli.guard import complain
from pipelines.cli.paper_tables import plain, show, watched, write_values
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
    show(tables, _WIDTH)
    sets = {"run": list(found.splits), "missing": dict(found.missing)}
    write_doml(tables, sets, out)
    values = {"paper": "doml", "quick": quick, "sets": sets, "tables": [plain(t) for t in tables]}
    write_values(values, out)


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
    with watched() as tell:
        return reproduce(found.splits, extent, tell)
