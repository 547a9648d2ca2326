"""The things a job is made of, and is held against, alone in a plain loop."""

import time
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from statistics import median
from typing import Any

import numpy as np
from river import linear_model

from anabranch.learners import make
from anabranch.network import Weights, build_graph, combination_weights, node_names
from anabranch.placement import Placement
from anabranch.protocol import Array, Learner, NodeId, freeze
from anabranch.simulate import Tick, simulate
from anabranch.stream import Block
from anabranch.synthetic import make_stream
from connectors import FileSource, RecordFormat

__all__ = ["Peers", "loadtxt_rate", "parse_rate", "river_rate"]

REPEATS = 3
_WARM_UP = 30
_PREPARED = 16


class Peers:
    """The learners of a network, past their warm-up, and ticks to feed them.

    Parameters
    ----------
    features : fields of a sample
    block : rows a node a tick
    nodes : nodes of the network, mean degree 4
    """

    def __init__(self, features: int, block: int, nodes: int = 20) -> None:
        self.rows = block * nodes
        self._names = tuple(node_names(nodes))
        self._weights: Weights = combination_weights(build_graph("random", self._names, degree=4))
        self._ticks = list(_ticks(features, block, self._names))
        self._learners: dict[NodeId, Learner] = {
            name: make("dsvor", features, 4, kernel="linear") for name in self._names
        }
        self.simulation_rate(_WARM_UP, repeats=1)

    def kernel_rate(self, rounds: int) -> float:
        """Samples/s of predict_then_learn over the blocks, with no exchange."""

        def loop() -> None:
            for tick in islice(cycle(self._ticks), rounds):
                for node, (X, y) in tick.items():
                    self._learners[node].predict_then_learn(X, y)

        return rounds * self.rows / _seconds(loop)

    def simulation_rate(self, rounds: int, repeats: int = REPEATS) -> float:
        """Samples/s of `anabranch.simulate`: the same and the exchange, without scores."""

        def loop() -> None:
            simulate(self._learners, self._weights, islice(cycle(self._ticks), rounds))

        return rounds * self.rows / _seconds(loop, repeats)


def _ticks(features: int, block: int, names: tuple[NodeId, ...]) -> Iterator[Tick]:
    stream, rows = make_stream("wide", features=features), block * len(names)
    placement = Placement(names, "round-robin", ("p",))
    for number in range(_PREPARED):
        X, y = stream.block(number * rows, rows)
        positions = np.arange(number * rows, (number + 1) * rows)
        shares = placement.shares(Block("p", number, freeze(X), freeze(y), positions))
        yield {node: (share.X, share.y) for node, share in shares.items()}


def river_rate(features: int, rows: int) -> float:
    """Samples/s of River's LogisticRegression, predicting then learning rank > 2.

    The samples are made into River's dictionaries beforehand.
    """
    X, y = make_stream("wide", features=features).block(0, rows)
    names = [f"x{i}" for i in range(features)]
    samples: list[Any] = [dict(zip(names, row, strict=True)) for row in X.tolist()]
    labels: list[bool] = (y > 2).tolist()

    def loop() -> None:
        model = linear_model.LogisticRegression()
        for sample, label in zip(samples, labels, strict=True):
            model.predict_one(sample)
            model.learn_one(sample, label)

    return rows / _seconds(loop)


def parse_rate(path: str, rows: int, rows_per_tick: int) -> float:
    """Rows/s of the connector's partition, drained with nobody behind it."""
    source = FileSource((path,), "csv", RecordFormat(label="y", ranks=4), rows_per_tick)

    def drain() -> None:
        part = source.build_part("source", source.partitions[0], None)
        try:
            while True:
                part.next_batch()
        except StopIteration:
            part.close()

    return rows / _seconds(drain)


def loadtxt_rate(path: str, rows: int) -> float:
    """Rows/s of numpy.loadtxt over the first `rows` rows of the same file."""

    def load() -> Array:
        return np.loadtxt(path, delimiter=",", skiprows=1, max_rows=rows)

    return rows / _seconds(load, 1)


def _seconds(call: Callable[[], object], repeats: int = REPEATS) -> float:
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return median(times)
