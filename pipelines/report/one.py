"""The sections of a page about one run."""

from pipelines.report.bokeh_parts import Chart
from pipelines.report.charts import DASHES, QUANTITIES, Lines, Pairs, quantity_chart, run_chart
from pipelines.report.choose import EACH_END
from pipelines.report.drift import drift_table
from pipelines.report.facts import dead_letters, figures, key_values
from pipelines.report.labels import labels_part
from pipelines.report.markup import chart_place, legend, text
from pipelines.report.measures import measures_part
from pipelines.report.network_part import network_part
from pipelines.report.page import section
from pipelines.report.rows import LEARNERS, SCOPES
from pipelines.report.runs import Run
from pipelines.report.series import offered
from pipelines.report.styles import styles
from pipelines.report.tables import confusion_table, gap_sentence, headline_table, nodes_table

__all__ = ["metric_choice", "run_body", "run_tables", "small_charts"]


def run_body(run: Run) -> tuple[str, list[Chart]]:
    """Give the sections of one run, and its charts."""
    charts = [chart for chart in [run_chart(run, "chart-metric")] if chart]
    body = section("Scores", _scores(run))
    body += section("Over the stream", _curves(run) if charts else "")
    lines: Lines = [
        (LEARNERS[name], run.network[name], f"--{name}", DASHES[name])
        for name in ("cooperative",)
        if name in run.network
    ]
    small, more = small_charts(lines)
    told, curves = measures_part(run)
    body += section("Exchange", small) + section("Convergence", told)
    drawn, pictures = network_part(run)
    body += section("Network", drawn)
    return figures(run) + body + run_tables(run), charts + more + curves + pictures


def _scores(run: Run) -> str:
    if not run.network:
        return "<p>No scores were written yet.</p>"
    sentence = gap_sentence(run)
    return (f'<p class="lead">{sentence}</p>' if sentence else "") + headline_table(run)


def _curves(run: Run) -> str:
    entries = [(style.name, style.ink, style.dash) for style in styles(run).values()]
    caption = "Scores of predictions made before learning; every curve stands at the number of "
    caption += "samples that the network had seen. "
    if run.drifts:
        entries.append(("Drift", "--drift", "upright"))
        caption += "Upright lines: a drift begins or spreads; dotted: it is over. "
    if run.curves:
        entries.append(("Nodes", "--node", "thin"))
        caption += _drawn(run)
    return metric_choice(offered(run)) + chart_place("chart-metric", legend(entries), caption)


def _drawn(run: Run) -> str:
    if run.choice.is_complete:
        return f"All {run.choice.total} nodes are drawn."
    return (
        f"Of {run.choice.total:,} nodes only {len(run.choice.nodes)} are drawn: the {EACH_END} "
        f"worst and the {EACH_END} best by {text(run.choice.metric)}."
    )


def small_charts(lines: Lines, entries: str = "") -> tuple[str, list[Chart]]:
    """Give disagreement, bytes and messages side by side, those with anything in them."""
    charts, html = [], ""
    for quantity, (label, kind, _) in QUANTITIES.items():
        chart = quantity_chart(quantity, lines, f"chart-{quantity}") if lines else None
        if chart is None:
            continue
        charts.append(chart)
        note = ", logarithmic" if kind == "log" else ", cumulative"
        note += "; the rounds after the stream's end are left out" if kind == "log" else ""
        html += chart_place(f"chart-{quantity}", "", f"{label}{note}.")
    if not charts:
        return "", []
    return f'{entries}<div class="pair">{html}</div>', charts


def metric_choice(pairs: Pairs) -> str:
    """Give the control that chooses which metric is drawn."""
    groups = ""
    for scope, label in SCOPES.items():
        options = "".join(
            f'<option value="{text(scope)}.{text(metric)}">{text(metric)}</option>'
            for found, metric in pairs
            if found == scope
        )
        groups += f'<optgroup label="{label}">{options}</optgroup>' if options else ""
    return f'<p><label for="metric">Metric</label> <select id="metric">{groups}</select></p>'


def run_tables(run: Run) -> str:
    """Give the sections without charts, which a comparison repeats for every run."""
    nodes = nodes_table(run)
    many = len(run.nodes.get(run.main, {}))
    state = " open" if many <= 2 * EACH_END else ""
    folded = f"<details{state}><summary>{many:,} nodes</summary>{nodes}</details>" if nodes else ""
    job = f"<details><summary>Every key</summary>{key_values('Job as resolved', run.job)}</details>"
    machine = key_values("Where it ran", run.environment)
    return (
        section("Confusion", confusion_table(run))
        + section("Labels", labels_part(run))
        + section("Nodes", folded)
        + section("Drift", drift_table(run.drifts, run.job.get("drift")) if run.drifts else "")
        + section("Dead letters", dead_letters(run))
        + section("Configuration", job)
        + section("Environment", f"<details><summary>Versions</summary>{machine}</details>")
    )
