"""The tables of scores: headline, confusion matrix, nodes."""

import re
from collections.abc import Sequence

from pipelines.report.markup import bytes_of, count, number, table, text
from pipelines.report.rows import LEARNERS, SCOPES, Row, is_bigger_better, value
from pipelines.report.runs import Run
from pipelines.report.styles import styles

__all__ = [
    "confusion_table",
    "gap_sentence",
    "headline_table",
    "learner_label",
    "metric_label",
    "nodes_table",
]


def learner_label(learner: str) -> str:
    """Give a learner's name on the page, as HTML."""
    return text(LEARNERS.get(learner, learner))


def metric_label(metric: str) -> str:
    """Give a metric's name as HTML that may break between its words."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "<wbr>", text(metric))


def headline_table(run: Run) -> str:
    """Give every learner's metrics: whole stream, window, held-back rows."""
    metrics = run.metrics
    learners = list(styles(run))
    rows: list[Sequence[str]] = []
    for scope in SCOPES:
        scored = [name for name in learners if _has(run.last(name), scope)]
        if scored:
            rows.append([_scope_label(run, scope)])
            rows += _scope_rows(run, scope, scored, metrics)
    return table(
        "Final scores of the network; the best of each column is set in bold",
        ["Learner", *map(metric_label, metrics)],
        rows,
        "scores",
    )


def _has(row: Row | None, scope: str) -> bool:
    return row is not None and bool(getattr(row, scope))


def _scope_label(run: Run, scope: str) -> str:
    if scope == "scores" and run.is_batch:
        return "Training samples, after the last round"
    section = run.job.get("evaluation")
    window = section.get("window") if isinstance(section, dict) else None
    if scope == "window" and isinstance(window, int):
        return f"Newest {window:,} samples of every node"
    return SCOPES[scope]


def _scope_rows(
    run: Run, scope: str, learners: Sequence[str], metrics: Sequence[str]
) -> list[Sequence[str]]:
    found = {name: [value(run.last(name), scope, m) for m in metrics] for name in learners}
    best = []
    for i, metric in enumerate(metrics):
        known = [score for row in found.values() if (score := row[i]) is not None]
        pick = max if is_bigger_better(metric) else min
        best.append(pick(known) if len(known) > 1 else None)
    return [
        [learner_label(name), *(_score(v, v == b) for v, b in zip(row, best, strict=True))]
        for name, row in found.items()
    ]


def _score(score: float | None, is_best: bool) -> str:
    shown = number(score)
    return f"<td><strong>{shown}</strong></td>" if is_best and score is not None else shown


def gap_sentence(run: Run) -> str:
    """Say what cooperation brought: the gap to local-only and to pooled learning."""
    metric = next(iter(run.metrics), "")
    scores = {name: value(run.last(name), "scores", metric) for name in LEARNERS}
    together, alone, pooled = scores["cooperative"], scores["local"], scores["pooled"]
    baselines = [name for name in styles(run) if name not in LEARNERS]
    others = {name: value(run.last(name), "scores", metric) for name in baselines}
    if together is None or (alone is None and pooled is None and not others):
        return ""
    parts = [f"<strong>{number(together)}</strong> together"]
    parts += [f"{number(alone)} alone"] if alone is not None else []
    parts += [f"{number(pooled)} with all samples in one place"] if pooled is not None else []
    parts += [f"{number(score)} by {text(name)}" for name, score in others.items()]
    sentence = f"{text(metric)}: {', '.join(parts)}."
    if alone is None or pooled is None:
        return sentence
    sign = -1.0 if is_bigger_better(metric) else 1.0
    gap = sign * (alone - pooled)
    if gap <= 0:
        return (
            f"{sentence} One model with all samples is no better than each node alone, so there "
            f"is no gap to close; exchanging changed {text(metric)} by {together - alone:+.4f}."
        )
    return f"{sentence} {_closed(sign * (alone - together) / gap)}"


def _closed(share: float) -> str:
    """Say how much of the gap is closed.

    >>> _closed(0.5)
    'Exchanging parameters closed 50% of the gap.'
    """
    if share > 1:
        return "Exchanging did better than one model with all samples."
    if share < 0:
        return "Exchanging did worse than each node alone."
    return f"Exchanging parameters closed {share:.0%} of the gap."


def confusion_table(run: Run) -> str:
    """Give the network's counts of truth by prediction, shaded by the share of the row."""
    row = next((r for r in reversed(run.network.get(run.main, [])) if r.confusion), None)
    if row is None or not row.confusion:
        return ""
    ranks = len(row.confusion)
    rows = [[text(t + 1), *_shaded(counts)] for t, counts in enumerate(row.confusion)]
    return table(
        f"{learner_label(run.main)} learning, all nodes: true rank by predicted rank. "
        "Shading is the share of the row",
        ["True \\ predicted", *(str(p + 1) for p in range(ranks)), "Samples"],
        [[*cells, count(sum(row.confusion[t]))] for t, cells in enumerate(rows)],
        "confusion",
    )


def _shaded(counts: Sequence[float]) -> list[str]:
    total = sum(counts) or 1
    return [
        f'<td style="--share:{n / total:.3f}" title="{n / total:.1%} of the row">{n:,.0f}</td>'
        for n in counts
    ]


def nodes_table(run: Run) -> str:
    """Give the final row of every node, with its local-only companion's headline metric."""
    nodes, metrics = run.nodes.get(run.main, {}), run.metrics
    if not nodes:
        return ""
    alone = run.nodes.get("local", {}) if run.main != "local" else {}
    head = ["Node", "Samples", *map(metric_label, metrics)]
    head += [f"{text(metrics[0])} in the window"] if metrics else []
    head += [f"{text(metrics[0])} alone"] if alone and metrics else []
    rows = [_node(name, nodes[name], alone, metrics) for name in sorted(nodes)]
    return table(
        f"{learner_label(run.main)} learning: final scores of each node over its whole stream",
        [*head, "Messages sent", "Bytes sent"],
        rows,
        "nodes",
    )


def _node(name: str, row: Row, alone: dict[str, Row], metrics: Sequence[str]) -> list[str]:
    cells = [text(name), count(row.samples)]
    cells += [number(value(row, "scores", metric)) for metric in metrics]
    if metrics:
        cells.append(number(value(row, "window", metrics[0])))
        if alone:
            cells.append(number(value(alone.get(name), "scores", metrics[0])))
    return [*cells, count(row.messages), bytes_of(row.bytes)]
