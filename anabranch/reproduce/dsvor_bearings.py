"""The bearings in the report on the dSVOR paper: pieces that can be kept, and their tables."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from anabranch.reproduce.bearings import GAP, KINDS, BearingRow, bearings
from anabranch.reproduce.bearings_data import LEAKS, SPLITS, Segments, Split, split_case
from anabranch.reproduce.doml_table import Row, Table
from anabranch.reproduce.dsvor_experiments import BEARING_SPARSITY, perform
from anabranch.reproduce.dsvor_tables import sparsity_table, told

__all__ = ["SPARSE", "compare", "sparsity", "tables"]

SPARSE = "IR 0"
"""The case whose share of zeros is looked at."""
_TITLES: Mapping[Split, str] = {
    "random": "Bearings, the paper's random split, which leaks: accuracy over 20 nodes",
    "time": "Bearings, split in time, without a leak: accuracy over 20 nodes",
}


def compare(files: Mapping[str, Segments], case: str, split: Split, seeds: int) -> dict[str, Any]:
    """Give one case under one split, as JSON values."""
    (row,) = bearings(files, [case], split, seeds)
    scores = {"accuracy": row.accuracy, "error": row.error}
    lists = {key: {kind: of[kind].tolist() for kind in KINDS} for key, of in scores.items()}
    return {"case": case, "split": split, **lists}


def sparsity(files: Mapping[str, Segments], seeds: int, rounds: int) -> dict[str, Any]:
    """Give runs and optima of `SPARSE`, split in time, by alpha."""
    split = partial(split_case, SPARSE, files, "time")
    return perform(BEARING_SPARSITY, seeds, rounds, split)


def tables(found: Mapping[str, Mapping[str, Any]]) -> Iterator[Table]:
    """Put pieces into tables, one a split, and that of the zeros."""
    rows = [_row(values) for values in found.values() if "case" in values]
    for split in reversed(SPLITS):
        ours = [row for row in rows if row.split == split]
        if ours:
            yield _table(split, ours)
    if "bearing sparsity" in found:
        caption = f"Sparsity on bearings {SPARSE}, split in time, D = 200: share of zero weights"
        yield sparsity_table(found["bearing sparsity"], "bearing sparsity", caption)


def _row(values: Mapping[str, Any]) -> BearingRow:
    accuracy, error = (
        {kind: np.array(values[key][kind]) for kind in KINDS} for key in ("accuracy", "error")
    )
    return BearingRow(values["case"], values["split"], accuracy, error)


def _table(split: Split, found: list[BearingRow]) -> Table:
    rows: list[Row] = []
    for one in found:
        # The paper's split is the random one.
        paper = (one.paper if split == "random" else None) or (None, None, None)
        ours = [told(one.accuracy[kind].tolist()) for kind in KINDS]
        c, nc, d = (one.mean(kind) for kind in KINDS)
        errors = told(one.error["dsvor"].tolist())
        rows.append([one.case, *paper, *ours, c - d, d - nc, "yes" if one.holds else "no", errors])
    names = ("centralised", "local-only", "dSVOR")
    head = ["case", *(f"paper: {name}" for name in names), *names]
    head += ["c - d", "d - local", "gate", "MAE of dSVOR"]
    least = f"at least {GAP}" if LEAKS[split] else "at least 0"
    notes = [f"The gate: centralised - dSVOR at most {GAP}, dSVOR - local-only {least}."]
    if LEAKS[split]:
        notes.append(f"This split {LEAKS[split]}.")
        notes.append("Nodes have uneven shares here, as in the values known for nodes alone.")
        notes.append(
            "The order centralised >= dSVOR > local-only is the paper's; its values are not "
            "reached by any one gamma, so that its features must have been others."
        )
    return Table(f"bearings {split}", _TITLES[split], head, rows, notes)
