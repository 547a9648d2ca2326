"""The section of a report that draws the network with its nodes' last scores."""

import numpy as np

from pipelines.report.bokeh_parts import Chart
from pipelines.report.layout import MOST_DRAWN, layout
from pipelines.report.markup import chart_place, number, text
from pipelines.report.network_chart import network_chart, score_range
from pipelines.report.networks import read_network
from pipelines.report.rows import Row, is_bigger_better
from pipelines.report.runs import Run

__all__ = ["network_part"]

_TARGET = "chart-network"


def network_part(run: Run) -> tuple[str, list[Chart]]:
    """Give the picture and its chart; a sentence instead where it cannot be drawn, or nothing."""
    section = run.job.get("network")
    metric = next(iter(run.metrics), "")
    last = run.nodes.get(run.main, {})
    if not isinstance(section, dict) or not metric or not last:
        return "", []
    drawing = read_network(run.path / "networks.json", section)
    if drawing is None or len(drawing.names) < 2:
        return "", []
    if len(drawing.names) > MOST_DRAWN:
        return f"<p>A network of {len(drawing.names):,} nodes is not drawn.</p>", []
    found = [_score(last.get(name), metric) for name in drawing.names]
    scores = np.array([np.nan if score is None else score for score in found])
    bigger = is_bigger_better(metric)
    places = layout(drawing.names, drawing.edges)
    chart = network_chart(
        _TARGET, drawing.names, places, drawing.edges, scores, bigger_is_better=bigger
    )
    low, high = score_range(scores)
    good, bad = (high, low) if bigger else (low, high)
    scale = (
        f'<p class="scale"><span>{number(good)} better</span>'
        f'<span class="ramp" aria-hidden="true"></span><span>{number(bad)} worse</span></p>'
    )
    caption = f"Colour: each node's last {text(metric)} in its window; hollow: no samples. "
    return chart_place(_TARGET, scale, caption + "The table of nodes holds the same."), [chart]


def _score(row: Row | None, metric: str) -> float | None:
    if row is None or row.samples == 0:  # scores of an empty window are no good ones
        return None
    return (row.window or row.held or row.scores).get(metric)
