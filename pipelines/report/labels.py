"""The table of labels, where samples have sets of them."""

from collections.abc import Sequence

from pipelines.report.markup import count, number, table, text
from pipelines.report.rows import LabelScore
from pipelines.report.runs import Run
from pipelines.report.styles import styles

__all__ = ["choose_labels", "labels_part"]

EACH = 10
"""How many of the most frequent labels, and of the worst of the others, are listed."""


def labels_part(run: Run) -> str:
    """Give precision, recall and F1 of the labels, and the F1 of every companion."""
    found = {name: scores for name in styles(run) if (scores := _scores(run, name))}
    main = found.get(run.main)
    if not main:
        return ""
    section = run.job.get("evaluation")
    every = isinstance(section, dict) and bool(section.get("per_label"))
    shown = sorted(main, key=lambda name: (-main[name].support, name))
    shown = shown if every else choose_labels(main)
    others = [name for name in found if name != run.main]
    head = ["Label", "Samples with it", "Precision", "Recall", "F1"]
    head += [f"F1, {text(styles(run)[name].name)}" for name in others]
    rows = [_row(name, main[name], [found[other].get(name) for other in others]) for name in shown]
    return _note(len(shown), len(main)) + table(
        "Scores of each label over the whole stream", head, rows, "nodes"
    )


def _scores(run: Run, learner: str) -> dict[str, LabelScore]:
    """Give the newest scores by label that a learner has."""
    rows = reversed(run.network.get(learner, []))
    return next((row.labels for row in rows if row.labels), {})


def choose_labels(scores: dict[str, LabelScore]) -> list[str]:
    """Choose the most frequent labels, and the worst of the others that occur at all.

    >>> scores = {f"l{i}": LabelScore(0.0, 0.0, i / 100, 100 - i) for i in range(40)}
    >>> choose_labels(scores)[:12]
    ['l0', 'l1', 'l2', 'l3', 'l4', 'l5', 'l6', 'l7', 'l8', 'l9', 'l10', 'l11']
    """
    ranked = sorted(scores, key=lambda name: (-scores[name].support, name))
    if len(ranked) <= 2 * EACH:
        return ranked
    rest = [name for name in ranked[EACH:] if scores[name].support]
    worst = sorted(rest, key=lambda name: (scores[name].f1, -scores[name].support, name))[:EACH]
    return [name for name in ranked if name in {*ranked[:EACH], *worst}]


def _note(shown: int, total: int) -> str:
    if shown == total:
        return ""
    return (
        f'<p class="note">Of {total:,} labels {shown} are listed: the {EACH} most frequent, and '
        "the worst of the others that occur. <code>evaluation.per_label = true</code> lists all."
        "</p>"
    )


def _row(name: str, score: LabelScore, others: Sequence[LabelScore | None]) -> list[str]:
    own = [number(value) for value in (score.precision, score.recall, score.f1)]
    beside = [number(None if other is None else other.f1) for other in others]
    return [text(name), count(score.support), *own, *beside]
