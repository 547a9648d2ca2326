"""Ordinal sets with their holdouts, read from CSV files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from anabranch.errors import ConfigurationError
from anabranch.protocol import Array
from anabranch.reproduce.ordinal import Holdouts
from anabranch.reproduce.ordinal_data import OrdinalSplit

__all__ = ["FORM", "OrdinalSets", "find_sets", "read_holdouts"]

FORM = "NAME.csv (a header, fields, and last the rank) and NAME.splits.csv (a line of row numbers "
FORM += "from 0 for each holdout: its rows to test)"
"""What a folder of sets holds."""


@dataclass(frozen=True, slots=True)
class OrdinalSets:
    """What was found in a folder.

    Attributes
    ----------
    holdouts : by name, in the order asked for; a set is read when it is called
    missing : name -> file that is not there
    """

    holdouts: Mapping[str, Holdouts]
    missing: Mapping[str, str]


def find_sets(folder: Path, names: Iterable[str], most: int | None = None) -> OrdinalSets:
    """Find sets by name.

    Parameters
    ----------
    most : holdouts of a set; all unless given

    Raises
    ------
    ConfigurationError
        The folder is none.
    """
    if not folder.is_dir():
        raise ConfigurationError(f"--data is {str(folder)!r}, which is no folder; allowed: {FORM}")
    holdouts: dict[str, Holdouts] = {}
    missing: dict[str, str] = {}
    for name in names:
        files = (folder / f"{name}.csv", folder / f"{name}.splits.csv")
        absent = [file.name for file in files if not file.is_file()]
        if absent:
            missing[name] = absent[0]
        else:
            holdouts[name] = partial(read_holdouts, *files, most)
    return OrdinalSets(holdouts, missing)


def read_holdouts(rows: Path, splits: Path, most: int | None = None) -> Sequence[OrdinalSplit]:
    """Read a set and give its holdouts.

    Raises
    ------
    ConfigurationError
        A file cannot be read, or holds something else.
    """
    try:
        table = np.loadtxt(rows, delimiter=",", skiprows=1, ndmin=2)
        lines = splits.read_text(encoding="utf-8").split()[:most]
        tested: list[Array] = [np.array(line.split(","), dtype=np.int64) for line in lines]
        found = [OrdinalSplit.of(rows.stem, table[:, :-1], table[:, -1], at) for at in tested]
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{rows} or {splits.name}: {error}; allowed: {FORM}") from None
    if not found:
        raise ConfigurationError(f"{splits} is empty; allowed: {FORM}")
    return found
