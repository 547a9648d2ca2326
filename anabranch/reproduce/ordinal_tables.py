"""The comparison on ordinal sets as tables."""

from collections.abc import Iterator

import numpy as np

from anabranch.reproduce.doml_table import Cell, Row, Table
from anabranch.reproduce.dsvor_tables import apart, told
from anabranch.reproduce.ordinal import Comparison, mean_ranks
from anabranch.reproduce.ordinal_data import RankScores
from anabranch.reproduce.ordinal_methods import Method
from anabranch.reproduce.ordinal_paper import HOLDOUTS, KNOWN

__all__ = ["GATE", "LEAST_ROWS", "MEASURES", "gate_rows", "tables"]

GATE, LEAST_ROWS = 0.03, 200
"""dSVOR may be this much worse than SVORIM, on sets with at least so many rows to learn."""

MEASURES = {
    "error": "Mean absolute error",
    "accuracy": "Accuracy",
    "macro": "Macro-averaged mean absolute error",
    "kappa": "Quadratic weighted kappa",
}
"""By the fields of `RankScores`; of accuracy and kappa more is better."""
_LESS = ("error", "macro")


def tables(found: Comparison) -> list[Table]:
    """Put everything into tables: scores, gate, values known before, troubles, sizes."""
    made = [_scores(found, measure) for measure in MEASURES]
    return [*made, _gate(found), _known(found), _troubles(found), _sizes(found)]


def _scores(found: Comparison, measure: str) -> Table:
    rows: list[Row] = [
        [name, *(_cell(found, name, method, measure) for method in found.methods)]
        for name in found.sets
    ]
    means = found.means(measure)
    places = mean_ranks(means if measure in _LESS else -means)
    rows.append(["mean rank", *(f"{place:.2f}" for place in places)])
    counted = int((~np.isnan(means).any(axis=1)).sum())
    notes = [f"Mean ranks over {counted} of {len(found.sets)} sets: those with all columns."]
    if measure == "error":
        notes.append("A star: see the table of what went wrong.")
        notes += [
            f"{one.heading}: over the first {one.most} holdouts."
            for one in found.methods
            if one.most and one.most < _most_holdouts(found)
        ]
    caption = f"{MEASURES[measure]}: mean and standard deviation over holdouts"
    return Table(measure, caption, ["set", *(m.heading for m in found.methods)], rows, notes)


def _most_holdouts(found: Comparison) -> int:
    return max((facts.holdouts for facts in found.sets.values()), default=0)


def _counted(found: Comparison) -> str:
    """Say over how many of the holdouts with known values ours are."""
    most = min(HOLDOUTS, _most_holdouts(found))
    fewer = [f"{name} {one.holdouts}" for name, one in found.sets.items() if one.holdouts < most]
    return f"{most} of them ({', '.join(fewer)})" if fewer else f"{most} of them"


def _cell(found: Comparison, name: str, method: Method, measure: str) -> Cell:
    values = found.scores[name, method.key][:, RankScores._fields.index(measure)]
    if not len(values):
        return "refused *"
    star = "\xa0*" if found.troubles[name, method.key] else ""
    return f"{told(values.tolist())}{star}"


def gate_rows(found: Comparison) -> Iterator[tuple[str, int, float, float, bool]]:
    """Give set, rows to learn, error of SVORIM and of dSVOR, and whether the gate holds."""
    columns = [method.key for method in found.methods]
    if "svorim" not in columns or "dsvor" not in columns:
        return
    errors = found.means("error")[:, [columns.index("svorim"), columns.index("dsvor")]]
    for (name, facts), (central, ours) in zip(found.sets.items(), errors.tolist(), strict=True):
        if facts.learned >= LEAST_ROWS:
            yield name, facts.learned, central, ours, ours - central <= GATE


def _gate(found: Comparison) -> Table:
    rows: list[Row] = [
        [name, count, central, ours, apart(ours, central), "yes" if holds else "no"]
        for name, count, central, ours, holds in gate_rows(found)
    ]
    head = ["set", "rows to learn", "SVORIM", "dSVOR, 20 nodes", "difference"]
    head.append(f"at most {GATE} worse")
    caption = f"dSVOR beside SVORIM at equal hyperparameters, from {LEAST_ROWS} rows: mean errors"
    return Table("gate", caption, head, rows)


def _known(found: Comparison) -> Table:
    rows: list[Row] = []
    for name in found.sets:
        for method in found.methods:
            known = getattr(KNOWN[name], method.known) if method.known and name in KNOWN else None
            errors = found.scores[name, method.key][:HOLDOUTS, 0]
            if known is not None and len(errors):
                ours, noise = float(errors.mean()), errors.std() / np.sqrt(len(errors))
                rows.append(
                    [name, method.heading, known, ours, apart(ours, known), round(noise, 4)]
                )
    head = ["set", "model", "known", "ours", "difference", "standard error of ours"]
    notes = [
        f"Known values are over a set's first {HOLDOUTS} holdouts, ours over {_counted(found)}: at "
        "equal numbers, centralised models differ by their solvers only. Who has which row, the "
        "graph and the random features are drawn anew.",
        "Known values have D = 200 throughout; ours have D = max(200, 10 K), which matters on "
        "eucalyptus (K = 91) and tae (K = 54).",
    ]
    return Table("known", "Mean absolute errors known before, and ours", head, rows, notes)


def _troubles(found: Comparison) -> Table:
    headings = {method.key: method.heading for method in found.methods}
    rows: list[Row] = [
        [name, headings[key], what, times]
        for (name, key), told in found.troubles.items()
        for what, times in told.items()
    ]
    notes = [
        f"{', '.join(columns)} left out, since {package} is not installed; install it with: "
        "pip install 'anabranch[papers]'"
        for package, columns in found.left_out.items()
    ]
    head = ["set", "model", "what went wrong", "holdouts"]
    return Table(
        "troubles", "Models that did not converge, or refused a holdout", head, rows, notes
    )


def _sizes(found: Comparison) -> Table:
    head = ["set", "rows to learn", "to test", "fields K", "ranks Q", "holdouts", "features D"]
    rows: list[Row] = [
        [name, one.learned, one.tested, one.features, one.ranks, one.holdouts, one.dimension]
        for name, one in found.sets.items()
    ]
    return Table("sets", "The sets", head, rows)
