"""The sections of a page that compares runs."""

from collections import Counter
from collections.abc import Sequence

from pipelines.report.bokeh_parts import Chart
from pipelines.report.charts import RUN_COLOURS, RUN_DASHES, Lines, overlay_chart
from pipelines.report.facts import figures, flat
from pipelines.report.markup import (
    MISSING,
    bytes_of,
    chart_place,
    count,
    legend,
    number,
    table,
    text,
)
from pipelines.report.one import metric_choice, run_tables, small_charts
from pipelines.report.page import section
from pipelines.report.rows import LEARNERS, value
from pipelines.report.runs import Run
from pipelines.report.tables import headline_table, metric_label

__all__ = ["label_runs", "runs_body"]

Labelled = Sequence[tuple[str, Run]]


def label_runs(runs: Sequence[Run]) -> list[tuple[str, Run]]:
    """Name the runs by job, adding the directory and then a number where that is not enough."""
    jobs = Counter(run.name for run in runs)
    names = [
        run.name if jobs[run.name] == 1 else f"{run.name} ({run.path.resolve().name})"
        for run in runs
    ]
    doubled = Counter(names)
    return [
        (name if doubled[name] == 1 else f"{name} #{i + 1}", run)
        for i, (name, run) in enumerate(zip(names, runs, strict=True))
    ]


def runs_body(runs: Labelled) -> tuple[str, list[Chart]]:
    """Give the sections of a comparison, and its charts."""
    styles = [_style(i) for i in range(len(runs))]
    names = legend([(label, *style) for (label, _), style in zip(runs, styles, strict=True)])
    overlay, pairs = overlay_chart(runs, "chart-metric")
    body = section("Runs", _overview(runs))
    if overlay:
        caption = "The network's curve of every run; predictions are made before learning."
        place = chart_place("chart-metric", names, caption)
        body += section("Over the stream", metric_choice(pairs) + place)
    lines: Lines = [
        (label, run.network.get(run.main, []), *style)
        for (label, run), style in zip(runs, styles, strict=True)
    ]
    small, more = small_charts(lines, names)
    body += section("Exchange", small) + section("What differs", _differences(runs))
    body += "".join(_folded(label, run) for label, run in runs)
    return body, [overlay, *more] if overlay else more


def _style(i: int) -> tuple[str, str]:
    return f"--run-{i % RUN_COLOURS}", RUN_DASHES[i // RUN_COLOURS % len(RUN_DASHES)]


def _overview(runs: Labelled) -> str:
    metrics = list(dict.fromkeys(metric for _, run in runs for metric in run.metrics))
    first = metrics[0] if metrics else ""
    others = sorted({name for _, run in runs for name in run.network} - LEARNERS.keys())
    head = ["Run", *map(metric_label, metrics)]
    head += [f"{text(first)} {name}" for name in ("window", "held", "alone", "pooled")]
    head += [f"{text(first)} {text(name)}" for name in others]
    head += ["Samples", "A second", "Nodes", "Edges", "Sent", "Dead letters"]
    rows = [_run_row(label, run, metrics, others) for label, run in runs]
    kept = [i for i in range(len(head)) if i == 0 or any(row[i] != MISSING for row in rows)]
    return table(
        "Final values of each run's network",
        [head[i] for i in kept],
        [[row[i] for i in kept] for row in rows],
        "runs",
    )


def _run_row(label: str, run: Run, metrics: Sequence[str], others: Sequence[str]) -> list[str]:
    last, summary = run.last(run.main), run.summary
    first = metrics[0] if metrics else ""
    cells = [number(value(last, "scores", metric)) for metric in metrics]
    cells += [number(value(last, scope, first)) for scope in ("window", "held")]
    beside = ("local", "pooled", *others)
    cells += [number(value(run.last(name), "scores", first)) for name in beside]
    cells += [count(summary.get("samples", last.samples if last else None))]
    cells += [count(summary.get(key)) for key in ("rate", "nodes", "edges")]
    cells += [bytes_of(last.bytes if last else None), count(sum(run.dead.counts.values()))]
    return [f'<span title="{text(run.path)}">{text(label)}</span>', *cells]


def _differences(runs: Labelled) -> str:
    """Give the keys of the configuration in which the runs are not alike."""
    settings = [flat(run.job) for _, run in runs]
    keys = list(dict.fromkeys(key for found in settings for key in found))
    unlike = [key for key in keys if len({found.get(key) for found in settings}) > 1]
    if not unlike:
        return "<p>The configurations are alike.</p>"
    rows = [
        [f"<code>{text(key)}</code>", *(text(found.get(key, MISSING)) for found in settings)]
        for key in unlike
    ]
    head = ["Key", *(text(label) for label, _ in runs)]
    return table("Keys of the configuration that differ", head, rows, "settings")


def _folded(label: str, run: Run) -> str:
    inside = figures(run) + section("Scores", headline_table(run))
    inside += run_tables(run)
    return f'<details class="run"><summary>{text(label)}</summary>{inside}</details>'
