"""`anabranch reproduce ordinal`: sets read, models fitted, page and numbers written."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from anabranch.errors import ConfigurationError, nearest
from anabranch.reproduce.ordinal_paper import KNOWN
from pipelines.cli.guard import complain
from pipelines.cli.kept_parts import PartsFolder
from pipelines.cli.paper_tables import plain, show, watched, write_values
from pipelines.ordinal_sets import FORM, OrdinalSets, find_sets

__all__ = ["chosen", "run_ordinal"]

_WIDTH = 200
_QUICK = ("toy", "contact-lenses", "newthyroid", "balance-scale")
_QUICK_HOLDOUTS = 3


def chosen(only: Sequence[str], quick: bool) -> tuple[str, ...]:
    """Give the sets asked for, in the order in which they run.

    Raises
    ------
    ConfigurationError
        One of them is unknown.

    >>> chosen(["swd", "toy"], quick=False)
    ('toy', 'SWD')
    """
    known = {name.lower(): name for name in KNOWN}
    for name in only:
        if name.lower() not in known:
            raise ConfigurationError(
                f"unknown set: --only {name!r}{nearest(name, list(KNOWN))}; "
                f"allowed: {', '.join(KNOWN)}"
            )
    asked = {known[name.lower()] for name in only} or set(_QUICK if quick else KNOWN)
    return tuple(name for name in KNOWN if name in asked)


def run_ordinal(
    data: Path | None, only: Sequence[str], quick: bool, holdouts: int | None, out: Path
) -> None:
    """Fit all models to the sets in a folder, print tables, write a page and a JSON file.

    Finished pieces are kept beside the page, in a folder that a second run takes them from.

    Parameters
    ----------
    holdouts : of each set; all, or 3 if `quick`, unless given

    Raises
    ------
    ConfigurationError
        There is no folder, none of the sets is in it, or a file cannot be read.
    """
    from anabranch.reproduce.ordinal import reproduce
    from anabranch.reproduce.ordinal_tables import tables
    from pipelines.report.reproduced_ordinal import write_ordinal

    most = holdouts or (_QUICK_HOLDOUTS if quick else None)
    sets = _find(data, chosen(only, quick), most)
    with watched() as tell:
        parts = PartsFolder(out.with_suffix(".parts"))
        found = reproduce(sets.holdouts, parts=parts, tell=tell)
    made = tables(found)
    show(made, _WIDTH)
    names = {"run": list(sets.holdouts), "missing": dict(sets.missing)}
    write_ordinal(found, made, names, out)
    values = {
        "paper": "ordinal", "quick": quick, "sets": names,
        "sizes": {name: asdict(facts) for name, facts in found.sets.items()},
        "scores": [
            {"set": name, "model": key, "holdouts": scores.tolist()}
            for (name, key), scores in found.scores.items()
        ],
        "tables": [plain(table) for table in made],
    }  # fmt: skip
    write_values(values, out)


def _find(data: Path | None, names: Sequence[str], most: int | None) -> OrdinalSets:
    if data is None:
        raise ConfigurationError(
            f"--data is missing: the sets are not part of this project; name a folder of {FORM}"
        )
    sets = find_sets(data, names, most)
    for name, file in sets.missing.items():
        complain(f"{name} is left out: {file} is not in {data}")
    if not sets.holdouts:
        raise ConfigurationError(
            f"--data is {str(data)!r}, which has none of {', '.join(names)}; allowed: {FORM}"
        )
    return sets
