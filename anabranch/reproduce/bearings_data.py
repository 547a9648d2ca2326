"""The bearings of the dSVOR paper: features of vibration segments, and how they are split."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from anabranch.errors import ConfigurationError, SampleError, nearest
from anabranch.protocol import Array
from anabranch.reproduce.ordinal_data import OrdinalSplit

__all__ = ["CASES", "LEAKS", "SEGMENT", "SPLITS", "Segments", "Split", "files_of", "split_case"]

Split = Literal["time", "random"]
SPLITS: tuple[Split, ...] = ("time", "random")
SEGMENT = 2400
"""Samples in a segment."""
LEAKS: Mapping[Split, str] = {
    "time": "",
    "random": "leaks: neighbouring segments share about 90 % of their samples, so that nearly "
    "every test row has a twin among the rows to learn",
}
"""What is wrong with a split; "" where nothing is."""
CASES: Mapping[str, tuple[str, ...]] = {
    **{f"IR {load}": (f"IR_{load}",) for load in range(4)},
    "OR 0": ("N_0", "OR6_0"),
    **{f"OR {load}": (f"OR6_{load}",) for load in range(1, 4)},
    **{f"B {load}": (f"B_{load}",) for load in range(3)},
}
"""Recordings of a case by its name: inner race, outer race, ball, and the load in hp. The outer
race has four levels only together with the healthy state, which is recorded for load 0 alone."""
_LEARNED = 300
"""Segments of a level that are learned."""


@dataclass(frozen=True, slots=True)
class Segments:
    """One file of features.

    Attributes
    ----------
    level : (n,) severity, 0 for the healthy state
    start : (n,) first sample of each segment, in its recording
    X : (n, 5) permutation entropies of the first five modes
    """

    level: Array
    start: Array
    X: Array

    def __post_init__(self) -> None:
        """Refuse shapes that do not fit.

        Raises
        ------
        SampleError
            Numbers of rows differ.
        """
        if not self.level.shape == self.start.shape == self.X.shape[:1]:
            shapes = [part.shape for part in (self.level, self.start, self.X)]
            raise SampleError(f"shapes {shapes} do not fit; allowed: (n,), (n,) and (n, K)")


def files_of(case: str) -> tuple[str, ...]:
    """Give the names of the files that hold a case's features.

    Raises
    ------
    ConfigurationError
        There is no such case.

    >>> files_of("OR 0")
    ('feat_N_0.csv', 'feat_OR6_0.csv')
    """
    if case not in CASES:
        raise ConfigurationError(f"unknown bearing case {case!r}{nearest(case, list(CASES))}")
    return tuple(f"feat_{recording}.csv" for recording in CASES[case])


def split_case(
    case: str, files: Mapping[str, Segments], split: Split = "time", seed: int = 0
) -> OrdinalSplit:
    """Split a case: of each level 300 segments to learn, others to test.

    Parameters
    ----------
    files : by the names that `files_of` gives; others may be there
    split : "time" learns the first 300 segments of a level and tests those that begin after the
        last of these has ended; "random" draws the 300 and tests all others, see `LEAKS`
    seed : of "random"

    Raises
    ------
    ConfigurationError
        There is no such case or split.
    SampleError
        A file is missing.
    """
    if split not in SPLITS:
        raise ConfigurationError(f"unknown split {split!r}{nearest(split, list(SPLITS))}")
    missing = next((name for name in files_of(case) if name not in files), None)
    if missing is not None:
        raise SampleError(f"bearing case {case!r} needs {missing}, which is not there")
    parts = [files[name] for name in files_of(case)]
    level = np.concatenate([part.level for part in parts])
    start = np.concatenate([part.start for part in parts])
    X = np.concatenate([part.X for part in parts])
    levels, y = np.unique(level, return_inverse=True)
    rng = np.random.default_rng(seed)
    chosen = [_chosen(np.flatnonzero(level == one), start, split, rng) for one in levels]
    learned, tested = (np.concatenate(rows) for rows in zip(*chosen, strict=True))
    order, first = np.concatenate([learned, tested]), len(learned)
    return OrdinalSplit.of(
        f"{case}, {split}", X[order], y[order] + 1, np.arange(first, len(order)), len(levels)
    )


def _chosen(
    rows: Array, start: Array, split: Split, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Give the rows of one level to learn, and those to test."""
    if split == "random":
        rows = rng.permutation(rows)
        return rows[:_LEARNED], rows[_LEARNED:]
    rows = rows[np.argsort(start[rows], kind="stable")]
    learned, later = rows[:_LEARNED], rows[_LEARNED:]
    return learned, later[start[later] >= start[learned[-1]] + SEGMENT]
