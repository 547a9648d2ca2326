"""The page about the L2-NPSVOR paper: errors, times, objectives against time, errors against C."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anabranch.reproduce.doml_table import Table
from anabranch.reproduce.npsvor import Reproduction, SetFacts
from anabranch.reproduce.npsvor_methods import COMPARED
from anabranch.reproduce.npsvor_tables import CHANCE, NEAR, deviations, differences
from anabranch.reproduce.npsvor_traces import SOLVERS
from pipelines.report.bokeh_parts import Chart
from pipelines.report.markup import chart_place, legend, text
from pipelines.report.page import page, section
from pipelines.report.paper_lines import Line, line_chart
from pipelines.report.paper_tables import shown
from pipelines.report.write import write_html

__all__ = ["npsvor_body", "write_npsvor"]

_STYLES: Mapping[str, tuple[str, str]] = {
    "TRON": ("--run-1", "dashed"),
    "TRON, warm start": ("--run-1", "solid"),
    "DCD-M": ("--run-2", "dashed"),
    "DCD-Mm": ("--run-2", "solid"),
    "DCD, all planes at once": ("--run-0", "solid"),
}
"""Colours by family."""

_READINGS = (
    "Text: Porter2 stems of words in lower case, scikit-learn's English stop words out, stems and "
    "pairs of them, those that occur 3 times or more, in 2 texts or more and in half of them or "
    "less; TF-IDF, rows of length 1. The authors' rows of Treebank show which: t (1 + log((1 + n) "
    "/ (1 + df))), n and df counted over rows to learn and to test together.",
    "Splits: treebank as the authors give it, largemovie in random halves, the others 80 % to "
    "learn, at random. The official split of largemovie, whose two halves share no film, gives "
    "larger errors than those expected, and 80 % to learn smaller ones.",
    "C is chosen by the mean absolute error in five folds, then all rows to learn are fitted. "
    "Epsilon is .1; C1 = C2 = C. The bias is one more field, regularised.",
    "SVC and SVR are LIBLINEAR's, by scikit-learn, SVC one rank against all others. SVR is the one "
    "of squared loss, rounded: of the two, the one nearer to what is expected on treebank.",
    "The paper's printed steps have errors, and its published TRON evaluates another loss than it "
    "minimises. What is run here is corrected: primal and dual agree.",
)


def write_npsvor(
    found: Reproduction, tables: Sequence[Table], sets: Mapping[str, Any], out: Path
) -> None:
    """Write the page: one file that makes no request.

    Parameters
    ----------
    tables : what `anabranch.reproduce.npsvor_tables.tables` makes of `found`
    sets : "run": names; "missing": name -> file that was not there
    """
    told = f"Sets: {text(', '.join(sets['run']))}"
    if sets["missing"]:
        told += f"; left out, since not there: {text(', '.join(sets['missing']))}"
    body, charts = npsvor_body(found, tables)
    title = "Ordered labels of sparse text: the L2-NPSVOR paper and this project"
    write_html(page(title, told, body, charts), out)


def npsvor_body(found: Reproduction, tables: Sequence[Table]) -> tuple[str, list[Chart]]:
    """Give the sections, and their charts."""
    made = {one.key: shown(one) for one in tables}
    falls = [_fall(f"chart-fall-{i}", one) for i, one in enumerate(found.traces.values())]
    costs = [
        _cost(f"chart-cost-{i}", found, name, facts)
        for i, (name, facts) in enumerate(found.sets.items())
    ]
    body = section("Errors", _lead(found) + made["errors"] + made["ranks"] + made["agreement"])
    names = legend([(name, *_STYLES[name]) for name in SOLVERS])
    told = "{}: objective against processor seconds, as distance to the optimum; logarithmic."
    drawn = _pairs(falls, found.traces, told)
    body += section("Objective against time", names + drawn + made["solvers"])
    body += section("Times", made["times"])
    names = legend([(label, ink, dash) for label, ink, dash in _cost_styles()])
    drawn = _pairs(costs, found.sets, "{}: mean absolute error against C, first split.")
    body += section("Error against C", names + drawn + made["spans"] + made["chosen"])
    readings = "".join(f"<li>{text(reading)}</li>" for reading in _READINGS)
    body += section("How it was run", f"<ul>{readings}</ul>{made['sets']}")
    return body, [*falls, *costs]


def _lead(found: Reproduction) -> str:
    apart = np.abs(differences(found))
    known = apart[~np.isnan(apart)]
    if not len(known):
        return ""
    near = int((np.round(known, 3) <= NEAR).sum())
    counts = [counted for name in found.sets if (counted := deviations(found, name)) is not None]
    chance = np.abs(np.array(counts))
    drawn = chance[~np.isnan(chance)]
    within = int((drawn <= CHANCE).sum())
    told = f" Of {len(drawn)} on rows drawn at random, {within} are within {CHANCE} standard "
    told += "deviations of chance."
    return (
        f'<p class="lead">{near} of {len(known)} mean absolute errors are within {NEAR} of those '
        f"expected; the largest difference is {known.max():.3f}.{told if len(drawn) else ''}</p>"
    )


def _pairs(charts: Sequence[Chart], names: Mapping[str, Any], told: str) -> str:
    places = [
        chart_place(chart.target, "", text(told.format(name)))
        for chart, name in zip(charts, names, strict=True)
    ]
    return f'<div class="pair">{"".join(places)}</div>'


def _fall(target: str, trace: Mapping[str, Any]) -> Chart:
    """Draw a set's solvers, without the start, which they share."""
    from bokeh.models import PrintfTickFormatter

    lines: list[Line] = []
    for name, (ink, dash) in _STYLES.items():
        points = np.array(trace["solvers"][name], dtype=np.float64)[1:]
        lines.append((name, points[:, 0], points[:, 1], ink, dash))
    label = "(objective - optimum) / optimum"
    chart = line_chart(target, label, "log", "processor seconds", lines, log=True)
    at = np.concatenate([x for _, x, _, _, _ in lines])
    decades = np.arange(np.floor(np.log10(at.min())), np.log10(at.max()) + 1.0)
    chart.figure.xaxis.ticker = (10.0**decades).tolist()
    chart.figure.axis.formatter = PrintfTickFormatter(format="%g")
    return chart


def _cost_styles() -> list[tuple[str, str, str]]:
    """Give label, ink and dash of each line of error against C."""
    return [
        (f"{method}, {rows}", ink, dash)
        for method, ink in zip(COMPARED, ("--run-1", "--run-0"), strict=True)
        for rows, dash in (("rows to test", "solid"), ("in folds", "dashed"))
    ]


def _cost(target: str, found: Reproduction, name: str, facts: SetFacts) -> Chart:
    """Draw a set's errors against C."""
    x = np.log2(facts.grid)
    runs = [found.runs[name, method][0] for method in COMPARED]
    values = [np.array(run[key]) for run in runs for key in ("held", "folds")]
    lines: list[Line] = [
        (label, x, errors, ink, dash)
        for (label, ink, dash), errors in zip(_cost_styles(), values, strict=True)
    ]
    return line_chart(target, "Mean absolute error", "linear", "log2 C", lines)
