"""Real ordinal sets: twenty nodes come near the centralised kernel machine."""

from pathlib import Path

import numpy as np
import pytest

from anabranch.learners.batch_network import BatchNetwork
from anabranch.network import build_graph, combination_weights, node_names
from anabranch.protocol import Array
from anabranch.sklearn_face.svorim import SVORIM

NODES = 20


def holdout(folder: Path, name: str, split: int) -> tuple[Array, Array, Array, Array]:
    rows = np.loadtxt(folder / f"{name}.csv", delimiter=",", skiprows=1)
    lines = (folder / f"{name}.splits.csv").read_text().split()
    test = np.array([int(value) for value in lines[split].split(",")])
    train = np.setdiff1d(np.arange(len(rows)), test)
    train = np.random.default_rng(split).permutation(train)
    return rows[train, :-1], rows[train, -1], rows[test, :-1], rows[test, -1]


def svorim(X: Array, y: Array, T: Array) -> Array:
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    model = SVORIM(kernel="gaussian", gamma=1.0 / X.shape[1], C=1000.0 / len(X))
    predicted: Array = model.fit((X - mean) / deviation, y).predict((T - mean) / deviation)
    return predicted


def twenty_nodes(X: Array, y: Array, T: Array, **options: bool) -> Array:
    names = node_names(NODES)
    shards = {node: (X[i::NODES], y[i::NODES]) for i, node in enumerate(names)}
    weights = combination_weights(build_graph("random", names, degree=4.0, seed=0))
    net = BatchNetwork.of(shards, int(y.max()), weights, alpha=0.0, dtype="float32", **options)
    net.advance(1500)
    return net.predict(T)


@pytest.mark.parametrize("orthogonal", [False, True])
@pytest.mark.parametrize("name", ["balance-scale", "SWD"])
def test_within_three_hundredths_of_svorim(shared: Path, name: str, orthogonal: bool) -> None:
    """Equal gamma and C, D by the default rule."""
    ours, theirs = [], []
    for split in range(3):
        X, y, T, truth = holdout(shared / "data" / "ordinal", name, split)
        theirs.append(np.abs(svorim(X, y, T) - truth).mean())
        ours.append(np.abs(twenty_nodes(X, y, T, orthogonal=orthogonal) - truth).mean())
    assert np.mean(ours) < np.mean(theirs) + 0.03
