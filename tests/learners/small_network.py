"""A plain loop over a graph, written for the tests alone."""

from collections.abc import Sequence

import numpy as np

from anabranch.protocol import Array, Learner

Weights = list[dict[str, float]]


def random_weights(nodes: int, degree: int, seed: int) -> Weights:
    """1/(1 + max(d_m, d_n)) on a ring with random chords."""
    rng = np.random.default_rng(seed)
    edges = {(m, (m + 1) % nodes) for m in range(nodes)}
    while len(edges) < nodes * degree // 2:
        m, n = rng.choice(nodes, 2, replace=False)
        if (m, n) not in edges and (n, m) not in edges:
            edges.add((int(m), int(n)))
    neighbours: list[set[int]] = [set() for _ in range(nodes)]
    for m, n in edges:
        neighbours[m].add(n)
        neighbours[n].add(m)
    return [
        {
            f"n{n:02d}": 1.0 / (1.0 + max(len(neighbours[m]), len(neighbours[n])))
            for n in sorted(neighbours[m])
        }
        for m in range(nodes)
    ]


def exchange(learners: Sequence[Learner], weights: Weights, t: int) -> None:
    """One round in which every message arrives."""
    sent = {f"n{m:02d}": learner.messages(t)[0] for m, learner in enumerate(learners)}
    for learner, row in zip(learners, weights, strict=True):
        learner.combine(t, {name: sent[name] for name in row}, row)


def mean_absolute_error(learners: Sequence[Learner], X: Array, y: Array) -> float:
    """Mean over the nodes, all predicting the same rows."""
    return float(np.mean([np.abs(learner.predict(X) - y).mean() for learner in learners]))
