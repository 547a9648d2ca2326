"""The L2-NPSVOR paper's experiments as tables, beside what is expected of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from anabranch.protocol import Array
from anabranch.reproduce.doml_table import Cell, Row, Table
from anabranch.reproduce.npsvor import Reproduction
from anabranch.reproduce.npsvor_methods import COMPARED, METHODS
from anabranch.reproduce.npsvor_paper import SHAPES, TABLE_2
from anabranch.reproduce.npsvor_traces import LEVELS, SOLVERS, reached
from anabranch.reproduce.ordinal import mean_ranks

__all__ = ["CHANCE", "NEAR", "deviations", "differences", "good_span", "noise", "tables"]

NEAR = 0.01
"""Difference of mean absolute errors up to which a value counts as reproduced."""

CHANCE = 2
"""Standard deviations up to which a difference may be chance."""

_GOOD = 0.02
"""Relative to the least error: what is as good."""


def tables(found: Reproduction) -> list[Table]:
    """Put everything into tables: errors, ranks, agreement, times, solvers, C, sizes."""
    return [
        _errors(found), _ranks(found), _agreement(found), _times(found), _solvers(found),
        _chosen(found), _spans(found), _sizes(found),
    ]  # fmt: skip


def differences(found: Reproduction) -> Array:
    """Give the mean absolute errors less those expected (sets, methods); NaN: none is known."""
    return found.values("absolute") - _expected(found.sets)


def noise(found: Reproduction, name: str) -> Array | None:
    """Give the standard error of one split's mean absolute error (methods,); None: a given split.

    It is sqrt((squared - absolute^2) / rows to test), from the mean errors over splits.
    """
    facts, at = found.sets[name], list(found.sets).index(name)
    if facts.share is None:
        return None
    absolute, squared = found.values("absolute")[at], found.values("squared")[at]
    count = facts.rows - int(facts.share * facts.rows)
    error: Array = np.sqrt((squared - absolute**2) / count)
    return error


def deviations(found: Reproduction, name: str) -> Array | None:
    """Give the differences in standard deviations of chance (methods,); None: a given split.

    The expected value is of one split, ours the mean of some: noise sqrt(1 + 1/splits).
    """
    chance = noise(found, name)
    if chance is None:
        return None
    apart = differences(found)[list(found.sets).index(name)]
    counted: Array = apart / (chance * np.sqrt(1.0 + 1.0 / found.sets[name].splits))
    return counted


def _expected(names: Mapping[str, Any], squared: bool = False) -> Array:
    known = [
        [TABLE_2[name][m][squared] if name in TABLE_2 else np.nan for m in METHODS]
        for name in names
    ]
    return np.array(known, dtype=np.float64).reshape(len(names), len(METHODS))


def _errors(found: Reproduction) -> Table:
    rows = [row for name in found.sets for row in _error_rows(found, name)]
    return Table(
        "errors",
        "Table 2: mean absolute and mean squared error of ranks over the rows to test",
        ("set", "", *METHODS),
        rows,
        (
            "Expected: found before on these sets by another program, with one split each, which "
            "is known for treebank only. Ours are means over splits.",
            "Noise: the standard error of one split's mean absolute error, from the number of its "
            "rows to test. By so much may an expected value be off by chance. In deviations: the "
            "difference divided by noise sqrt(1 + 1/splits); chance alone leaves 95 of 100 values "
            "within 2. Spread: the standard deviation over our splits, where there are some.",
        ),
    )


def _error_rows(found: Reproduction, name: str) -> Iterator[Row]:
    runs = [found.runs[name, method] for method in METHODS]
    means = [np.mean([[r["absolute"], r["squared"]] for r in one], axis=0) for one in runs]
    yield [name, "ours", *(_pair(*mean) for mean in means)]
    if name in TABLE_2:
        yield [name, "expected", *(_pair(*TABLE_2[name][method]) for method in METHODS)]
        apart = [m[0] - TABLE_2[name][k].absolute for m, k in zip(means, METHODS, strict=True)]
        yield [name, "difference", *(f"{value:+.3f}" for value in apart)]
    if len(runs[0]) > 1:
        spread = [np.std([r["absolute"] for r in one], ddof=1) for one in runs]
        yield [name, "spread", *(f"{value:.3f}" for value in spread)]
    chance, counted = noise(found, name), deviations(found, name)
    if chance is not None and counted is not None:
        yield [name, "noise", *(f"{value:.3f}" for value in chance)]
        if name in TABLE_2:
            yield [name, "in deviations", *(f"{value:+.1f}" for value in counted)]


def _pair(absolute: float, squared: float) -> str:
    return f"{absolute:.3f} / {squared:.3f}"


def _ranks(found: Reproduction) -> Table:
    rows: list[Row] = []
    for key, squared in (("absolute", False), ("squared", True)):
        for who, errors in (
            ("ours", found.values(key)),
            ("expected", _expected(found.sets, squared)),
        ):
            places = mean_ranks(errors).tolist()
            rows.append([f"by mean {key} error", who, *(_place(place) for place in places)])
    seconds = mean_ranks(found.values("seconds")).tolist()
    rows.append(["by time to fit", "ours", *(_place(place) for place in seconds)])
    caption = "Mean ranks over the sets; 1 is best"
    return Table("ranks", caption, ("", "who", *METHODS), rows)


def _place(value: float) -> Cell:
    return None if np.isnan(value) else f"{value:.2f}"


def _agreement(found: Reproduction) -> Table:
    rows: list[Row] = []
    names = list(METHODS)
    for name, apart in zip(found.sets, np.abs(differences(found)), strict=True):
        if np.isnan(apart).any():
            continue
        most, near = int(np.argmax(apart)), int((np.round(apart, 3) <= NEAR).sum())
        counted = deviations(found, name)
        within = None
        if counted is not None:
            within = f"{int((np.abs(counted) <= CHANCE).sum())} of {len(names)}"
        rows.append([name, f"{near} of {len(names)}", within, f"{apart[most]:.3f}", names[most]])
    head = ("set", f"within {NEAR}", f"within {CHANCE} deviations", "largest difference", "of")
    return Table("agreement", "How near the mean absolute errors are to those expected", head, rows)


def _times(found: Reproduction) -> Table:
    rows: list[Row] = [
        [name, *(f"{value:.3f}" for value in seconds)]
        for name, seconds in zip(found.sets, found.values("seconds").tolist(), strict=True)
    ]
    caption = "Processor seconds to fit at the chosen C, one thread, means over splits"
    notes = (
        "Solvers stop where their projected gradients are at .1, TRON where its gradient is .001 "
        "of the one at 0, and its gap .001 of the objective.",
    )
    return Table("times", caption, ("set", *METHODS), rows, notes)


def _solvers(found: Reproduction) -> Table:
    rows: list[Row] = []
    for name, trace in found.traces.items():
        for solver in SOLVERS:
            points = trace["solvers"][solver]
            rows.append([name, solver, *(_seconds(reached(points, level)) for level in LEVELS)])
    head = ("set", "solver", *(f"{level:g}" for level in LEVELS))
    caption = (
        "Processor seconds until the planes' objectives together are this near to the optimum, "
        "relative to it; C = 1"
    )
    notes = (
        "TRON, DCD-M and DCD-Mm solve one plane after the other in float64: until the last "
        "plane's turn the sum stays high. Warm start: each plane begins where the one before "
        "ended. DCD-M and DCD-Mm leave out rows at a bound, and differ in how they bound and "
        "stop. The last is the default here: all planes in one pass of the rows, in float32.",
    )
    return Table("solvers", caption, head, rows, notes)


def _seconds(value: float | None) -> Cell:
    return None if value is None else f"{value:.3f}"


def _chosen(found: Reproduction) -> Table:
    rows: list[Row] = [
        [name, *(_span([run["C"] for run in found.runs[name, method]]) for method in METHODS)]
        for name in found.sets
    ]
    caption = "C chosen by cross-validation; where splits differ, from the least to the largest"
    return Table("chosen", caption, ("set", *METHODS), rows)


def _span(values: Sequence[float]) -> str:
    """Write the least and the largest of some values.

    >>> _span([2.0, 0.25, 1.0]), _span([4.0])
    ('0.25 to 2', '4')
    """
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def good_span(grid: Sequence[float], errors: Sequence[float]) -> list[float]:
    """Give the C around the best one, without a gap, whose errors are within 2 % of the least.

    >>> good_span([0.5, 1.0, 2.0, 4.0], [0.6, 0.501, 0.5, 0.55])
    [1.0, 2.0]
    """
    good = np.asarray(errors) <= (1.0 + _GOOD) * min(errors)
    low = high = int(np.argmin(errors))
    while low and good[low - 1]:
        low -= 1
    while high + 1 < len(good) and good[high + 1]:
        high += 1
    return list(grid[low : high + 1])


def _spans(found: Reproduction) -> Table:
    rows: list[Row] = []
    for name, facts in found.sets.items():
        for method in COMPARED:
            run = found.runs[name, method][0]
            folds, held = run["folds"], run["held"]
            good = _span(good_span(facts.grid, held))
            last = held[-1] / min(held) - 1.0
            rows.append([name, method, min(folds), min(held), good, f"{last:+.1%}"])
    head = (
        "set", "method", "least error in folds", "least to test", "C within 2 % of that",
        "error at the largest C",
    )  # fmt: skip
    caption = "Mean absolute error against C, first split"
    notes = ("The last column is relative to the least error.",)
    return Table("spans", caption, head, rows, notes)


def _sizes(found: Reproduction) -> Table:
    rows: list[Row] = []
    for name, facts in found.sets.items():
        known = SHAPES.get(name)
        features, nonzeros = known[1:] if known else (None, None)
        learned = "as given" if facts.share is None else f"{facts.share:.0%}"
        rows.append(
            [
                name, facts.rows, facts.ranks, facts.features, features, facts.nonzeros, nonzeros,
                learned, facts.splits, len(facts.grid),
            ]
        )  # fmt: skip
    head = (
        "set", "rows", "ranks", "features", "expected", "nonzeros", "expected",
        "to learn", "splits", "values of C",
    )  # fmt: skip
    notes = (
        "Which words the expected numbers count is not known to the last: ours are those of "
        "letters, digits and inner apostrophes. Treebank is the authors' own.",
    )
    return Table("sets", "The sets after the preparation of text", head, rows, notes)
