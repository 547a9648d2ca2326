"""DOML with many labels and many fields: a step's time and a node's memory."""

from collections.abc import Iterator
from itertools import product

from benchmarks.doml_step import Shape, Stream, ours_of
from benchmarks.table import Row

__all__ = ["scaling_rows"]

LABELS = (10, 100, 1000)
FIELDS = (100, 1000, 10_000)
VALUES, CARDINALITY = 14.0, 3.0
"""Values that are not zero in a row, as in medical; labels of a sample, as in Corel5k."""


def scaling_rows(quick: bool) -> Iterator[Row]:
    """Give the figures over labels at 1,000 fields, then over fields at 50 labels."""
    for window in (50, 500):
        base: float | None = None
        for q in LABELS[:2] if quick else LABELS:
            row = _row(f"scaling: 1,000 fields, s = {window}", f"{q:,} labels", 1000, q, window)
            base = row.value if base is None else base
            yield _beside(row, base, f"{LABELS[0]} labels")
    for window in (50, 500):
        base = None
        for d in FIELDS[:2] if quick else FIELDS:
            row = _row(f"scaling: 50 labels, s = {window}", f"{d:,} fields", d, 50, window)
            base = row.value if base is None else base
            yield _beside(row, base, f"{FIELDS[0]} fields")
    if not quick:
        section = "scaling: the largest"
        for window, dtype in product((50, 500), ("float64", "float32")):
            figure = f"10,000 fields, 1,000 labels, s = {window}, {dtype}"
            yield _row(section, figure, 10_000, 1000, window, dtype)


def _row(section: str, figure: str, d: int, q: int, window: int, dtype: str = "float64") -> Row:
    steps = 20 if d * q > 1_000_000 else 60
    stream = Stream(Shape(figure, d, q, VALUES / d, CARDINALITY), window, dtype, steps)
    value, ours = ours_of(stream, steps)
    return Row(section, f"{figure}: {ours.window.using}", value, "us")


def _beside(row: Row, base: float, name: str) -> Row:
    return Row(row.section, row.figure, row.value, row.unit, name, base)
