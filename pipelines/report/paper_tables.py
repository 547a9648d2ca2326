"""A reproduction's tables as HTML."""

from anabranch.reproduce.doml_table import Cell, Table
from pipelines.report.markup import MISSING, count, number, table, text

__all__ = ["shown"]


def shown(one: Table) -> str:
    """Give a table with its notes; a first column that repeats itself becomes headings."""
    rows, last = [], None
    for row in one.rows:
        cells = [_cell(cell) for cell in row]
        # A name that repeats is told once, by a row of its own over those of its group.
        if _grouped(one) and row[0] != last:
            rows.append([cells[0]])
            last = row[0]
        rows.append(cells[1:] if _grouped(one) else cells)
    head = [text(name) for name in (one.columns[1:] if _grouped(one) else one.columns)]
    notes = "".join(f"<p>{text(note)}</p>" for note in one.notes)
    return table(text(one.caption), head, rows) + notes


def _grouped(one: Table) -> bool:
    return len({row[0] for row in one.rows}) < len(one.rows)


def _cell(cell: Cell) -> str:
    if cell is None:
        return MISSING
    if isinstance(cell, str):
        return text(cell)
    if isinstance(cell, int):
        return count(cell)
    return number(cell) if abs(cell) < 1e6 else f"{cell:.1e}"
