"""Features of bearings, read from CSV files."""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from anabranch.errors import ConfigurationError
from anabranch.reproduce.bearings_data import Segments

__all__ = ["FEATURES", "FORM", "read_bearings"]

FEATURES = tuple(f"pe_imf{i}" for i in range(1, 6))
"""Columns of the permutation entropies."""
FORM = f"feat_KIND_LOAD.csv with the columns level, start, {', '.join(FEATURES)}"
"""What a folder of bearings holds."""


def read_bearings(folder: Path, names: Iterable[str]) -> Mapping[str, Segments]:
    """Read files by name; those that are not there are left out.

    Raises
    ------
    ConfigurationError
        The folder is none, or a file holds something else.
    """
    if not folder.is_dir():
        raise ConfigurationError(f"--data is {str(folder)!r}, which is no folder; allowed: {FORM}")
    return {name: _read(folder / name) for name in names if (folder / name).is_file()}


def _read(file: Path) -> Segments:
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        level, start = (np.array([int(row[key]) for row in rows]) for key in ("level", "start"))
        X = np.array([[float(row[key]) for key in FEATURES] for row in rows])
        return Segments(level, start, X.reshape(len(rows), len(FEATURES)))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(f"{file} cannot be read: {error!r}; allowed: {FORM}") from None
