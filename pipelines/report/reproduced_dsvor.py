"""The page about the dSVOR paper: its experiments, beside what is known of them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anabranch.protocol import Array
from anabranch.reproduce.dsvor import Extent, Reproduction
from anabranch.reproduce.dsvor_experiments import runs_of
from pipelines.report.bokeh_parts import Chart
from pipelines.report.markup import chart_place, legend, text
from pipelines.report.page import page, section
from pipelines.report.paper_lines import Line, line_chart
from pipelines.report.paper_tables import shown
from pipelines.report.write import write_html

__all__ = ["dsvor_body", "write_dsvor"]

Found = Mapping[str, Any]
Drawn = tuple[Chart, str, str]
"""A chart, its legend, its caption."""

_SECTIONS: Mapping[str, Sequence[str]] = {
    "What is known, and ours": ("findings",),
    "Bearings: the paper's real-world example": ("bearings random", "bearings time"),
    "Rounds": ("rounds",),
    "Nodes and graphs": ("nodes", "graphs"),
    "Random features": ("dimension",),
    "Sparsity: what Figures 7 and 9 are about": ("alpha", "bearing sparsity"),
    "Step sizes": ("step",),
    "How the paper can be read": ("readings",),
}
_READINGS = (
    "The text of the paper's figures is not at hand. Figures 3 to 9 vary what is varied here: "
    "rounds, nodes, graph, D, step, alpha. That 7 and 9 show sparsity is known; which of the "
    "others shows what is not, so that sections are named by what they hold. Of its table, the "
    "accuracies of four cases of bearings are known.",
    "The paper names its synthetic sets without printing a generator. Ours were made so that 20 "
    "nodes of 50 rows come to the accuracies known, together, alone and centralised. Values "
    "known are those of an independent program.",
    "Equation 9 gives every node the whole regulariser, which is not the problem of Equation 1. "
    "Here each has 1/M of it.",
    "Equation 4 needs frequencies of variance 2 gamma, Equation 6 draws half of it. Here gamma is "
    "stated, 1/K by default, and the frequencies follow.",
    "The paper takes the subgradient where a node stands, and combines with weights 1/max(d, d'). "
    "On an even ring that never agrees. Here a node combines first, with 1/(1 + max(d, d')).",
    "C is 1000/N on synthetic sets and 10000/N on bearings: 1e-3 and 1e-4 of the regulariser a "
    "row. Fields are z-scored by the rows to learn. Centralised is SVORIM with the exact kernel.",
)


def write_dsvor(found: Reproduction, extent: Extent, out: Path) -> None:
    """Write the page: one file that makes no request."""
    body, charts = dsvor_body(found)
    told = f"Means and standard deviations over {extent.seeds:,} seeds"
    if found.missing:
        told += f"; not there: {text(', '.join(found.missing))}"
    title = "Ordinal regression over networks: the dSVOR paper and this project"
    write_html(page(title, told, body, charts), out)


def dsvor_body(found: Reproduction) -> tuple[str, list[Chart]]:
    """Give the sections, and their charts."""
    tables = {one.key: one for one in found.tables}
    charts: list[Chart] = []
    body = ""
    for title, keys in _SECTIONS.items():
        drawn = [one for key in keys if key in found.synthetic for one in _charts(found, key)]
        charts += [chart for chart, _, _ in drawn]
        places = "".join(chart_place(c.target, names, caption) for c, names, caption in drawn)
        pair = f'<div class="pair">{places}</div>' if places else ""
        body += section(title, pair + "".join(shown(tables[key]) for key in keys if key in tables))
    readings = "".join(f"<li>{text(reading)}</li>" for reading in _READINGS)
    return body + section("What was read how", f"<ul>{readings}</ul>"), charts


def _charts(found: Reproduction, key: str) -> Iterator[Drawn]:
    values = found.synthetic[key]
    if key == "rounds":
        for name, told in (("linear", "Set 1, linear"), ("nonlinear", "Set 2, random features")):
            yield _rounds(values, name, told)
    elif key == "nodes":
        who = {"dSVOR": "dSVOR", "local-only": "local-only"}
        at = sorted({int(label.split(", ")[0]) for label in values["runs"]})
        series = {name: [f"{nodes}, {name}" for nodes in at] for name in who}
        yield _against(values, key, "nodes", at, series)
    elif key == "dimension":
        labels = list(values["runs"])
        yield _against(values, key, "random features D", [*map(int, labels)], {"dSVOR": labels})
    elif key == "alpha":
        yield _zeros(values)


def _rounds(values: Found, name: str, told: str) -> Drawn:
    """Draw the error of all three against rounds."""
    marks = values["rounds"][f"{name}, dSVOR"]
    x = np.array(marks, dtype=np.float64)
    lines: list[Line] = []
    for who, ink, dash in (("dSVOR", "--run-0", "solid"), ("local-only", "--run-1", "dashed")):
        lines += _band(who, x, [_errors(values, f"{name}, {who}", k) for k in marks], ink, dash)
    level = np.mean([error for _, error in values["central"][name]])
    lines.append(("centralised", x, np.full(len(x), level), "--run-2", "dotted"))
    chart = line_chart(f"chart-rounds-{name}", "MAE", "linear", "round", lines, log=True)
    return chart, _names(lines), f"{told}: mean absolute error, a standard deviation either side."


def _against(
    values: Found, key: str, against: str, at: Sequence[int], series: Mapping[str, Sequence[str]]
) -> Drawn:
    """Draw errors at the end against what was varied, beside the centralised machine's."""
    x = np.array(at, dtype=np.float64)
    lines: list[Line] = []
    styles = zip(series.items(), ("--run-0", "--run-1"), ("solid", "dashed"), strict=False)
    for (who, labels), ink, dash in styles:
        lines += _band(who, x, [_errors(values, label) for label in labels], ink, dash)
    level = np.mean([error for _, error in values["central"]["nonlinear"]])
    lines.append(("centralised", x, np.full(len(x), level), "--run-2", "dotted"))
    chart = line_chart(f"chart-{key}", "MAE", "linear", against, lines, log=True)
    return chart, _names(lines), f"Set 2: mean absolute error against {text(against)}."


