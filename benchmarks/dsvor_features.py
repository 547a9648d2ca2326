"""How near feature maps come to their kernels, what that does to errors, what sparsity saves."""

import time
from collections.abc import Iterator
from statistics import mean
from typing import Any

import numpy as np

from anabranch.exchange import wire_size
from anabranch.features import AdditiveMap, FourierMap, kernel_matrix
from anabranch.learners.batch import BatchDSVOR
from anabranch.learners.batch_network import BatchNetwork
from anabranch.learners.dsvor_optimum import optimum_of
from anabranch.network import build_graph, combination_weights, node_names
from anabranch.protocol import Array
from anabranch.simulate import simulate
from anabranch.synthetic import make_stream
from benchmarks.table import Row

__all__ = ["accuracy", "errors", "sparsity"]

NODES, ROWS, TEST, RANKS = 20, 1000, 2000, 4
WARM_UP = 20
_FIELDS, _PAIRS = 10, 100
_RMS, _MAE = "1e-3 rms", "1e-3 MAE"
Shards = dict[str, tuple[Array, Array]]


def errors(quick: bool) -> Iterator[Row]:
    """Root mean square error of the products of a hundred rows, over seeds or orders."""
    seeds = range(2 if quick else 10)
    X = np.random.default_rng(0).normal(size=(_PAIRS, _FIELDS))
    names = [str(i) for i in range(_FIELDS)]
    for kernel in ("gaussian", "laplacian", "cauchy"):
        exact = kernel_matrix(kernel, X, X, 1.0 / _FIELDS)
        for D in (50, 200, 800):
            options: dict[str, Any] = {"gamma": 1.0 / _FIELDS, "kernel": kernel}
            found = {
                orthogonal: _rms(
                    (FourierMap.draw(names, D, seed=s, orthogonal=orthogonal, **options)
                     for s in seeds), X, exact,
                )
                for orthogonal in ((False, True) if kernel == "gaussian" else (False,))
            }  # fmt: skip
            yield Row("errors of random features", f"{kernel}, D = {D}", 1e3 * found[False], _RMS)
            if True in found:
                figure = f"{kernel}, orthogonal, D = {D}"
                yield Row(
                    "errors of random features", figure, 1e3 * found[True], _RMS, "independent",
                    1e3 * found[False],
                )  # fmt: skip
    yield from _additive_errors()


def _rms(maps: Any, X: Array, exact: Array) -> float:
    off = ~np.eye(len(X), dtype=np.bool_)
    squares = []
    for one in maps:
        Z = one.transform(X)
        squares.append(np.square(Z @ Z.T - exact)[off].mean())
    return float(np.sqrt(mean(squares)))


def _additive_errors() -> Iterator[Row]:
    X = np.random.default_rng(0).exponential(size=(_PAIRS, _FIELDS))
    for kernel in ("hellinger", "chi-squared", "intersection", "jensen-shannon"):
        exact = kernel_matrix(kernel, X, X, 1.0 / _FIELDS)
        for order in (0,) if kernel == "hellinger" else (1, 4, 9):
            one = AdditiveMap.of(kernel, _FIELDS, order, gamma=1.0 / _FIELDS)
            figure = f"{kernel}, {2 * order + 1} a field"
            yield Row("errors of additive maps", figure, 1e3 * _rms([one], X, exact), _RMS)


def _problem(seed: int) -> tuple[Shards, Array, Array]:
    """The paper's second set over twenty nodes, and fresh rows."""
    stream = make_stream("nonlinear", seed=seed)
    X, y = stream.block(0, ROWS)
    shards = {n: (X[i::NODES], y[i::NODES]) for i, n in enumerate(node_names(NODES))}
    return shards, *stream.block(10**6, TEST)


def _network(seed: int, shards: Shards, **options: Any) -> BatchNetwork:
    graph = build_graph("random", node_names(NODES), degree=4.0, seed=seed)
    return BatchNetwork.of(shards, RANKS, combination_weights(graph), seed=seed, **options)


def accuracy(quick: bool) -> Iterator[Row]:
    """Mean absolute error on the second set, k = 2000, with and without orthogonality."""
    seeds, rounds = (range(2), 200) if quick else (range(10), 2000)
    for D in (10, 25, 50, 100, 200):
        found: dict[bool, list[float]] = {False: [], True: []}
        for seed in seeds:
            shards, X, y = _problem(seed)
            for orthogonal, values in found.items():
                net = _network(seed, shards, dimension=D, orthogonal=orthogonal, dtype="float32")
                net.advance(rounds)
                values.append(float(np.abs(net.predict(X) - y).mean()))
        yield Row(
            f"second set, k = {rounds}", f"orthogonal, D = {D}", 1e3 * mean(found[True]), _MAE,
            "independent", 1e3 * mean(found[False]),
        )  # fmt: skip


def sparsity(quick: bool) -> Iterator[Row]:
    """Zeros in what is sent, beside those of the exact optimum; what giving features up saves."""
    shards, X, y = _problem(0)
    rounds = 200 if quick else 2000
    for alpha in (0.0, 0.5, 0.9, 1.0):
        net = _network(0, shards, alpha=alpha)
        net.advance(rounds)
        rows, labels = (np.concatenate(parts) for parts in zip(*shards.values(), strict=True))
        pooled = BatchNetwork.of({"all": (rows, labels)}, RANKS, alpha=alpha)
        best = optimum_of(pooled.learners["all"]).zeros
        section = f"second set, zeros after k = {rounds}"
        figure = f"alpha = {alpha:g}"
        yield Row(section, figure, 100 * net.zeros(), "% zeros", "exact optimum", 100 * best)
    yield from _dropping(rounds, X, y)


def _dropping(rounds: int, X: Array, y: Array) -> Iterator[Row]:
    """Ten times the rows, and 800 features, so that arithmetic counts; the learners in the loop."""
    stream, found = make_stream("nonlinear", seed=0), {}
    rows, labels = stream.block(0, 10 * ROWS)
    tick = {n: (rows[i::NODES], labels[i::NODES]) for i, n in enumerate(node_names(NODES))}
    weights = combination_weights(build_graph("random", node_names(NODES), degree=4.0, seed=0))
    for drop in (0, 20):
        learners = {n: BatchDSVOR(2, RANKS, dimension=800, drop=drop) for n in tick}
        simulate(learners, weights, [tick], final_rounds=WARM_UP)
        begin = time.process_time()
        simulate(learners, weights, [], final_rounds=rounds)
        seconds = time.process_time() - begin
        sizes = [wire_size(one.messages(0)[0]) for one in learners.values()]
        error = mean(float(np.abs(one.predict(X) - y).mean()) for one in learners.values())
        gone = mean(one.measures()["dropped"] for one in learners.values())
        found[drop] = {
            "rounds/s of the loop": rounds / seconds, "bytes a message": mean(sizes),
            _MAE: 1e3 * error, "% given up": 100 * gone,
        }  # fmt: skip
    for unit, value in found[20].items():
        yield Row(
            "drop = 20, D = 800, 500 rows a node", unit, value, unit, "drop = 0", found[0][unit]
        )
