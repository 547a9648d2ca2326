"""What learners tell of themselves, round by round: residuals, objective, gap, damping."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anabranch.protocol import Array
from pipelines.config.measures import MEANINGS
from pipelines.report.bokeh_parts import Chart, empty_figure
from pipelines.report.charts import DASHES, log_ticks
from pipelines.report.choose import thin
from pipelines.report.markup import chart_place, legend, number, table, text
from pipelines.report.rows import LEARNERS, Row
from pipelines.report.runs import Run
from pipelines.report.series import column

__all__ = ["measures_part"]

_FIRST = ("objective", "gap", "primal", "dual")
"""Are drawn before others."""

_NAMES = {
    "objective": "Objective",
    "gap": "Duality gap",
    "primal": "Primal residual",
    "dual": "Dual residual",
}
_WIDE = 20.0
"""Ratio of the largest to the smallest value from which an axis is logarithmic."""


def _told(row: Row | None, name: str, kind: str = "max") -> float | None:
    """Give the largest value of a measure over the nodes, or their "mean"; None without one."""
    found = (row.measures or {}).get(name) if row else None
    return found.get(kind) if isinstance(found, Mapping) else found


def measures_part(run: Run) -> tuple[str, list[Chart]]:
    """Give the charts of all measures and a table of their last values; "" without any."""
    names = _names(run)
    if not names:
        return "", []
    charts: list[Chart] = []
    html = notes = ""
    for name in names:
        chart = _chart(run, name, f"chart-measure-{len(charts)}")
        if chart is not None:
            charts.append(chart)
            html += _place(run, name, chart)
        elif name in MEANINGS:
            notes += f'<p class="note">{text(f"{_label(name)}: {MEANINGS[name]}")}</p>'
    return f'<div class="pair">{html}</div>{_table(run, names)}{notes}', charts


def _names(run: Run) -> list[str]:
    found = {name for rows in run.network.values() for row in rows for name in row.measures or {}}
    return sorted(found, key=lambda name: (name not in _FIRST, _at(name), name))


def _at(name: str) -> int:
    return _FIRST.index(name) if name in _FIRST else 0


def _label(name: str) -> str:
    return _NAMES.get(name, name.replace("_", " ").capitalize())


def _tellers(run: Run, name: str) -> list[str]:
    return [
        who for who, rows in run.network.items() if any(_told(r, name) is not None for r in rows)
    ]


def _chart(run: Run, name: str, target: str) -> Chart | None:
    lines = {}
    for who in _tellers(run, name):
        rows = thin([row for row in run.network[who] if _told(row, name) is not None])
        columns = {"round": column(rows, lambda row: float(row.round))}
        lines[who] = columns | {name: column(rows, lambda row: _told(row, name))}
    values = np.concatenate([columns[name] for columns in lines.values()])
    if not values.any():
        return None
    shown = values[values > 0.0]
    low, high = (float(shown.min()), float(shown.max())) if len(shown) else (1.0, 1.0)
    wide = bool((values >= 0.0).all()) and high > _WIDE * low
    chart = Chart(target, empty_figure(_label(name), _label(name), "log" if wide else "linear"))
    chart.figure.xaxis.axis_label = "round"
    if wide:
        chart.figure.yaxis.ticker = log_ticks(low, high)
    for who, columns in lines.items():
        _line(chart, columns, name, who, wide)
    return chart


def _line(chart: Chart, columns: dict[str, Array], name: str, who: str, wide: bool) -> None:
    from bokeh.models import ColumnDataSource, HoverTool

    if wide:  # nothing is drawn at 0 on a logarithmic axis
        columns = columns | {name: np.where(columns[name] > 0.0, columns[name], np.nan)}
    source = ColumnDataSource({**columns, "name": [LEARNERS.get(who, who)] * len(columns["round"])})
    drawn = chart.figure.line(
        "round", name, source=source, line_width=2.5, line_dash=DASHES.get(who, "dotted")
    )
    chart.inks[drawn.glyph.id] = _ink(who)
    tips = [("", "@name"), ("round", "$data_x{0,0}"), ("value", "$data_y{0.[000000]}")]
    chart.figure.add_tools(HoverTool(renderers=[drawn], tooltips=tips, line_policy="nearest"))


def _place(run: Run, name: str, chart: Chart) -> str:
    tellers = _tellers(run, name)
    entries = [(LEARNERS.get(who, who), _ink(who), DASHES.get(who, "dotted")) for who in tellers]
    axis = ", logarithmic" if type(chart.figure.y_scale).__name__ == "LogScale" else ""
    caption = f"{_label(name)}, the largest of the nodes{axis}. {MEANINGS.get(name, '')}"
    return chart_place(chart.target, legend(entries), text(caption.strip()))


def _ink(who: str) -> str:
    return f"--{who}" if who in LEARNERS else "--node"


def _table(run: Run, names: Sequence[str]) -> str:
    rows: list[list[Any]] = []
    for who in run.network:
        last = run.last(who)
        for name in names:
            if _told(last, name) is not None:
                values = [number(_told(last, name, kind), 6) for kind in ("max", "mean")]
                rows.append([text(_label(name)), text(LEARNERS.get(who, who)), *values])
    head = ["Measure", "Learner", "Largest", "Mean over nodes"]
    return table("What learners told of themselves last", head, rows, "measures")
