"""What DOML reaches with sound settings, by each way of telling labels."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anabranch.protocol import Array
from anabranch.reproduce.doml_data import LabelSplit, standardised
from anabranch.reproduce.doml_network import LITERAL, RECOMMENDED, Net
from anabranch.reproduce.doml_predict import PREDICTORS, each_node, raw_knn
from anabranch.reproduce.doml_table import Row, Table

__all__ = ["FIXED", "practical_rows", "practical_table", "sorted_rows", "sorted_table"]

FIXED: Mapping[str, Any] = {"ridge": 10.0, "scaling": "none", "bias": False}
"""Settings for z-scores and a bias that are there from the beginning; the nodes' ridges add up."""

_RAW = "ML-kNN raw"
_SCORES = ("Hamming loss", "macro F1", "micro F1")


def practical_rows(split: LabelSplit, shuffles: int = 3, nodes: int = 3) -> list[Row]:
    """Score each predictor, as means over nodes and random orders of the rows to learn.

    First with z-scores by all rows to learn, a bias, and a ridge of 10 at every node; then by
    this project's settings alone, whose z-scores are those of the first samples.
    """
    fixed, own = [], []
    for seed in range(shuffles):
        shuffled = split.shuffled(seed)
        raw = raw_knn(shuffled, nodes)
        fixed.append([*_heads(standardised(shuffled), nodes, FIXED), raw])
        own.append([*_heads(shuffled, nodes, RECOMMENDED), raw])
    first, second = np.array(fixed), np.array(own)
    deviation = second[..., 2].std(axis=(0, 2))
    return [
        [split.name, name, *_means(first, i), *_means(second, i), float(deviation[i])]
        for i, name in enumerate((*PREDICTORS, _RAW))
    ]


def _heads(split: LabelSplit, nodes: int, options: Mapping[str, Any]) -> list[Any]:
    net = Net(split, nodes, options=options)
    net.stream()
    return [each_node(net, predictor) for predictor in PREDICTORS.values()]


def _means(found: Array, which: int) -> list[float]:
    """Give the means of (shuffles, predictors, nodes, 3) for one predictor."""
    return [float(value) for value in found[:, which].mean(axis=(0, 1))]


def practical_table(rows: Sequence[Row]) -> Table:
    """Put the rows of `practical_rows` together."""
    first = [f"ridge 10: {name}" for name in _SCORES]
    own = [f"own settings: {name}" for name in _SCORES]
    return Table(
        "practical",
        "What to reach in practice: three nodes that all hear each other, rows shuffled",
        ("set", "predictor", *first, *own, "\N{PLUS-MINUS SIGN} micro F1"),
        rows,
        (
            "Means over nodes and random orders, on the standard test rows; the last column is "
            "the standard deviation over both.",
            "'ridge 10' has z-scores by all rows to learn, a bias, and a ridge of 10 at every "
            "node; 'own settings' gives no option at all: z-scores by the first samples of all "
            "nodes, a ridge that follows them.",
            "The global threshold is the default: it gives the best micro F1, at the price of "
            "a Hamming loss above that of .5.",
        ),
    )


def sorted_rows(split: LabelSplit, nodes: int = 3) -> list[Row]:
    """Score nodes that each have classes of their own: a set sorted by class, in its order."""
    rows: list[Row] = []
    for setting, options in (("literal", LITERAL), ("recommended", RECOMMENDED)):
        net = Net(split, nodes, options=options)
        net.stream()
        for name, predictor in PREDICTORS.items():
            if not (setting == "literal" and name == "global threshold"):
                rows.append(_sorted_row(setting, name, np.array(each_node(net, predictor))))
    return [*rows, _sorted_row("no exchange", _RAW, np.array(raw_knn(split, nodes)))]


def _sorted_row(setting: str, predictor: str, found: Array) -> Row:
    worst = [float(found[:, 0].max()), float(found[:, 2].min())]
    return [setting, predictor, *(float(value) for value in found.mean(axis=0)), *worst]


def sorted_table(rows: Sequence[Row]) -> Table:
    """Put the rows of `sorted_rows` together."""
    return Table(
        "class-sorted scene",
        "Scene, sorted by class: each of three nodes sees two of the six classes",
        ("settings", "predictor", *_SCORES, "worst Hamming loss", "worst micro F1"),
        rows,
        (
            "Only P'x carries what other nodes know: ML-kNN looks at the node's own samples, "
            "which lack most classes.",
        ),
    )
