"""What DOML's messages weigh in each form, and the accuracy that it costs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anabranch.reproduce.doml_data import LabelSplit
from anabranch.reproduce.doml_network import Net, projection
from anabranch.reproduce.doml_predict import PREDICTORS, each_node
from anabranch.reproduce.doml_table import Row, Table

__all__ = ["FORMS", "byte_rows", "byte_table"]

FORMS: Mapping[str, Mapping[str, Any]] = {
    "dense": {},
    "half": {"wire": "half"},
    "changed": {"wire": "changed"},
    "changed, coarse": {"wire": "changed", "tolerance": 0.05},
    "low-rank, 1": {"wire": "low-rank", "rank": 1},
    "low-rank, 4": {"wire": "low-rank", "rank": 4},
}


def byte_rows(split: LabelSplit, nodes: int = 3) -> list[Row]:
    """Score each form of message on the same stream of rows.

    Returns
    -------
    rows of bytes a node sends a neighbour in a round, share of the dense form's, distance of
    the final P from that form's, Hamming loss and micro F1 at .5, micro F1 of the threshold
    """
    nets = {name: _streamed(split, nodes, options) for name, options in FORMS.items()}
    dense = nets["dense"]
    return [
        [
            split.name, name, _weight(net), net.bytes / dense.bytes, _apart(net, dense),
            *_found(net),
        ]
        for name, net in nets.items()
    ]  # fmt: skip


def _streamed(split: LabelSplit, nodes: int, options: Mapping[str, Any]) -> Net:
    net = Net(split.shuffled(0), nodes, options=options)
    net.stream()
    return net


def _weight(net: Net) -> float:
    return net.bytes / max(1, net.messages)


def _apart(net: Net, dense: Net) -> float:
    """Give the largest |P - P'| / |P'| over the nodes."""
    pairs = zip(net.learners.values(), dense.learners.values(), strict=True)
    both = [(projection(one), projection(other)) for one, other in pairs]
    return max(float(np.linalg.norm(P - Q) / np.linalg.norm(Q)) for P, Q in both)


def _found(net: Net) -> list[float]:
    half = np.array(each_node(net, PREDICTORS["linear .5"])).mean(axis=0)
    learned = np.array(each_node(net, PREDICTORS["global threshold"])).mean(axis=0)
    return [float(half[0]), float(half[2]), float(learned[2])]


def byte_table(rows: Sequence[Row]) -> Table:
    """Put the rows of `byte_rows` together."""
    return Table(
        "bytes",
        "Message volume: three nodes that all hear each other, own settings",
        (
            "set", "form", "bytes a message", "of dense", "|P - dense P| / |P|",
            "Hamming loss at .5", "micro F1 at .5", "micro F1, threshold",
        ),
        rows,
        (
            "P and the multiplier beta are d x q each. Half tells changes as float16, changed "
            "only rows that moved, low-rank the largest parts of the change; all three are "
            "whole from time to time, and for whoever missed some.",
            "While samples come all rows move: 'changed' saves where it is coarse (a row "
            "moves by more than 5 % of a mean row), or where the stream rests.",
        ),
    )  # fmt: skip
