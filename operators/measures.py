"""Numbers that learners tell of themselves, and what they come to over all nodes."""

from collections.abc import Iterable, Mapping
from math import isfinite

from anabranch.protocol import Learner, Measured

__all__ = ["Measures", "measures_of", "summed_up"]

Measures = Mapping[str, float]
"""Name of a measure -> its value at one node."""


def measures_of(learner: Learner) -> Measures | None:
    """Give what a learner tells of itself, as far as it is finite; None where it tells nothing."""
    if not isinstance(learner, Measured):
        return None
    told = {name: float(value) for name, value in learner.measures().items()}
    return {name: value for name, value in told.items() if isfinite(value)} or None


def summed_up(nodes: Iterable[Measures | None]) -> dict[str, dict[str, float]] | None:
    """Give the largest and the mean value of each measure, over the nodes that tell it.

    >>> summed_up([{"primal": 1.0}, {"primal": 3.0, "gap": 0.5}, None])
    {'gap': {'max': 0.5, 'mean': 0.5}, 'primal': {'max': 3.0, 'mean': 2.0}}
    >>> summed_up([None]) is None
    True
    """
    told: dict[str, list[float]] = {}
    for measures in nodes:
        for name, value in (measures or {}).items():
            told.setdefault(name, []).append(value)
    found = {n: {"max": max(v), "mean": sum(v) / len(v)} for n, v in sorted(told.items())}
    return found or None
