"""Small pieces of HTML. Whatever came from data passes through `text` here."""

from collections.abc import Iterable, Sequence
from html import escape

__all__ = [
    "MISSING",
    "byte_unit",
    "bytes_of",
    "chart_place",
    "count",
    "legend",
    "number",
    "region",
    "table",
    "text",
]

MISSING = "\N{EN DASH}"


def text(value: object) -> str:
    """Escape anything for use between tags and in quoted attributes.

    >>> text('<b a="1">')
    '&lt;b a=&quot;1&quot;&gt;'
    """
    return escape(str(value), quote=True)


def number(value: float | None, digits: int = 4) -> str:
    """Format a score, or a dash where there is none."""
    if value is None or value != value:
        return MISSING
    if value != 0 and abs(value) < 10.0**-digits:
        return f"{value:.1e}"
    return f"{value:.{digits}f}" if abs(value) < 10_000 else f"{value:,.0f}"


def count(value: object) -> str:
    """Format a number of things, or a dash.

    >>> count(1234567)
    '1,234,567'
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return MISSING
    return f"{value:,.0f}"


def bytes_of(value: float | None) -> str:
    """Format a number of bytes.

    >>> bytes_of(1_250_000)
    '1.2 MB'
    """
    if value is None:
        return MISSING
    scale, unit = byte_unit(value)
    return f"{value / scale:.0f} B" if scale == 1 else f"{value / scale:.1f} {unit}"


def byte_unit(value: float) -> tuple[float, str]:
    """Give the unit in which a number of bytes is readable: (bytes, name).

    >>> byte_unit(1_250_000)
    (1000000.0, 'MB')
    """
    for power, unit in ((12, "TB"), (9, "GB"), (6, "MB"), (3, "kB")):
        if value >= 10.0**power:
            return 10.0**power, unit
    return 1.0, "bytes"


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], css: str = "") -> str:
    """Build a table from cells that are HTML already; the first cell of a row is its heading.

    A row of one cell is a heading over the rows that follow.
    """
    columns = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(_row(row, len(head)) for row in rows)
    return region(
        caption,
        f'<table class="{css}"><caption><span>{caption}</span></caption>'
        f"<thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table>",
    )


def _row(cells: Sequence[str], width: int) -> str:
    if len(cells) == 1:
        return f'<tr class="group"><th scope="rowgroup" colspan="{width}">{cells[0]}</th></tr>'
    rest = "".join(cell if cell.startswith("<td") else f"<td>{cell}</td>" for cell in cells[1:])
    return f'<tr><th scope="row">{cells[0]}</th>{rest}</tr>'


def region(label: str, content: str) -> str:
    """Wrap something wide, so that it scrolls by itself, also by keyboard."""
    return f'<div class="wide" role="region" tabindex="0" aria-label="{label}">{content}</div>'


def legend(entries: list[tuple[str, str, str]]) -> str:
    """Name the lines: (label, CSS variable, dash) each."""
    items = "".join(
        f'<li><span class="swatch {dash}" style="--ink: var({ink})"></span>{text(label)}</li>'
        for label, ink, dash in entries
    )
    return f'<ul class="legend">{items}</ul>'


def chart_place(target: str, entries: str, caption: str) -> str:
    """Give the place that the page's script fills with a chart."""
    return (
        f'<figure>{entries}<div class="chart" id="{target}">'
        "<noscript>The chart needs JavaScript; the tables hold its final values.</noscript></div>"
        f"<figcaption>{caption}</figcaption></figure>"
    )
