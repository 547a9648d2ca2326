"""The paper's rows of 100 nodes: what a k-NN search does that runs out of samples."""

import numpy as np

from anabranch.protocol import Array

__all__ = ["repicking"]


def repicking(X: Array, y: Array, held: Array, neighbours: int = 10) -> Array:
    """Predict by ML-kNN whose search gives sample 0 again and again where fewer than k exist.

    A search that takes the least distance k times, and marks what it took as infinitely far,
    finds the first of all infinite distances once everything is taken: sample 0. So tiny shards
    count the labels of sample 0 many times over. `anabranch.learners.mlknn_batch` never pads.

    Parameters
    ----------
    X, y : (n, d) and (n, q), the samples; n at least 1
    held : (m, d) rows to predict

    Returns
    -------
    (m, q) of 0 and 1

    Examples
    --------
    >>> X, y = np.arange(4.0)[:, None], np.array([[1], [0], [0], [0]])
    >>> repicking(X, y, np.array([[3.0]])).tolist()  # one of four has the label
    [[1.0]]
    """
    k, (n, q) = neighbours, y.shape
    own = _hits(_distances(X, X) + np.diag(np.full(n, np.inf)), y, k)
    counts = np.zeros((2, q, k + 1))
    for row, hits in zip(y.astype(int), own, strict=True):
        counts[row, np.arange(q), hits] += 1.0
    likely = (1.0 + counts) / (k + 1.0 + counts.sum(axis=2, keepdims=True))
    prior = (1.0 + y.sum(axis=0)) / (2.0 + n)
    hits = _hits(_distances(held, X), y, k)
    with_, without = (likely[i][np.arange(q), hits] for i in (1, 0))
    told: Array = (prior * with_ > (1.0 - prior) * without).astype(np.float64)
    return told


def _distances(A: Array, B: Array) -> Array:
    return np.array([((B - row) ** 2).sum(axis=1) for row in A])


def _hits(distances: Array, y: Array, k: int) -> Array:
    """Count the labels (m, q) of what k searches find."""
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    order[np.take_along_axis(distances, order, axis=1) == np.inf] = 0
    found: Array = y[order].sum(axis=1).astype(int)
    found += max(0, k - order.shape[1]) * y[0].astype(int)
    return found
