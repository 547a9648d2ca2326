"""How DOML converges: on graphs, with late and with lost messages."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anabranch.protocol import Array
from anabranch.reproduce.doml_data import LabelSplit
from anabranch.reproduce.doml_network import Net, projection
from anabranch.reproduce.doml_table import Row, Table

__all__ = [
    "BATCH", "GRAPHS", "delay_rows", "delay_table", "error", "graph_rows", "graph_table",
    "least_squares", "loss_rows", "loss_table",
]  # fmt: skip

GRAPHS = ("path", "ring", "star", "grid", "random", "complete")
BATCH: Mapping[str, Any] = {"scaling": "none", "bias": False, "predictor": "linear", "ridge": 1.0}
"""For z-scores and a bias that are there from the beginning; ridges of the nodes add up."""

_NODES = 10
_LOSSES = (0.0, 0.2, 0.5)
_RIDGES = {"scene": 3.0}
_GONE, _LOOK = 1e30, 25


def least_squares(split: LabelSplit, ridge: float) -> Array:
    """Give P (d, q), the least squares of all rows to learn at one place."""
    square = split.X.T @ split.X + ridge * np.eye(split.X.shape[1])
    solution: Array = np.linalg.solve(square, split.X.T @ split.y)
    return solution


def error(net: Net, best: Array) -> float:
    """Give the largest |P_i - P| / |P| over the nodes."""
    away = [np.linalg.norm(projection(node)[: len(best)] - best) for node in net.learners.values()]
    return float(max(away) / np.linalg.norm(best))


def _started(split: LabelSplit, graph: str, **settings: Any) -> tuple[Net, Array]:
    """Let ten nodes take in all their rows; give them and the P they should come to."""
    ridge = _RIDGES.get(split.name, 1.0)
    late = {key: settings.pop(key) for key in ("delay", "loss") if key in settings}
    net = Net(split, _NODES, graph, {**BATCH, "ridge": ridge, **settings}, **late)
    net.learn(0, net.longest)
    return net, least_squares(split, _NODES * ridge)


def _after(split: LabelSplit, graph: str, rounds: int, **settings: Any) -> float:
    net, best = _started(split, graph, **settings)
    net.exchange(rounds)
    return error(net, best)


def graph_rows(split: LabelSplit, graphs: Sequence[str] = GRAPHS, rounds: int = 1000) -> list[Row]:
    """Give the error after so many rounds, at w = 1 and where w follows the samples.

    Parameters
    ----------
    split : z-scores and a bias, shuffled
    """
    return [
        [split.name, graph, _after(split, graph, rounds, w=1.0), _after(split, graph, rounds)]
        for graph in graphs
    ]


def graph_table(rows: Sequence[Row], rounds: int) -> Table:
    """Put the rows of `graph_rows` together."""
    return Table(
        "graphs",
        f"Relative error against the least squares of all rows, ten nodes, {rounds:,} rounds",
        ("set", "graph", "w = 1", "w follows"),
        rows,
        (
            "The largest error of a node. Every node has its rows from the beginning; z-scores, "
            "a bias, ridges of 10 (emotions) and 30 (scene) in all.",
            "w = 1 is the paper's. Since X'X grows with the samples, so must w: it follows such "
            "that the mean eigenvalue of X'X/d_i is about 2, in powers of two.",
        ),
    )


def delay_rows(
    split: LabelSplit,
    graphs: Sequence[str] = GRAPHS,
    delays: Sequence[int] = (1, 10),
    rounds: int = 1000,
) -> list[Row]:
    """Give the error where every message comes so many rounds late, undamped and damped."""
    rows: list[Row] = []
    for graph in graphs:
        for delay in delays:
            gone, last = _undamped(split, graph, delay, rounds)
            damped = _after(split, graph, rounds, delay=delay)
            rows.append([split.name, graph, delay, last, gone, damped])
    return rows


def _undamped(split: LabelSplit, graph: str, delay: int, rounds: int) -> tuple[int | None, float]:
    """Give the round in which the error passes 1e30, None if it does not, and the last error."""
    net, best = _started(split, graph, delay=delay, w=1.0, damped=False)
    while net.round < rounds and error(net, best) < _GONE:
        net.exchange(min(_LOOK, rounds - net.round))
    last = error(net, best)
    return (net.round if last >= _GONE else None), last


def delay_table(rows: Sequence[Row], rounds: int) -> Table:
    """Put the rows of `delay_rows` together."""
    return Table(
        "delay",
        f"Relative error where every message is late, ten nodes, up to {rounds:,} rounds",
        ("set", "graph", "delay", "literal", "above 1e30 by round", "damped"),
        rows,
        (
            "The paper says that there are no strict requirements on how often nodes speak. "
            "That is wrong: its step, w = 1 and undamped, diverges on most graphs as soon as "
            "all messages are one round late.",
            "Damped: nodes find the delay from the echoes of their own messages, and make "
            "1 / (1 + delay) of each step.",
        ),
    )


def loss_rows(
    split: LabelSplit,
    graphs: Sequence[str] = ("ring", "random"),
    rounds: int = 1000,
) -> list[Row]:
    """Give the error where messages get lost, each with this probability."""
    return [
        [split.name, graph, *(_after(split, graph, rounds, loss=loss) for loss in _LOSSES)]
        for graph in graphs
    ]


def loss_table(rows: Sequence[Row], rounds: int) -> Table:
    """Put the rows of `loss_rows` together."""
    return Table(
        "loss",
        f"Relative error where messages get lost, ten nodes, {rounds:,} rounds",
        ("set", "graph", *(f"{loss:.0%} lost" for loss in _LOSSES)),
        rows,
        ("The last value heard of a neighbour is used again.",),
    )
