"""The ways in which a node of DOML tells labels, scored over a network."""

from collections.abc import Callable, Mapping

import numpy as np

from anabranch.learners.doml import DOML
from anabranch.learners.mlknn_batch import fit_mlknn
from anabranch.protocol import Array
from anabranch.reproduce.doml_data import LabelScores, LabelSplit, dealt, score, standardised
from anabranch.reproduce.doml_network import Net

__all__ = ["PREDICTORS", "Predictor", "each_node", "raw_knn"]

Predictor = Callable[[DOML, Array, Array, Array], Array]
"""(node, its X, its y, rows to test) -> predicted sets (m, q)."""


def _linear(node: DOML, X: Array, y: Array, held: Array) -> Array:
    return (held @ node.coefficients + node.intercepts > 0.5).astype(np.float64)


def _learned(node: DOML, X: Array, y: Array, held: Array) -> Array:
    return node.predict(held)


def _projected(node: DOML, X: Array, y: Array, held: Array) -> Array:
    P = node.coefficients
    return fit_mlknn(X @ P, y).predict(held @ P)


PREDICTORS: Mapping[str, Predictor] = {
    "linear .5": _linear,
    "global threshold": _learned,
    "ML-kNN projected": _projected,
}
"""The heads: P'x against .5, against a threshold learned from scores given before the truth was
known, and ML-kNN over the node's own samples in the space of P'x."""


def each_node(net: Net, predictor: Predictor) -> list[LabelScores]:
    """Score every node on the rows to test."""
    split = net.split
    return [
        score(split.truth, predictor(node, *net.shares[name], split.held))
        for name, node in net.learners.items()
    ]


def raw_knn(split: LabelSplit, nodes: int) -> list[LabelScores]:
    """Score ML-kNN at every node by itself, over z-scores by the rows of all nodes."""
    scaled = standardised(split, bias=False)
    return [
        score(scaled.truth, fit_mlknn(X, y).predict(scaled.held)) for X, y in dealt(scaled, nodes)
    ]
