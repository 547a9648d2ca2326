"""DOML on whole sets, prequentially, beside River's binary relevance and classifier chain."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from anabranch.baselines import BASELINES
from anabranch.evaluation import scores, tally_for
from anabranch.learners import DOML
from anabranch.network import combination_weights, node_names
from anabranch.network.builders import build_graph
from anabranch.protocol import Array
from anabranch.simulate import simulate
from benchmarks.table import Row
from connectors.arff import read_arff

__all__ = ["score_rows"]

SETS: Mapping[str, tuple[str, ...]] = {
    "cal500": ("cal500",),
    "emotions": ("emotions",),
    "scene": ("scene-train", "scene-test"),
    "yeast": ("yeast",),
    "enron": ("enron",),
    "medical": ("medical",),
    "Corel5k": ("Corel5k-sparse",),
}
PEERS = {
    "River binary relevance": "river-binary-relevance",
    "River classifier chain": "river-classifier-chain",
}
METRICS = {"MicroF1": "micro F1", "HammingLoss": "Hamming loss"}
PLANS = ((1, 1), (3, 1), (3, 10))
"""Nodes x rows a node a round."""
SECONDS = 20.0
"""Of each peer's time on a set; on large ones it gets through the first rows only."""


class Run(NamedTuple):
    """Rows a second of this thread's time, and what was predicted for the first of them."""

    rate: float
    predicted: Array


def score_rows(data: Path, quick: bool) -> Iterator[Row]:
    """Give the figures of all sets; rows are shuffled by seed 0."""
    for name, files in list(SETS.items())[:2] if quick else SETS.items():
        X, y = _read(data, name, files)
        if quick:
            X, y = X[:100], y[:100]
        peers = {peer: _peer(kind, X, y, 1.0 if quick else SECONDS) for peer, kind in PEERS.items()}
        for nodes, batch in PLANS:
            ours = _doml(X, y, nodes, batch)
            who = f"{nodes} x {batch}"
            for peer, run in peers.items():
                yield from _beside(name, who, ours, peer, run, y)


def _read(data: Path, name: str, files: tuple[str, ...]) -> tuple[Array, Array]:
    tables = [read_arff(data / f"{file}.arff.gz", data / f"{name}.xml.gz") for file in files]
    X, y = (np.concatenate([table[i] for table in tables]) for i in (0, 1))
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], y[order]


def _doml(X: Array, y: Array, nodes: int, batch: int) -> Run:
    """Deal the rows to nodes in turn, `batch` to each a round; all are neighbours."""
    names = node_names(nodes)
    learners = {node: DOML(X.shape[1], labels=y.shape[1]) for node in names}
    weights = combination_weights(build_graph("complete", names))
    parts = [slice(start, start + batch) for start in range(0, len(X), batch)]
    ticks = [
        {node: (X[part], y[part]) for node, part in zip(names, parts[i : i + nodes], strict=False)}
        for i in range(0, len(parts), nodes)
    ]
    begin = time.thread_time()
    result = simulate(learners, weights, ticks)
    seconds = time.thread_time() - begin
    blocks = {node: iter(found) for node, found in result.predicted.items()}
    found = np.concatenate([next(blocks[names[i % nodes]]) for i in range(len(parts))])
    return Run(len(X) / seconds, found)


def _peer(kind: str, X: Array, y: Array, most: float) -> Run:
    """Predict row by row, then learn, until the time is over."""
    model = BASELINES[kind](X.shape[1], labels=y.shape[1])  # type: ignore[call-arg]
    found: list[Array] = []
    begin = time.thread_time()
    while len(found) < len(X) and time.thread_time() - begin < most:
        row = slice(len(found), len(found) + 1)
        found.append(model.predict_then_learn(X[row], y[row]))
    return Run(len(found) / (time.thread_time() - begin), np.concatenate(found))


def _beside(name: str, who: str, ours: Run, peer: str, run: Run, y: Array) -> Iterator[Row]:
    n, section = len(run.predicted), f"scores: {name}, nodes x rows a round"
    yield Row(section, who, ours.rate, "samples/s", peer, run.rate)
    one, other = (_scores(y[:n], each.predicted[:n]) for each in (ours, run))
    for metric, words in METRICS.items():
        figure = f"{who}, {words} of {n:,} rows"
        yield Row(section, figure, 100 * one[metric], "%", peer, 100 * other[metric])


def _scores(y: Array, predicted: Array) -> dict[str, float]:
    tally = tally_for("multilabel", labels=y.shape[1])
    tally.add(y, predicted)
    return scores("multilabel", tally.totals())
