"""What a reproduction gives: tables of names and numbers, ready for a page, a terminal, JSON."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Cell", "Row", "Table", "spread"]

Cell = str | float | None
Row = Sequence[Cell]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a caption; the first cell of a row names it.

    Attributes
    ----------
    key : short name, for JSON
    caption : what the rows are, in a sentence
    columns : their headings
    rows : names, numbers, and None where there is nothing to tell
    notes : sentences below it: what cannot be matched, and why
    """

    key: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Row]
    notes: Sequence[str] = ()


def spread(values: Sequence[float]) -> tuple[float, float]:
    """Give mid-range and half-range, which is what the paper writes as "a \N{PLUS-MINUS SIGN} b".

    >>> spread([1.0, 2.0, 4.0])
    (2.5, 1.5)
    """
    low, high = min(values), max(values)
    return (low + high) / 2.0, (high - low) / 2.0
