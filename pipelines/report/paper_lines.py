"""A reproduction's curves."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from anabranch.protocol import Array
from pipelines.report.bokeh_parts import Chart, empty_figure

__all__ = ["Line", "line_chart"]

Line = tuple[str, Array, Array, str, str]
"""(label, x, y, CSS variable of the colour, dash or "thin")."""


def line_chart(
    target: str, label: str, kind: Literal["linear", "log"], against: str, lines: Sequence[Line],
    *, log: bool = False,
) -> Chart:  # fmt: skip
    """Draw lines against rounds or nodes; what is not above 0 has no place on a log axis.

    `log` is for x; a "thin" line is the edge of a band.
    """
    from bokeh.models import BasicTickFormatter, ColumnDataSource, FixedTicker

    figure: Any = empty_figure(label, label, kind, "log" if log else "linear")
    chart = Chart(target, figure)
    figure.xaxis.axis_label = f"{against}s" if against == "round" else against
    figure.xaxis.formatter = BasicTickFormatter()
    if log:
        figure.xaxis.ticker = FixedTicker(ticks=sorted({x for line in lines for x in line[1]}))
    for name, x, y, ink, dash in lines:
        shown = np.where(y > 1e-15, y, np.nan) if kind == "log" else y
        source = ColumnDataSource({"x": x, "y": shown, "name": [name] * len(x)})
        width, dashes = (0.8, "solid") if dash == "thin" else (2.5, dash)
        drawn = figure.line("x", "y", source=source, line_width=width, line_dash=dashes)
        chart.inks[drawn.glyph.id] = ink
    _hover(figure, against)
    return chart


def _hover(figure: Any, against: str) -> None:
    from bokeh.models import HoverTool

    tips = [("", "@name"), (against, "@x{0.[000]}"), ("value", "$data_y{0.[00000]}")]
    figure.add_tools(HoverTool(tooltips=tips, line_policy="nearest"))
