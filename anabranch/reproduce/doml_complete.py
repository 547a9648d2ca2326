"""Many nodes of DOML that all hear each other, without a message for every pair of them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from anabranch.learners.doml import DOML
from anabranch.learners.doml_mailbox import Totals
from anabranch.learners.doml_solver import Solver
from anabranch.protocol import Array
from anabranch.reproduce.doml_data import LabelSplit, dealt
from anabranch.reproduce.doml_network import LITERAL, keeping_all

__all__ = ["complete_projections"]


def complete_projections(
    split: LabelSplit, nodes: int, options: Mapping[str, Any] = LITERAL
) -> list[Array]:
    """Give every node's P (d, q) after a row a round, where w is 1 and nothing is scaled.

    The steps are those of `Net` on a complete graph, up to the rounding of sums: what a node
    hears is the sum over all nodes less its own, so a round of N nodes adds N pairs (P, beta),
    not N^2.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> split = LabelSplit("set", X, X > 0.0, X, X > 0.0)
    >>> [P.shape for P in complete_projections(split, nodes=2)]
    [(2, 2), (2, 2)]
    """
    shares, labels = dealt(split, nodes), split.y.shape[1]
    longest, width = max(len(X) for X, _ in shares), split.X.shape[1]
    settings = DOML(width, labels=labels, **keeping_all(longest, width), **options).settings
    solvers = [Solver(settings, labels) for _ in shares]
    for at in range(longest):
        for solver, (X, y) in zip(solvers, shares, strict=True):
            solver.add(X[at : at + 1], y[at : at + 1])
        pairs = [np.stack((solver.P, solver.beta)) for solver in solvers]
        total = sum(pairs, np.zeros_like(pairs[0]))
        for solver, pair in zip(solvers, pairs, strict=True):
            solver.step(Totals(nodes - 1.0, total - pair), 1.0)
    return [solver.P for solver in solvers]
