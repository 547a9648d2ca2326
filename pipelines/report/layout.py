"""Where a network's nodes stand in its picture."""

from collections.abc import Mapping, Sequence

import numpy as np

from anabranch.protocol import Array, NodeId

__all__ = ["MOST_DRAWN", "layout"]

MOST_DRAWN = 2000
"""Networks with more nodes are not drawn: distances between all pairs are needed."""
_PIVOTS = 50


def layout(
    nodes: Sequence[NodeId],
    edges: Sequence[tuple[int, int]],
    before: Mapping[NodeId, tuple[float, float]] | None = None,
) -> Array:
    """Place nodes so that their distances in the picture are like those along edges.

    The same network always gets the same picture: scikit-learn's SMACOF from pivot coordinates,
    or from where the nodes stood before.

    Parameters
    ----------
    nodes : names, at most `MOST_DRAWN`
    edges : pairs of positions in `nodes`
    before : places of nodes that should not move far, if any

    Returns
    -------
    places : (n, 2), both columns within -1 and 1

    >>> layout(["a", "b", "c"], [(0, 1), (1, 2)]).round(1).shape
    (3, 2)
    """
    if len(nodes) < 2:
        return np.zeros((len(nodes), 2))
    from sklearn.manifold import smacof

    distances = _distances(len(nodes), edges)
    start = _pivoted(distances)
    if before:
        start = _kept(nodes, edges, before, distances)
    steps = 300 if len(nodes) <= 300 else 50
    found, _ = smacof(
        distances, init=start, n_init=1, max_iter=steps, normalized_stress=False, random_state=0
    )
    centred = found - (found.max(axis=0) + found.min(axis=0)) / 2
    return np.asarray(centred / max(float(np.abs(centred).max()), 1e-9))


def _distances(count: int, edges: Sequence[tuple[int, int]]) -> Array:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    graph = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(count, count))
    found = shortest_path(graph, method="D", directed=False, unweighted=True)
    reached = found[np.isfinite(found)]
    return np.asarray(np.where(np.isfinite(found), found, reached.max() + 1.0))


def _pivoted(distances: Array) -> Array:
    """Give the first two principal coordinates of the distances to some nodes."""
    count = len(distances)
    pivots = distances[:, :: max(1, count // _PIVOTS)] ** 2
    centred = pivots - pivots.mean(axis=0) - pivots.mean(axis=1)[:, None] + pivots.mean()
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    jitter = np.random.default_rng(0).normal(scale=0.1, size=(count, 2))
    places = np.zeros((count, 2))
    width = min(2, len(values))
    scale = np.sqrt(values[:width] / max(float(values[0]), 1e-9))
    places[:, :width] = left[:, :width] * scale * np.sqrt(count)
    return np.asarray(places * distances.mean() + jitter)


def _kept(
    nodes: Sequence[NodeId],
    edges: Sequence[tuple[int, int]],
    before: Mapping[NodeId, tuple[float, float]],
    distances: Array,
) -> Array:
    """Start from the places before; a new node from beside its neighbours."""
    near: dict[int, list[tuple[float, float]]] = {}
    for a, b in edges:
        for one, other in ((a, b), (b, a)):
            if nodes[other] in before:
                near.setdefault(one, []).append(before[nodes[other]])
    draw = np.random.default_rng(0).normal(scale=0.05, size=(len(nodes), 2))
    found = [
        before.get(name) or np.mean(near.get(i, [(0.0, 0.0)]), axis=0)
        for i, name in enumerate(nodes)
    ]
    return (np.array(found, dtype=np.float64) + draw) * float(distances.max()) / 2
