"""The dSVOR paper's experiments: synthetic sets and bearings, beside what is known of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from anabranch.reproduce import dsvor_bearings as bearings
from anabranch.reproduce.bearings_data import CASES, SPLITS, Segments, files_of
from anabranch.reproduce.doml_table import Table
from anabranch.reproduce.dsvor_experiments import EXPERIMENTS, perform
from anabranch.reproduce.dsvor_findings import findings
from anabranch.reproduce.dsvor_parts import Memory, Parts, part
from anabranch.reproduce.dsvor_tables import TABLES

__all__ = ["PARTS", "Extent", "Reproduction", "reproduce"]

PARTS = (*EXPERIMENTS, "bearings", "bearing sparsity")
"""What may be run by itself."""
_VERSION = 2
"""Raised when what a piece holds, or how it is made, changes."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is run: which parts, seeds of each, rounds at most, and cases of bearings."""

    parts: Sequence[str] = PARTS
    seeds: int = 10
    rounds: int = 2000
    cases: Sequence[str] = tuple(CASES)

    @classmethod
    def quick(cls, parts: Sequence[str] = PARTS, seeds: int | None = None) -> "Extent":
        """Give an extent of about a minute."""
        return cls(parts, seeds or 2, 500, ("IR 0", "B 0"))


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What came out.

    Attributes
    ----------
    synthetic : name of the experiment -> what `perform` gives
    tables : of all parts, in order
    missing : files of bearings that were not there
    """

    synthetic: Mapping[str, Mapping[str, Any]]
    tables: Sequence[Table]
    missing: Sequence[str] = field(default_factory=tuple)


def reproduce(
    files: Mapping[str, Segments],
    extent: Extent | None = None,
    parts: Parts | None = None,
    tell: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> Reproduction:
    """Run everything; without their files the bearings are left out.

    Parameters
    ----------
    files : the bearings' features by file name
    parts : where finished pieces are kept
    tell : called before each piece with what it is, its number from 0, and of how many
    """
    extent, kept = extent or Extent(), parts or Memory()
    work = _work(files, extent)
    found: dict[str, dict[str, Any]] = {}
    settings = {"version": _VERSION, "seeds": extent.seeds, "rounds": extent.rounds}
    for done, (name, make) in enumerate(work.items()):
        tell(name, done, len(work))
        found[name] = part(kept, name.replace(" ", "-"), settings, make)
    synthetic = {name: found[name] for name in EXPERIMENTS if name in found}
    tables = [TABLES[name](values) for name, values in synthetic.items()]
    tables += bearings.tables({name: found[name] for name in found if name not in synthetic})
    known = findings(found)
    wanted = {name for case in extent.cases for name in files_of(case)}
    missing = sorted(wanted - set(files)) if "bearings" in extent.parts else ()
    return Reproduction(synthetic, [known, *tables] if known.rows else tables, missing)


def _work(files: Mapping[str, Segments], extent: Extent) -> dict[str, Callable[[], dict[str, Any]]]:
    """Give the pieces by name."""
    work: dict[str, Callable[[], dict[str, Any]]] = {
        name: partial(perform, experiment, extent.seeds, extent.rounds)
        for name, experiment in EXPERIMENTS.items()
        if name in extent.parts
    }
    cases = [case for case in extent.cases if set(files_of(case)) <= set(files)]
    if "bearings" in extent.parts:
        for split in reversed(SPLITS):
            for case in cases:
                make = partial(bearings.compare, files, case, split, extent.seeds)
                work[f"bearings {split} {case}"] = make
    if "bearing sparsity" in extent.parts and bearings.SPARSE in cases:
        work["bearing sparsity"] = partial(bearings.sparsity, files, extent.seeds, extent.rounds)
    return work
