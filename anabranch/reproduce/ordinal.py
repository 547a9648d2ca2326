"""Ordinal models compared over sets and their given holdouts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from scipy.stats import rankdata

from anabranch.features.maps import feature_count
from anabranch.protocol import Array
from anabranch.reproduce.dsvor_parts import Memory, Parts, part
from anabranch.reproduce.ordinal_data import OrdinalSplit, RankScores, score
from anabranch.reproduce.ordinal_methods import METHODS, Method, missing
from anabranch.reproduce.ordinal_network import NODES, ROUNDS
from anabranch.reproduce.ordinal_peers import PeerError

__all__ = ["Comparison", "Holdouts", "SetFacts", "mean_ranks", "reproduce"]

_VERSION = 1
"""Raised when what a piece holds, or how it is made, changes."""

Holdouts = Callable[[], Sequence[OrdinalSplit]]
"""Gives a set's holdouts; called when they are needed."""


@dataclass(frozen=True, slots=True)
class SetFacts:
    """Size of a set: rows to learn and to test, fields K, ranks Q, holdouts, and dSVOR's D."""

    learned: int
    tested: int
    features: int
    ranks: int
    holdouts: int
    dimension: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came out.

    Attributes
    ----------
    methods : the columns
    sets : name -> size
    scores : (set, key of the method) -> (holdouts, 4) in the order of `RankScores`, without
        the holdouts that the method refused
    troubles : (set, key) -> what went wrong, and on how many holdouts
    left_out : package that is not installed -> the columns that need it
    """

    methods: Sequence[Method]
    sets: Mapping[str, SetFacts]
    scores: Mapping[tuple[str, str], Array]
    troubles: Mapping[tuple[str, str], Mapping[str, int]]
    left_out: Mapping[str, Sequence[str]]

    def means(self, measure: str) -> Array:
        """Give the means over holdouts (sets, methods) of a field of `RankScores`, NaN if none."""
        at = RankScores._fields.index(measure)
        rows = [[self.scores[name, one.key] for one in self.methods] for name in self.sets]
        return np.array(
            [[f[:, at].mean() if len(f) else np.nan for f in found] for found in rows]
        ).reshape(len(self.sets), len(self.methods))


def mean_ranks(errors: Array) -> Array:
    """Give the mean over sets of each method's place among all, 1 the least error; ties share.

    Parameters
    ----------
    errors : (sets, methods); a set in which one is NaN does not count

    Returns
    -------
    (methods,), NaN where no set counts

    Examples
    --------
    >>> mean_ranks(np.array([[0.1, 0.2, 0.3], [0.5, 0.5, 0.1], [np.nan, 0.0, 0.0]])).tolist()
    [1.75, 2.25, 2.0]
    """
    complete = errors[~np.isnan(errors).any(axis=1)]
    if not len(complete):
        return np.full(errors.shape[1], np.nan)
    places: Array = rankdata(complete, axis=1).mean(axis=0)
    return places


def reproduce(
    sets: Mapping[str, Holdouts],
    *,
    methods: Sequence[Method] = METHODS,
    parts: Parts | None = None,
    tell: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> Comparison:
    """Fit every method that is installed to every holdout.

    Parameters
    ----------
    sets : name -> its holdouts
    parts : where finished pieces, one a set and method, are kept
    tell : called before each piece with what it is, its number from 0, and of how many
    """
    kept, left_out = parts or Memory(), missing()
    used = [one for one in methods if one.package not in left_out]
    facts, scores, troubles = dict[str, SetFacts](), {}, {}
    work = list(product(sets, used))
    splits: Sequence[OrdinalSplit] = ()
    for done, (name, method) in enumerate(work):
        if name not in facts:
            splits = sets[name]()
            facts[name] = _facts(splits)
        tell(f"{name}, {method.heading}", done, len(work))
        some = splits[: method.most]
        settings = {"version": _VERSION, "holdouts": len(some), "nodes": NODES, "rounds": ROUNDS}
        found = part(kept, f"{name}.{method.key}", settings, partial(_fit, method, some))
        scores[name, method.key] = np.array(found["scores"], dtype=float).reshape(-1, 4)
        troubles[name, method.key] = found["troubles"]
    return Comparison(used, facts, scores, troubles, left_out)


def _facts(splits: Sequence[OrdinalSplit]) -> SetFacts:
    first = splits[0]
    learned, features = first.X.shape
    dimension = feature_count("gaussian", features, None)
    return SetFacts(learned, len(first.held), features, first.ranks, len(splits), dimension)


def _fit(method: Method, splits: Sequence[OrdinalSplit]) -> dict[str, Any]:
    """Give scores by holdout, those of nodes as means, and what went wrong how often."""
    scores, troubles = [], dict[str, int]()
    for number, split in enumerate(splits):
        try:
            predicted, trouble = method.run(split, number)
        except PeerError as error:
            predicted, trouble = [], f"refused: {error}"
        if trouble:
            troubles[trouble] = troubles.get(trouble, 0) + 1
        if predicted:
            found = [score(split.truth, one, split.ranks) for one in predicted]
            scores.append(np.mean(found, axis=0).tolist())
    return {"scores": scores, "troubles": troubles}
