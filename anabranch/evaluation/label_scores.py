"""Scores of sets of labels: of all of them together, and of each label."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from anabranch.errors import ConfigurationError
from anabranch.protocol import Array

__all__ = ["LabelScore", "multilabel_scores", "per_label"]


class LabelScore(NamedTuple):
    """How well one label was told; a quotient 0/0 is 0. `support` is how often it was true."""

    precision: float
    recall: float
    f1: float
    support: int


def _cells(totals: Mapping[str, Array]) -> Array:
    """Give (q, 3) counts of all labels, those met later in sorted order of their names."""
    later = sorted(name for name in totals if name.startswith("label:"))
    known = totals.get("labels", np.zeros((0, 3), dtype=np.int64))
    return np.concatenate([known, *(totals[name][None, :] for name in later)])


def _ratio(above: Array | float, below: Array | float) -> Array:
    """Divide; 0/0 is 0."""
    below = np.asarray(below, dtype=np.float64)
    return np.divide(above, below, out=np.zeros_like(below), where=below > 0.0)


def multilabel_scores(totals: Mapping[str, Array]) -> dict[str, float]:
    """Score the totals of a `MultilabelTally`, or of several added up.

    On a whole stream the values are scikit-learn's with `zero_division=0`: `hamming_loss`,
    `accuracy_score`, `f1_score` with average "micro", "macro" and "samples", and
    `jaccard_score` with "samples". They are also those of River's ExactMatch,
    MicroAverage(F1), MacroAverage(F1), SampleAverage(F1) and SampleAverage(Jaccard), if each
    truth names every label. River counts the labels that the truth names, so it sees neither
    a false alarm of another one, nor that a label without any sample lowers the macro average.

    Without any sample every value is 0.

    >>> counts = np.array([[2, 0, 0], [0, 1, 1]])
    >>> found = multilabel_scores({"samples": np.array([2.0, 0.0, 4 / 3, 1.0]), "labels": counts})
    >>> {name: round(value, 4) for name, value in found.items()}  # doctest: +NORMALIZE_WHITESPACE
    {'HammingLoss': 0.5, 'ExactMatch': 0.0, 'MicroF1': 0.6667, 'MacroF1': 0.5,
     'SampleF1': 0.6667, 'Jaccard': 0.5}
    """
    cells = _cells(totals)
    samples, exact, f1, jaccard = totals.get("samples", np.zeros(4)).tolist()
    right, wrong = cells[:, 0], cells[:, 1] + cells[:, 2]
    each = _ratio(2.0 * right, 2.0 * right + wrong)
    return {
        "HammingLoss": float(_ratio(float(wrong.sum()), samples * len(cells))),
        "ExactMatch": float(_ratio(exact, samples)),
        "MicroF1": float(_ratio(2.0 * right.sum(), 2.0 * right.sum() + wrong.sum())),
        "MacroF1": float(each.mean()) if len(each) else 0.0,
        "SampleF1": float(_ratio(f1, samples)),
        "Jaccard": float(_ratio(jaccard, samples)),
    }


def per_label(totals: Mapping[str, Array], names: Sequence[str] = ()) -> dict[str, LabelScore]:
    """Score each label.

    Parameters
    ----------
    totals : of a `MultilabelTally`, or of several added up
    names : of the labels known from the beginning, in order; those met later have their own

    Raises
    ------
    ConfigurationError
        There are not as many names as labels known from the beginning.

    Examples
    --------
    >>> per_label({"labels": np.array([[3, 1, 0]]), "label:new": np.array([0, 0, 2])}, ["old"])[
    ...     "old"
    ... ]
    LabelScore(precision=0.75, recall=1.0, f1=0.8571428571428571, support=3)
    """
    known = len(totals.get("labels", ()))
    if len(names) != known:
        raise ConfigurationError(f"names are {len(names)}; allowed: {known}, one for each label")
    later = sorted(name for name in totals if name.startswith("label:"))
    everything = [*names, *(name.removeprefix("label:") for name in later)]
    cells = _cells(totals)
    right, extra, missed = cells.T
    rates = [
        _ratio(right, right + extra),
        _ratio(right, right + missed),
        _ratio(2 * right, 2 * right + extra + missed),
    ]
    found = zip(*(rate.tolist() for rate in rates), (right + missed).tolist(), strict=True)
    return dict(zip(everything, (LabelScore(*row) for row in found), strict=True))
