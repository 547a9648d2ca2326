"""The network as a picture: nodes coloured by score, edges by what passed over them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from anabranch.protocol import Array
from pipelines.report.bokeh_parts import Chart, empty_figure

__all__ = ["PALETTE", "network_chart", "score_range"]

_STOPS = ((42, 120, 214), (150, 186, 224), (214, 212, 203), (240, 160, 96), (214, 72, 20))
"""Blue, grey, orange: told apart by the colour-blind, seen on a light and on a dark page."""
_SHADES = 31
MANY_EDGES = 300
"""From so many on, edges are thin and pale."""
_OLD = 60.0
"""Seconds of silence at which an edge has its last colour."""


def _palette() -> list[str]:
    at = np.linspace(0, len(_STOPS) - 1, _SHADES)
    rows = [np.interp(at, range(len(_STOPS)), channel) for channel in zip(*_STOPS, strict=True)]
    return [f"#{round(r):02x}{round(g):02x}{round(b):02x}" for r, g, b in zip(*rows, strict=True)]


PALETTE = _palette()
"""From good to bad."""


def score_range(scores: Array) -> tuple[float, float]:
    """Give the scores between which colours differ: all but the most extreme fiftieth.

    >>> score_range(np.array([1.0, 2.0, np.nan]))
    (1.02, 1.98)
    """
    known = scores[np.isfinite(scores)]
    if not len(known):
        return 0.0, 1.0
    low, high = (float(np.quantile(known, share)) for share in (0.02, 0.98))
    return (round(low, 6), round(high, 6)) if high > low else (low - 0.5, high + 0.5)


def network_chart(
    target: str,
    names: Sequence[str],
    places: Array,
    edges: Sequence[tuple[int, int]],
    scores: Array,
    *,
    bigger_is_better: bool = False,
    clickable: bool = False,
) -> Chart:
    """Draw nodes and edges; a page's script may change scores, ages and widths later.

    Parameters
    ----------
    target : id of the place in the page
    places : (n, 2), as `layout` gives them
    edges : pairs of positions in `names`
    scores : (n,), NaN where there is none
    clickable : whether a node can be selected
    """
    chart = Chart(target, _bare_figure(len(names)), square=True)
    _draw_edges(chart, places, edges)
    nodes = _draw_nodes(chart, names, places, scores, bigger_is_better)
    if clickable:
        from bokeh.models import TapTool

        chart.figure.add_tools(TapTool(renderers=[nodes]))
    return chart


def _bare_figure(nodes: int) -> Any:
    from bokeh.models import DataRange1d

    made = empty_figure("", "Network")
    made.height = 420 if nodes <= 100 else 560
    made.match_aspect = True
    made.x_range, made.y_range = (DataRange1d(range_padding=0.12) for _ in "xy")
    made.axis.visible = False
    made.grid.visible = False
    return made


def _draw_edges(chart: Chart, places: Array, edges: Sequence[tuple[int, int]]) -> None:
    from bokeh.models import ColumnDataSource, LinearColorMapper

    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    (x0, y0), (x1, y1) = places[ends[:, 0]].T, places[ends[:, 1]].T
    many = len(edges) >= MANY_EDGES
    width = [0.7 if many else 1.5] * len(edges)
    columns = {"x0": x0, "y0": y0, "x1": x1, "y1": y1, "age": np.zeros(len(edges)), "width": width}
    columns["alpha"] = np.full(len(edges), 0.4 if many else 0.65)
    source = ColumnDataSource(columns)
    mapper = LinearColorMapper(palette=["#98968c", "#c98a4a", "#d6481f"], low=0.0, high=_OLD)
    chart.figure.segment(
        "x0", "y0", "x1", "y1",
        source=source,
        line_color={"field": "age", "transform": mapper},
        line_width="width",
        line_alpha="alpha",
    )  # fmt: skip
    chart.sources["edges"] = source.id


def _draw_nodes(
    chart: Chart, names: Sequence[str], places: Array, scores: Array, bigger: bool
) -> Any:
    from bokeh.models import ColumnDataSource, HoverTool, LinearColorMapper

    low, high = score_range(scores)
    source = ColumnDataSource(
        {
            "x": places[:, 0],
            "y": places[:, 1],
            "score": -scores if bigger else scores,  # what is coloured: the larger, the worse
            "shown": scores,
            "name": list(names),
        }
    )
    low, high = (-high, -low) if bigger else (low, high)
    mapper = LinearColorMapper(palette=PALETTE, low=low, high=high, nan_color="rgba(0,0,0,0)")
    drawn = chart.figure.scatter(
        "x", "y",
        source=source,
        size=float(np.clip(420 / np.sqrt(max(1, len(names))) / 4, 7, 22)),
        fill_color={"field": "score", "transform": mapper},
        line_width=1 if len(names) <= 300 else 0.5,
        nonselection_fill_alpha=1.0,
    )  # fmt: skip
    for glyph in (drawn.glyph, drawn.nonselection_glyph, drawn.selection_glyph):
        if hasattr(glyph, "id"):
            chart.outlines[glyph.id] = "--outline"
    chart.sources["nodes"] = source.id
    chart.sources["colours"] = mapper.id
    tips = [("", "@name"), ("score", "@shown{0.[0000]}")]
    chart.figure.add_tools(HoverTool(renderers=[drawn], tooltips=tips))
    return drawn
