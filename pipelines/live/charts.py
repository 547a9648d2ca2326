"""The empty charts of the live pages, which their scripts fill."""

from collections.abc import Mapping
from typing import Any

from pipelines.report.bokeh_parts import Chart, empty_figure
from pipelines.report.drift import mark_drift
from pipelines.report.styles import Style

__all__ = ["flow_chart", "lines_chart"]

_WIDTH = 2.5


def lines_chart(
    target: str,
    label: str,
    lines: Mapping[str, Style],
    *,
    by_rounds: bool,
    log: bool = False,
    others: str = "",
    marked: bool = True,
) -> Chart:
    """Make a chart of one line a learner, against samples or rounds.

    Parameters
    ----------
    lines : key of a line's source -> how it is drawn
    others : key of a source of many thin lines, if there is one
    marked : whether drifts are marked
    """
    chart = Chart(target, empty_figure(label, label, "log" if log else "linear"))
    chart.axis = chart.figure.yaxis[0].id
    if not log:
        from bokeh.models import NumeralTickFormatter, Range1d

        chart.figure.yaxis.formatter = NumeralTickFormatter(format="0.[00000]a")
        chart.figure.y_range = Range1d(start=0.0, end=1.0)  # the page's script fits it
    if by_rounds:
        chart.figure.xaxis.axis_label = "round"
    if others:
        _add(chart, others, "multi_line", "--node", width=1.2, alpha=0.85)
    for key, style in reversed(list(lines.items())):
        _add(chart, key, "line", style.ink, dash=style.dash)
    if marked:
        mark_drift(chart, [], float)
    return chart


def flow_chart(target: str, label: str, key: str, ink: str) -> Chart:
    """Make a chart of one quantity against the time of day."""
    chart = Chart(target, empty_figure(label, label, across="datetime"))
    chart.figure.height = 220
    _add(chart, key, "line", ink)
    return chart


def _add(
    chart: Chart,
    key: str,
    kind: str,
    ink: str,
    *,
    dash: str = "solid",
    width: float = _WIDTH,
    alpha: float = 1.0,
) -> None:
    from bokeh.models import ColumnDataSource, HoverTool

    columns: dict[str, Any] = {"x": [], "y": [], "name": []}
    source = ColumnDataSource(columns)
    names = {"xs": "x", "ys": "y"} if kind == "multi_line" else {"x": "x", "y": "y"}
    style = {"line_width": width, "line_dash": dash, "line_alpha": alpha, "line_join": "round"}
    drawn = getattr(chart.figure, kind)(**names, source=source, **style)
    chart.inks[drawn.glyph.id] = ink
    chart.sources[key] = source.id
    tips = [("", "@name"), ("value", "$data_y{0,0.[0000]}")]
    chart.figure.add_tools(HoverTool(renderers=[drawn], tooltips=tips, line_policy="nearest"))
