"""The DOML paper's algorithm and ML-kNN in plain numpy, to hold the project's own against."""

import numpy as np

from anabranch.protocol import Array
from anabranch.reproduce.doml_data import LabelSplit, dealt


def plain_doml(split: LabelSplit, nodes: int) -> list[Array]:
    """Give every node's P (d, q) after a row a round, all nodes hearing each other.

    Equations 9 to 12 as they are printed, a solve of 2d x 2d for P and beta together:
    beta+ - P+ = beta - S_P and (I + k X'X) P+ + beta+ = P + S_beta + k X'Y, with k = 1/d_i.
    """
    shares, d, q = dealt(split, nodes), split.X.shape[1], split.y.shape[1]
    P, beta = np.zeros((nodes, d, q)), np.zeros((nodes, d, q))
    k, one = 1.0 / (nodes - 1), np.eye(d)
    for at in range(1, 1 + max(len(X) for X, _ in shares)):
        S_P, S_beta = k * (P.sum(axis=0) - P), k * (beta.sum(axis=0) - beta)
        new = []
        for i, (X, y) in enumerate(shares):
            square, cross = X[:at].T @ X[:at], X[:at].T @ y[:at]
            left = np.block([[one + k * square, one], [-one, one]])
            right = np.vstack([P[i] + S_beta[i] + k * cross, beta[i] - S_P[i]])
            new.append(np.linalg.solve(left, right))
        P, beta = np.array(new)[:, :d], np.array(new)[:, d:]
    return list(P)


def plain_mlknn(X: Array, y: Array, held: Array, k: int = 10) -> Array:
    """Give ML-kNN's sets (m, q), row by row and label by label, as the method is told in prose."""
    n, q = y.shape
    votes = [_votes(X, y, row, k, leave=i) for i, row in enumerate(X)]
    told = np.zeros((len(held), q))
    for i, row in enumerate(held):
        here = _votes(X, y, row, k)
        for label in range(q):
            have = y[:, label] == 1
            same = np.array([vote[label] == here[label] for vote in votes])
            with_ = (1 + (same & have).sum()) / (k + 1 + have.sum())
            without = (1 + (same & ~have).sum()) / (k + 1 + (~have).sum())
            prior = (1 + have.sum()) / (2 + n)
            told[i, label] = prior * with_ > (1 - prior) * without
    return told


def _votes(X: Array, y: Array, row: Array, k: int, leave: int = -1) -> Array:
    distances = np.square(X - row).sum(axis=1)
    if leave >= 0:
        distances[leave] = np.inf
    near = np.argsort(distances, kind="stable")[: min(k, len(X) - (leave >= 0))]
    votes: Array = y[near].sum(axis=0)
    return votes
