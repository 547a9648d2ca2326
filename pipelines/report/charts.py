"""The charts of one run, and the overlay of several."""

from collections.abc import Callable, Sequence
from math import floor, log10
from typing import Any, Literal

import numpy as np

from pipelines.report.bokeh_parts import Chart, empty_figure
from pipelines.report.choose import thin
from pipelines.report.drift import mark_drift
from pipelines.report.markup import byte_unit
from pipelines.report.rows import SCOPES, Row
from pipelines.report.runs import Run
from pipelines.report.series import Clock, column, fed, metric_columns, offered, value_ranges
from pipelines.report.styles import DASHES, styles

__all__ = [
    "DASHES",
    "QUANTITIES",
    "RUN_COLOURS",
    "RUN_DASHES",
    "Lines",
    "Pairs",
    "overlay_chart",
    "quantity_chart",
    "run_chart",
]

Pairs = Sequence[tuple[str, str]]
"""(scope, metric) each."""
Lines = Sequence[tuple[str, Sequence[Row], str, str]]
"""(label, rows, CSS variable of the colour, dash) each."""

RUN_DASHES = ("solid", "dashed", "dotted")
RUN_COLOURS = 8

QUANTITIES: dict[str, tuple[str, Literal["linear", "log"], Callable[[Row], float | None]]] = {
    "disagreement": (
        "Disagreement (mean distance)",
        "log",
        lambda row: (row.disagreement or {}).get("mean") or None,
    ),
    "bytes": ("Bytes sent", "linear", lambda row: float(row.bytes)),
    "messages": ("Messages sent", "linear", lambda row: float(row.messages)),
}
"""Curves besides the metrics: axis label, kind of axis, how a row is read."""


def run_chart(run: Run, target: str) -> Chart | None:
    """Draw a metric of the network (thick), its companions and the nodes (thin, muted)."""
    pairs = offered(run)
    if not pairs:
        return None
    chart = _metric_chart(target, pairs)
    drawn = _draw_nodes(chart, run, pairs)
    for learner, style in reversed(styles(run).items()):
        rows = run.network[learner]
        drawn.append(_draw_line(chart, rows, style.name, style.ink, style.dash, pairs))
    _fit(chart, drawn)
    _hover(chart)
    if run.drifts:
        mark_drift(chart, run.drifts, Clock(run.network.get(run.main, [])).at)
    return chart


def overlay_chart(runs: Sequence[tuple[str, Run]], target: str) -> tuple[Chart | None, Pairs]:
    """Draw the network's curve of every run, labelled as given; also what can be chosen."""
    found = list(dict.fromkeys(pair for _, run in runs for pair in offered(run)))
    pairs = sorted(found, key=lambda pair: list(SCOPES).index(pair[0]))
    if not pairs:
        return None, []
    chart, drawn = _metric_chart(target, pairs), []
    for i, (label, run) in enumerate(runs):
        dash = RUN_DASHES[i // RUN_COLOURS % len(RUN_DASHES)]
        rows = run.network.get(run.main, [])
        ink = f"--run-{i % RUN_COLOURS}"
        drawn.append(_draw_line(chart, rows, label, ink, dash, pairs))
    _fit(chart, drawn)
    _hover(chart)
    return chart, pairs


def quantity_chart(quantity: str, lines: Lines, target: str) -> Chart | None:
    """Draw disagreement, bytes or messages; None where there is nothing above zero.

    Parameters
    ----------
    quantity : a key of `QUANTITIES`
    lines : what to draw
    target : id of the place in the page
    """
    label, kind, read = QUANTITIES[quantity]
    kept = [thin(fed(rows)) for _, rows, _, _ in lines]
    values = [column(rows, read) for rows in kept]
    most = max((float(np.nanmax(v)) for v in values if np.isfinite(v).any()), default=0.0)
    if most <= 0:
        return None
    low = min(float(v[v > 0].min()) for v in values if (v > 0).any())
    scale, unit = byte_unit(most) if quantity == "bytes" else (1.0, "")
    chart = Chart(target, empty_figure(f"{unit} sent" if unit else label, label, kind))
    for (name, rows, ink, dash), found, shown in zip(lines, kept, values, strict=True):
        columns = {"samples": column(found, Clock(rows).samples), quantity: shown / scale}
        _line(chart, columns, quantity, name, ink, dash)
    if kind == "log":
        chart.figure.yaxis.ticker = log_ticks(low, most)
    _hover(chart)
    return chart


def log_ticks(low: float, high: float) -> list[float]:
    """Give round values on a logarithmic axis, also where it covers less than a decade.

    >>> log_ticks(0.03, 1.5)
    [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0]
    """
    first, last = floor(log10(low)), floor(log10(high))
    few = last - first <= 2
    steps = (1, 2, 5) if few else (1,)
    ticks = [float(f"{m}e{e}") for e in range(first, last + 2) for m in steps]
    return [t for t in ticks if low / 2 <= t <= high * 2] if few else ticks


def _metric_chart(target: str, pairs: Pairs) -> Chart:
    metric = pairs[0][1]
    chart = Chart(target, empty_figure(metric, "Metric against samples"))
    chart.axis = chart.figure.yaxis[0].id
    return chart


def _draw_line(
    chart: Chart, rows: Sequence[Row], name: str, ink: str, dash: str, pairs: Pairs
) -> dict[str, Any]:
    columns = metric_columns(rows, Clock(rows), pairs)
    glyph = _line(chart, columns, ".".join(pairs[0]), name, ink, dash)
    chart.switched.append(glyph.id)
    return columns


def _fit(chart: Chart, drawn: Sequence[dict[str, Any]]) -> None:
    """Set the y axis to the values after the beginning, whose heights would flatten the rest."""
    from bokeh.models import Range1d

    chart.ranges = value_ranges(drawn)
    low, high = next(iter(chart.ranges.values()), (0.0, 1.0))
    chart.figure.y_range = Range1d(start=low, end=high)


def _line(chart: Chart, columns: dict[str, Any], shown: str, name: str, ink: str, dash: str) -> Any:
    from bokeh.models import ColumnDataSource

    source = ColumnDataSource({**columns, "name": [name] * len(columns["samples"])})
    drawn = chart.figure.line(
        "samples", shown, source=source, line_width=2.5, line_dash=dash, line_join="round"
    )
    chart.inks[drawn.glyph.id] = ink
    return drawn.glyph


def _draw_nodes(chart: Chart, run: Run, pairs: Pairs) -> list[dict[str, Any]]:
    """Draw all nodes as one glyph: thin and muted, behind the network."""
    from bokeh.models import ColumnDataSource

    clock = Clock(run.network.get(run.main, []))
    names = [name for name, rows in run.curves.items() if rows]
    columns = [metric_columns(run.curves[name], clock, pairs) for name in names]
    if not names:
        return []
    data: dict[str, Any] = {key: [c[key] for c in columns] for key in columns[0]}
    source = ColumnDataSource({**data, "name": names})
    shown = ".".join(pairs[0])
    drawn = chart.figure.multi_line("samples", shown, source=source, line_width=1, line_alpha=0.6)
    chart.inks[drawn.glyph.id] = "--node"
    chart.switched.append(drawn.glyph.id)
    return columns


def _hover(chart: Chart) -> None:
    from bokeh.models import HoverTool

    chart.figure.add_tools(
        HoverTool(
            tooltips=[("", "@name"), ("samples", "$data_x{0,0}"), ("value", "$data_y{0.[0000]}")],
            line_policy="nearest",
        )
    )