def _zeros(values: Found) -> Drawn:
    labels = list(values["optima"])
    x = np.array([float(label) for label in labels])
    shares = {
        "in nodes": [[one.kept for one in runs_of(values, label)] for label in labels],
        "in messages": [[one.sent for one in runs_of(values, label)] for label in labels],
        "at the optimum": [values["optima"][label] for label in labels],
    }
    styles = (("--run-0", "solid"), ("--run-1", "dashed"), ("--run-2", "dotted"))
    lines: list[Line] = []
    for (who, found), (ink, dash) in zip(shares.items(), styles, strict=True):
        lines += _band(who, x, found, ink, dash)
    chart = line_chart("chart-alpha", "Share of zero weights", "linear", "alpha", lines)
    return chart, _names(lines), "Set 2: share of weights that are zero against alpha."


def _errors(values: Found, label: str, rounds: int | None = None) -> list[float]:
    return [one.error for one in runs_of(values, label, rounds)]


def _band(who: str, x: Array, found: Sequence[Sequence[float]], ink: str, dash: str) -> list[Line]:
    """Give a mean, and lines a standard deviation above and below."""
    mean, deviation = np.mean(found, axis=1), np.std(found, axis=1)
    edges = (
        (f"{who}, mean {sign} sd", mean + way * deviation) for sign, way in (("+", 1), ("-", -1))
    )
    thin = [(name, x, edge, ink, "thin") for name, edge in edges]
    return [(who, x, mean, ink, dash), *thin]


def _names(lines: Sequence[Line]) -> str:
    return legend([(name, ink, dash) for name, _, _, ink, dash in lines if dash != "thin"])
