"""The page about ordinal models on ordinal sets: scores, ranks, and values known before."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anabranch.protocol import Array
from anabranch.reproduce.doml_table import Table
from anabranch.reproduce.ordinal import Comparison, mean_ranks
from pipelines.report.bokeh_parts import Chart, empty_figure
from pipelines.report.markup import chart_place, legend, text
from pipelines.report.page import page, section
from pipelines.report.paper_tables import shown
from pipelines.report.write import write_html

__all__ = ["ordinal_body", "write_ordinal"]

_SECTIONS: Mapping[str, Sequence[str]] = {
    "Scores": ("error", "accuracy", "macro", "kappa"),
    "dSVOR beside SVORIM": ("gate",),
    "Values known before": ("known",),
    "What went wrong": ("troubles",),
    "The sets": ("sets",),
}
_INKS = {
    "svorim": "--run-0", "dsvor": "--run-1", "dsvor-online": "--run-2", "local": "--run-3",
    "logistic-at": "--run-4", "linear-svc": "--run-5", "ordered": "--run-6", "ridge": "--run-7",
}  # fmt: skip
"""Models that are drawn set by set: as many as there are colours to tell apart."""
_READINGS = (
    "Fields are z-scored by the rows to learn. A holdout's number is the seed of who has which "
    "row, of the random graph (4 neighbours a node on average) and of the random features.",
    "SVORIM, SVOREX and dSVOR have the Gaussian kernel with gamma = 1/K, and C = 1000/N, which "
    "is 1e-3 of the regulariser a sample; dSVOR besides has alpha = .9, so that most of its "
    "regulariser is |w|<sub>1</sub>, D = max(200, 10 K) random features and 2,000 rounds.",
    "The linear dSVOR has alpha = 0. Scores over nodes are means over all 20, each of which "
    "predicts all rows to test. A node alone has a twentieth of the rows; one without any says 1.",
    "Online, a node learns one row a round, with the settings that streams have by default: its "
    "own rows once, or again and again in new orders for 500 rounds.",
    "Other projects' models have their default settings: LogisticAT, LogisticIT and OrdinalRidge "
    "of mord, LinearSVC of scikit-learn (each rank against the others, order unused), and "
    "OrderedModel of statsmodels (logit, BFGS, no regulariser).",
)  # HTML


def write_ordinal(
    found: Comparison, tables: Sequence[Table], sets: Mapping[str, Any], out: Path
) -> None:
    """Write the page: one file that makes no request.

    Parameters
    ----------
    tables : what `anabranch.reproduce.ordinal_tables.tables` makes of `found`
    sets : "run": names; "missing": name -> file that was not there
    """
    told = f"Sets: {text(', '.join(sets['run']))}"
    if sets["missing"]:
        told += f"; left out, since not there: {text(', '.join(sets['missing']))}"
    body, charts = ordinal_body(found, tables)
    write_html(page("Ordinal models on ordinal sets", told, body, charts), out)


def ordinal_body(found: Comparison, tables: Sequence[Table]) -> tuple[str, list[Chart]]:
    """Give the sections, and their charts."""
    by_key = {one.key: one for one in tables}
    charts = [_ranks(found), _by_set(found)]
    drawn = [(m.heading, _INKS[m.key], "solid") for m in found.methods if m.key in _INKS]
    places = chart_place("chart-ranks", "", "Mean rank by mean absolute error; 1 is best.")
    told = "Mean absolute error of each model, divided by that of the best one; logarithmic."
    places += chart_place("chart-sets", legend(drawn), told)
    body = section("Who is best", f'<div class="pair">{places}</div>')
    for title, keys in _SECTIONS.items():
        body += section(title, "".join(shown(by_key[key]) for key in keys))
    readings = "".join(f"<li>{reading}</li>" for reading in _READINGS)
    return body + section("How it was run", f"<ul>{readings}</ul>"), charts


def _ranks(found: Comparison) -> Chart:
    """Draw a bar a model, the best on top."""
    from bokeh.models import ColumnDataSource, HoverTool

    places = mean_ranks(found.means("error"))
    order = np.argsort(-places)
    names = [found.methods[i].heading for i in order]
    figure: Any = empty_figure("", "Mean rank")
    _named_axis(figure.yaxis, names)
    figure.xaxis.axis_label = "mean rank"
    source = ColumnDataSource({"y": np.arange(len(names)), "right": places[order], "name": names})
    drawn = figure.hbar(y="y", right="right", height=0.6, source=source)
    figure.add_tools(HoverTool(tooltips=[("", "@name"), ("mean rank", "@right{0.00}")]))
    return Chart("chart-ranks", figure, {drawn.glyph.id: "--run-0"})


def _by_set(found: Comparison) -> Chart:
    """Draw a dot a set and model, its error in units of the set's best."""
    from bokeh.models import BasicTickFormatter, ColumnDataSource, HoverTool

    figure: Any = empty_figure("", "Error over the best error", "log")
    chart = Chart("chart-sets", figure)
    names = list(found.sets)
    _named_axis(figure.xaxis, names)
    figure.xaxis.major_label_orientation = 0.8
    figure.xaxis.axis_label = ""
    figure.yaxis.formatter = BasicTickFormatter()
    errors = _relative(found.means("error"))
    for method, column in zip(found.methods, errors.T, strict=True):
        if method.key in _INKS:
            data = {"x": np.arange(len(names)), "y": column, "set": names}
            source = ColumnDataSource({**data, "name": [method.heading] * len(names)})
            drawn = figure.scatter("x", "y", source=source, size=8, fill_alpha=0.6)
            chart.inks[drawn.glyph.id] = _INKS[method.key]
    tips = [("", "@name"), ("set", "@set"), ("times the best", "@y{0.00}")]
    figure.add_tools(HoverTool(tooltips=tips))
    return chart


def _relative(errors: Array) -> Array:
    best = np.nanmin(np.where(errors > 0.0, errors, np.nan), axis=1, keepdims=True)
    relative: Array = errors / best
    return relative


def _named_axis(axis: Any, names: Sequence[str]) -> None:
    """Give whole numbers from 0 on an axis their names."""
    from bokeh.models import BasicTickFormatter, FixedTicker

    axis.ticker = FixedTicker(ticks=list(range(len(names))))
    axis.formatter = BasicTickFormatter()
    axis.major_label_overrides = dict(enumerate(names))
