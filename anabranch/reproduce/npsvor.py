"""The L2-NPSVOR paper's experiments on public text: errors, times, objectives, choice of C."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any, Self

import numpy as np

from anabranch.protocol import Array
from anabranch.reproduce.dsvor_parts import Memory, Parts, part
from anabranch.reproduce.npsvor_data import RankSplit, TextSet
from anabranch.reproduce.npsvor_methods import COMPARED, LIBLINEAR, METHODS
from anabranch.reproduce.npsvor_search import best, fitted, scored, searched
from anabranch.reproduce.npsvor_traces import traced

__all__ = ["Extent", "Reproduction", "SetFacts", "reproduce"]

_VERSION = 2
"""Raised when what a piece holds, or how it is made, changes."""

_LARGE = 20_000
"""Rows to learn from which a set has one split, and few C."""

_TRACED = 1.0
"""C for the objective against time."""

Sets = Mapping[str, Callable[[], TextSet]]
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is run.

    Attributes
    ----------
    seeds : random splits of a set whose split is not given
    grid : values of C
    folds : for the choice of C
    threads : in which folds run, but for LIBLINEAR
    """

    seeds: int = 3
    grid: Sequence[float] = tuple(2.0**power for power in range(-6, 5))
    folds: int = 5
    threads: int = 1

    def quick(self) -> Self:
        """Give an extent of less than a minute on the quick sets."""
        return replace(self, seeds=min(self.seeds, 2), grid=self.grid[2:-2:2])

    def of(self, given: TextSet) -> Self:
        """Give what is run of a set: a given split only once, and less of a large one."""
        if given.share is None:
            return replace(self, seeds=1)
        large = len(given.y) * given.share > _LARGE
        return replace(self, seeds=1, grid=self.grid[2:-2:2]) if large else self


@dataclass(frozen=True, slots=True)
class SetFacts:
    """Size of a set: rows, features, nonzeros and ranks; its share to learn, splits, and C tried.

    `share` is None where the split is given.
    """

    rows: int
    features: int
    nonzeros: int
    ranks: int
    share: float | None
    splits: int
    grid: Sequence[float]


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What came out.

    Attributes
    ----------
    sets : name -> size
    runs : (set, method) -> one a split: "C", "folds" (errors by C in cross-validation), "held"
        (errors by C over the rows to test, of some methods), "absolute", "squared", "seconds"
    traces : set -> as `npsvor_traces.traced` gives them
    """

    sets: Mapping[str, SetFacts]
    runs: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]
    traces: Mapping[str, Mapping[str, Any]]

    def values(self, key: str) -> Array:
        """Give the means over splits (sets, methods) of "absolute", "squared", "seconds", "C"."""
        return np.array(
            [[np.mean([run[key] for run in self.runs[s, m]]) for m in METHODS] for s in self.sets]
        ).reshape(len(self.sets), len(METHODS))


def reproduce(
    sets: Sets,
    extent: Extent | None = None,
    *,
    parts: Parts | None = None,
    tell: Tell = lambda what, done, total: None,
) -> Reproduction:
    """Run every method on every set.

    Parameters
    ----------
    sets : name -> what gives the set, called when it is needed
    extent : how much; everything unless given
    parts : where finished pieces are kept, one a method and split
    tell : called before each piece with what it is, its number from 0, and of how many
    """
    extent, kept = extent or Extent(), parts or Memory()
    facts, runs, traces = dict[str, SetFacts](), {}, {}
    number, total = count(), len(sets) * (len(METHODS) + 2)
    for name, read in sets.items():
        tell(f"{name}, preparation", next(number), total)
        given = read()
        much = extent.of(given)
        facts[name] = _facts(given, much)
        for method in METHODS:
            tell(f"{name}, {method}", next(number), total)
            runs[name, method] = [
                _piece(kept, f"{name}.{method}.{seed}", given, much, partial(_run, method, seed))
                for seed in range(much.seeds)
            ]
        tell(f"{name}, objective against time", next(number), total)
        traces[name] = _piece(kept, f"{name}.traces", given, much, _traces)
    return Reproduction(facts, runs, traces)


def _facts(given: TextSet, much: Extent) -> SetFacts:
    rows, features = given.X.shape
    ranks = int(given.y.max())
    return SetFacts(rows, features, given.X.nnz, ranks, given.share, much.seeds, much.grid)


def _piece(
    kept: Parts, name: str, given: TextSet, much: Extent,
    make: Callable[[TextSet, Extent], dict[str, Any]],
) -> dict[str, Any]:  # fmt: skip
    settings = {
        "version": _VERSION, "shape": [*map(int, given.X.shape), int(given.X.nnz)],
        "share": given.share, "grid": list(much.grid), "folds": much.folds,
    }  # fmt: skip
    return part(kept, name.lower().replace(" ", "-"), settings, partial(make, given, much))


def _run(method: str, seed: int, given: TextSet, much: Extent) -> dict[str, Any]:
    """Choose C, fit to all rows to learn, and test."""
    split, make = given.split(seed), METHODS[method]
    threads = 1 if method in LIBLINEAR else much.threads
    errors = searched(make, split, much.grid, folds=much.folds, threads=threads)
    C = best(much.grid, errors)
    model, seconds = fitted(make, split, C)
    found = scored(model, split)
    held = [_error(method, split, C) for C in much.grid] if method in COMPARED else None
    return {"C": C, "folds": errors, "held": held, **found._asdict(), "seconds": seconds}


def _error(method: str, split: RankSplit, C: float) -> float:
    model, _ = fitted(METHODS[method], split, C)
    return scored(model, split).absolute


def _traces(given: TextSet, much: Extent) -> dict[str, Any]:
    return traced(given.split(0), _TRACED)
