"""dSVOR's cost and its features: python -m benchmarks.dsvor [--quick] [--only SECTION ...].

Rounds/s of the whole batch network against the same algorithm in plain numpy, and against
what memory gives: the bytes of the features are read once a round, but for those that the cache
keeps from the round before. One thread, CPU time, random numbers for features; then how near the
feature maps come to their kernels, and what sparsity saves. Needs a quiet machine.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy.sparse import csr_array

from anabranch.learners.batch import BatchDSVOR
from anabranch.learners.batch_network import BatchNetwork
from anabranch.network import Weights, build_graph, combination_weights, node_names
from anabranch.protocol import Array
from benchmarks.dsvor_features import accuracy, errors, sparsity
from benchmarks.dsvor_peers import PlainLoop, rate, stream
from benchmarks.sections import run_sections
from benchmarks.table import Row

__all__ = ["main"]

FIELDS, DIMENSION, RANKS = 10, 200, 4
_UNIT = "rounds/s"
Aims = dict[tuple[str, str], tuple[str, Callable[[float, float], bool]]]
"""Precision and peer -> the aim in words, and whether a figure beside the peer's meets it."""


def main() -> None:
    """Run the sections, print the table, write the JSON."""
    run_sections("dsvor", _SECTIONS, 120)


class _Case:
    """A network of nodes with as many rows each, for us and for the plain loop."""

    def __init__(self, nodes: int, rows: int) -> None:
        self.names = node_names(nodes)
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(rows, FIELDS))
        self.y = np.digitize(self.X[:, 0] + rng.normal(size=rows), [-1.0, 0.0, 1.0]) + 1
        graph = build_graph("random", self.names, degree=4.0 if nodes > 2 else 1.0, seed=0)
        self.weights: Weights = combination_weights(graph)

    def network(self, dtype: str, threads: int = 1) -> BatchNetwork:
        """Our solver, without the warm-up, which is the learners' own."""
        shards = {n: (self.X[i :: len(self.names)], self.y[i :: len(self.names)])
                  for i, n in enumerate(self.names)}  # fmt: skip
        options = {"dimension": DIMENSION, "scaling": "none"}
        return BatchNetwork.of(shards, RANKS, self.weights, dtype=dtype, threads=threads, **options)

    def loop(self, dtype: str, sparse: bool) -> PlainLoop:
        """The plain loop over the same features."""
        learner = BatchDSVOR(FIELDS, RANKS, dimension=DIMENSION, scaling="none")
        learner.learn(self.X, self.y)
        Z = learner.mapped_shard()[0][:, :DIMENSION].astype(dtype)
        C = self.weights.matrix().astype(dtype)
        shape = (len(self.names), len(self.X) // len(self.names))
        return PlainLoop(
            Z.reshape(*shape, DIMENSION), self.y.reshape(shape), RANKS,
            csr_array(C) if sparse else C,
        )  # fmt: skip

    def floor(self, dtype: str) -> float:
        """Rounds/s if only the features were read."""
        count = len(self.X) * DIMENSION * np.dtype(dtype).itemsize // 8
        numbers: Array = np.arange(count)
        return rate(lambda: stream(numbers), max(10, 40_000_000 // count))


def _speeds(nodes: int, rows: int, rounds: int, aims: Aims, quick: bool) -> Iterator[Row]:
    """Ours in each precision beside the plain loops and memory."""
    case, section = _Case(nodes, rows), f"{nodes} nodes, {rows} rows, {DIMENSION} features"
    rounds = max(2, rounds // 20) if quick else rounds
    loops = [("dense", "float64"), ("dense", "float32"), ("sparse", "float32")]
    slow, known = max(1, rounds // 10), {}
    for mixing, dtype in loops:
        loop = case.loop(dtype, mixing == "sparse")
        figure = slow * rate(partial(loop.advance, slow), 1)
        known[f"numpy, {mixing}, {dtype}"] = figure
    for dtype in ("float64", "float32", "float16"):
        network = case.network(dtype)
        value = rounds * rate(partial(network.advance, rounds), 1)
        for peer, figure in known.items():
            words, met = aims.get((dtype, peer), ("", None))
            reached = None if met is None else met(value, figure)
            yield Row(section, dtype, value, _UNIT, peer, figure, words, reached)
        yield Row(section, dtype, value, _UNIT, "features read once", case.floor(dtype))


def _two_threads(quick: bool) -> Iterator[Row]:
    """The large network on two threads, by the clock on the wall."""
    case, rounds = _Case(1000, 50_000), 5 if quick else 60
    found = {}
    for dtype in ("float32", "float16"):
        for threads in (1, 2):
            network = case.network(dtype, threads)
            found[threads] = rounds * rate(partial(network.advance, rounds), 1, time.perf_counter)
        yield Row(
            "1000 nodes, 50000 rows, two threads, wall clock", dtype, found[2], _UNIT,
            "one thread", found[1],
        )  # fmt: skip


def _small(quick: bool) -> Iterator[Row]:
    three = (">= 3 times", lambda value, peer: value >= 3.0 * peer)
    aims: Aims = {(d, f"numpy, dense, {d}"): three for d in ("float64", "float32")}
    yield from _speeds(20, 1000, 2000, aims, quick)


def _large(quick: bool) -> Iterator[Row]:
    aim = (">= 350 rounds/s", lambda value, peer: value >= 350.0)
    aims: Aims = {(d, "numpy, dense, float64"): aim for d in ("float32", "float16")}
    yield from _speeds(1000, 50_000, 60, aims, quick)


def _single(quick: bool) -> Iterator[Row]:
    """One sample a node: what a round of the online algorithm costs."""
    yield from _speeds(20, 20, 20_000, {}, quick)
    yield from _speeds(1000, 1000, 1000, {}, quick)


_SECTIONS: dict[str, Callable[[bool], Iterator[Row]]] = {
    "small": _small,
    "large": _large,
    "threads": _two_threads,
    "single": _single,
    "errors": errors,
    "accuracy": accuracy,
    "sparsity": sparsity,
}


if __name__ == "__main__":
    main()
