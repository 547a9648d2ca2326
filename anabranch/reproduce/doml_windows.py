"""DOML over windows: how close nodes stay to the fit of their newest rows, and drift."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from anabranch.reproduce.doml_behaviour import BATCH, error, least_squares
from anabranch.reproduce.doml_data import LabelSplit, dealt
from anabranch.reproduce.doml_network import Net
from anabranch.reproduce.doml_predict import PREDICTORS, each_node
from anabranch.reproduce.doml_table import Row, Table

__all__ = ["drift_rows", "drift_table", "window_rows", "window_table"]

_NODES, _GRAPH = 4, "ring"
_WAYS = ((1.0, 1), (10.0, 1), (10.0, 5))
"""(edge weight, exchanges for each row)."""


def _streamed(split: LabelSplit, window: int, w: float, exchanges: int) -> Net:
    net = Net(split, _NODES, _GRAPH, {**BATCH, "w": w, "damped": False, "cache": window})
    net.stream(exchanges)
    return net


def _newest(split: LabelSplit, window: int) -> LabelSplit:
    """Give the rows that are in the nodes' windows at the end."""
    shares = [(X[-window:], y[-window:]) for X, y in dealt(split, _NODES)]
    return replace(
        split,
        X=np.concatenate([X for X, _ in shares]),
        y=np.concatenate([y for _, y in shares]),
    )


def window_rows(split: LabelSplit, windows: Sequence[int]) -> list[Row]:
    """Give the error at the end of the stream against the fit of all windows' rows.

    Parameters
    ----------
    split : z-scores and a bias, shuffled
    windows : newest rows that a node keeps; 0 for all
    """
    rows: list[Row] = []
    for window in windows:
        best = least_squares(_newest(split, window), _NODES * BATCH["ridge"])
        found = [error(_streamed(split, window, *way), best) for way in _WAYS]
        rows.append([_named(window), *found])
    return rows


def _named(window: int) -> str:
    return f"{window} rows" if window else "all rows"


def window_table(rows: Sequence[Row]) -> Table:
    """Put the rows of `window_rows` together."""
    return Table(
        "windows",
        "Relative error against the fit of the newest rows: yeast, a ring of four nodes",
        ("kept", "w = 1", "w = 10", "w = 10, five exchanges a row"),
        rows,
        (
            "At the end of the stream, a row a node a round. Small windows move faster than a "
            "ring agrees: more exchanges for each row help, a larger w alone does not.",
        ),
    )


def drift_rows(split: LabelSplit, windows: Sequence[int] = (100, 0)) -> list[Row]:
    """Score nodes whose labels change their meaning half-way, on rows of the new meaning."""
    shares = [y.copy() for _, y in dealt(split, _NODES)]
    for y in shares:
        y[len(y) // 2 :] = y[len(y) // 2 :, ::-1]
    drifted = replace(split, y=np.concatenate(shares), truth=split.truth[:, ::-1])
    rows: list[Row] = []
    for window in windows:
        net = _streamed(drifted, window, 10.0, 1)
        found = np.array(each_node(net, PREDICTORS["linear .5"])).mean(axis=0)
        rows.append([_named(window), *(float(value) for value in found)])
    return rows


def drift_table(rows: Sequence[Row]) -> Table:
    """Put the rows of `drift_rows` together."""
    return Table(
        "drift",
        "Labels that change half-way: yeast, a ring of four nodes, w = 10",
        ("kept", "Hamming loss", "macro F1", "micro F1"),
        rows,
        (
            "From half of the stream on the labels stand in reverse order, as in the rows to "
            "test. P'x against .5.",
        ),
    )
