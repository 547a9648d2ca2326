"""The page about the elastic net paper: statements beside values, curves, sweeps."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from anabranch.protocol import Array
from anabranch.reproduce.elastic_net import Reproduction
from anabranch.reproduce.elastic_net_run import Trace
from pipelines.report.bokeh_parts import Chart
from pipelines.report.markup import chart_place, count, legend, number, table, text
from pipelines.report.page import page, section
from pipelines.report.paper_lines import Line, line_chart
from pipelines.report.write import write_html

__all__ = ["reproduced_body", "write_reproduced"]

Rows = Sequence[Mapping[str, float | None]]
_INKS = {"synthetic": "--run-0", "diabetes": "--run-1", "own settings": "--run-2"}
_LABELS = {
    "synthetic": "Synthetic set, the paper's settings",
    "diabetes": "Diabetes, the paper's settings",
    "own settings": "Synthetic set, this project's settings",
}
_QUANTITIES: Mapping[str, tuple[str, Literal["linear", "log"], Callable[[Trace], Array]]] = {
    "objective": ("Objective F", "log", lambda trace: trace.objective),
    "gap": ("Gap of F to its optimum, relative", "log", lambda t: t.objective / t.best - 1.0),
    "rmse": ("RMSE over the rows to test", "log", lambda trace: trace.rmse),
    "adjusted": ("Adjusted R\N{SUPERSCRIPT TWO}", "linear", lambda trace: trace.adjusted),
}
_RESIDUALS: Sequence[tuple[str, str, str, Callable[[Trace], Array]]] = (
    ("Primal", "--run-0", "solid", lambda trace: trace.primal),
    ("Dual, by alpha", "--run-1", "dashed", lambda trace: trace.dual),
    ("Dual, by the nodes' mean: the paper's order", "--run-2", "dotted", lambda t: t.mean_dual),
)
_VARIED = {
    "nodes": "Number of nodes N",
    "rho": "Penalty rho",
    "u1": "Weight u1 of |w|",
    "u2": "Weight u2 of |w|\N{SUPERSCRIPT TWO}/2",
}
_READINGS = (
    "The paper's display equations are lost in the text that we have. They were put together "
    "again from its sentences, and their optimum is scikit-learn's.",
    "It demands multipliers of at least 0, as for inequalities. For the equality of theta and "
    "alpha that is wrong; with the sign turned round the iteration diverges. Ours are free.",
    "Its conjugate gradients search the line at -1 and +1 only, which converges where the "
    "second derivative is near 1. Ours take the exact step (solver=&quot;prp&quot;), or solve "
    "by a factorisation, which is the default and what is shown here.",
    "Its generator of synthetic data is not printed. Ours is Boyd's (2011, section 11), with "
    "the numbers of rows and fields that it names.",
    "Its tolerances, 1e-2 and 1e-4, are absolute: what they mean depends on N, rho and the "
    "units of the data.",
)  # HTML


def write_reproduced(found: Reproduction, patients: Rows, seeds: int, out: Path) -> None:
    """Write the page about a reproduction: one file that makes no request.

    Parameters
    ----------
    patients : nodes together and alone on the diabetes set, as `compare_local` gives them
    seeds : data sets that there were
    """
    body, charts = reproduced_body(found, patients)
    told = f"All experiments of the paper (JEIT 2020), over {seeds:,} synthetic data sets"
    title = "Elastic net by ADMM: the paper and this project"
    write_html(page(title, told, body, charts), out)


def reproduced_body(found: Reproduction, patients: Rows) -> tuple[str, list[Chart]]:
    """Give the sections, and their charts."""
    curves, charts = _curves(found.traces)
    residuals, more = _residuals(found.traces)
    alone, chart = _alone(found.local, patients)
    readings = "".join(f"<li>{reading}</li>" for reading in _READINGS)
    body = section("Statements and values", _findings(found))
    body += section("Round by round", curves)
    body += section("Residuals", residuals)
    body += section("What was varied", "".join(_sweep(k, r) for k, r in found.sweeps.items()))
    body += section("Together and alone", alone)
    body += section("How the paper was read", f"<ul>{readings}</ul>")
    return body, [*charts, *more, chart]


def _findings(found: Reproduction) -> str:
    rows = [
        [_wrapped(one.what), *(text(cell) for cell in (one.paper, one.ours, one.differs or "no"))]
        for one in found.findings
    ]
    apart = sum(bool(one.differs) for one in found.findings)
    lead = f"{len(rows) - apart} of {len(rows)} agree, or go beyond the paper; {apart} differ."
    head = ["Statement", "Paper", "Ours", "Where they differ, and why"]
    shown = table("N = 20, rho = 1, u1 = u2 = .01, unless said otherwise", head, rows, "letters")
    return f'<p class="lead">{lead}</p>{shown}'


def _wrapped(sentence: str) -> str:
    """Let the heading of a row, which is a sentence here, take several lines."""
    return f'<span style="white-space: normal">{text(sentence)}</span>'


def _curves(traces: Mapping[str, Trace]) -> tuple[str, list[Chart]]:
    names = legend([(_LABELS[name], _INKS[name], "solid") for name in traces])
    charts, html = [], ""
    for key, (label, kind, read) in _QUANTITIES.items():
        lines = [_against_rounds(_LABELS[n], read(t), _INKS[n]) for n, t in traces.items()]
        charts.append(line_chart(f"chart-{key}", label, kind, "round", lines))
        note = ", logarithmic" if kind == "log" else ""
        html += chart_place(f"chart-{key}", "", f"{text(label)}{note}.")
    return f'{names}<div class="pair">{html}</div>', charts


def _residuals(traces: Mapping[str, Trace]) -> tuple[str, list[Chart]]:
    names = legend([(label, ink, dash) for label, ink, dash, _ in _RESIDUALS])
    charts, html = [], ""
    for i, (name, trace) in enumerate(traces.items()):
        lines = [_against_rounds(t, read(trace), ink, dash) for t, ink, dash, read in _RESIDUALS]
        charts.append(line_chart(f"chart-residuals-{i}", "Residual", "log", "round", lines))
        html += chart_place(f"chart-residuals-{i}", "", f"{text(_LABELS[name])}; logarithmic.")
    return f'{names}<div class="pair">{html}</div>', charts


def _sweep(name: str, rows: Rows) -> str:
    head = [
        text(_VARIED[name]), "Round of the paper's stop", "The same, in its order of steps",
        "RMSE", "Adjusted R\N{SUPERSCRIPT TWO}", "Objective F",
    ]  # fmt: skip
    cells = [
        [
            f"{row['value']:g}", _round(row["stop"]), _round(row["paper stop"]),
            *(number(row[key]) for key in ("rmse", "adjusted", "objective")),
        ]
        for row in rows
    ]  # fmt: skip
    return table(f"{text(_VARIED[name])}, the rest as in the paper", head, cells)


def _round(value: float | None) -> str:
    return "not within the rounds performed" if value is None else count(value)


def _alone(local: Rows, patients: Rows) -> tuple[str, Chart]:
    nodes = np.array([row["nodes"] for row in local], dtype=np.float64)
    styles = (
        ("rmse", "Together", "--run-0", "solid"),
        ("local rmse", "Alone", "--run-1", "dashed"),
    )
    lines = [
        (label, nodes, np.array([row[key] for row in local], dtype=np.float64), ink, dash)
        for key, label, ink, dash in styles
    ]
    chart = line_chart("chart-alone", "RMSE over the rows to test", "linear", "nodes", lines)
    entries = legend([(label, ink, dash) for _, label, ink, dash in styles])
    place = chart_place("chart-alone", entries, "The synthetic sets: RMSE against nodes.")
    shown = _alone_table("Synthetic sets, means", local)
    return place + shown + _alone_table("Diabetes, means over random orders", patients), chart


def _alone_table(caption: str, rows: Rows) -> str:
    squared = "R\N{SUPERSCRIPT TWO}"
    head = ["Nodes", "RMSE together", "RMSE alone", f"Adjusted {squared} together"]
    head += [f"Adjusted {squared} alone", "Alone, with n the node's own rows"]
    keys = ("rmse", "local rmse", "adjusted", "local adjusted", "local own")
    cells = [[count(row["nodes"]), *(number(row[key]) for key in keys)] for row in rows]
    return table(caption, head, cells)


def _against_rounds(label: str, values: Array, ink: str, dash: str = "solid") -> Line:
    return label, np.arange(1.0, len(values) + 1.0), values, ink, dash
