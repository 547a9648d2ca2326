"""`anabranch reproduce dsvor`: experiments run, page and numbers written."""

from collections.abc import Sequence
from pathlib import Path

from anabranch.errors import ConfigurationError, nearest
from pipelines.cli.guard import complain
from pipelines.cli.kept_parts import PartsFolder
from pipelines.cli.paper_tables import plain, show, watched, write_values

__all__ = ["run_dsvor"]

_WIDTH = 180


def run_dsvor(
    data: Path | None, only: Sequence[str], quick: bool, seeds: int | None, out: Path
) -> None:
    """Run all experiments, or some, print tables, write a page and a JSON file.

    Finished pieces are kept beside the page, in a folder that a second run takes them from.

    Parameters
    ----------
    data : folder with the bearings' features; without it they are left out
    only : names of parts; all unless given

    Raises
    ------
    ConfigurationError
        A part is unknown, or a file cannot be read.
    """
    from anabranch.reproduce.bearings_data import files_of
    from anabranch.reproduce.dsvor import PARTS, Extent, reproduce
    from pipelines.bearing_files import read_bearings
    from pipelines.report.reproduced_dsvor import write_dsvor

    chosen = _chosen(only, PARTS)
    extent = Extent.quick(chosen, seeds) if quick else Extent(chosen, seeds or 10)
    names = {name for case in extent.cases for name in files_of(case)}
    files = {} if data is None else read_bearings(data, sorted(names))
    with watched() as tell:
        found = reproduce(files, extent, PartsFolder(out.with_suffix(".parts")), tell)
    if found.missing:
        where = f"not in {data}" if data else "no --data is given"
        complain(f"bearings without {', '.join(found.missing)} ({where}) are left out")
    show(found.tables, _WIDTH)
    write_dsvor(found, extent, out)
    values = {
        "paper": "dsvor", "seeds": extent.seeds, "rounds": extent.rounds, "quick": quick,
        "missing": list(found.missing), "synthetic": dict(found.synthetic),
        "tables": [plain(table) for table in found.tables],
    }  # fmt: skip
    write_values(values, out)


def _chosen(only: Sequence[str], parts: Sequence[str]) -> tuple[str, ...]:
    for name in only:
        if name not in parts:
            raise ConfigurationError(
                f"unknown part: --only {name!r}{nearest(name, list(parts))}; "
                f"allowed: {', '.join(parts)}"
            )
    return tuple(name for name in parts if name in only or not only)
