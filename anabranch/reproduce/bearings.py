"""The bearings of the dSVOR paper on 20 nodes: together, each alone, and centralised.

``bearings(files, cases, split, seeds)`` gives a `BearingRow` for each case: accuracy and mean
absolute error by seed of the centralised machine, of nodes alone and of nodes together, beside
the paper's values in `PAPER`, with what is wrong with the split (`leaks`) and whether the gates
hold (`holds`). ``files`` are `Segments` by file name (`files_of`); this package reads no files.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from anabranch.features.fourier import FourierMap
from anabranch.network import build_graph, combination_weights, node_names
from anabranch.protocol import Array
from anabranch.reproduce.bearings_data import CASES, LEAKS, Segments, Split, split_case
from anabranch.reproduce.dsvor_plain import Plain, Shards, at_rounds
from anabranch.reproduce.ordinal_data import OrdinalSplit, dealt, score
from anabranch.sklearn_face.svorim import SVORIM

__all__ = ["GAP", "KINDS", "PAPER", "BearingRow", "Scores", "bearings", "run_split"]

GAP = 0.03
"""What nodes together may lose to the centralised machine, and must win over nodes alone."""
KINDS = ("centralised", "local", "dsvor")
PAPER: Mapping[str, tuple[float, float, float]] = {
    "IR 0": (0.885, 0.747, 0.884),
    "OR 0": (0.959, 0.798, 0.955),
    "B 0": (0.777, 0.544, 0.759),
    "B 2": (0.826, 0.582, 0.818),
}
"""Accuracies in the order of `KINDS`."""
_NODES, _ROUNDS, _DIMENSION, _C = 20, 2000, 200, 10_000.0


class Scores(NamedTuple):
    """Accuracy and mean absolute error; those of nodes are means over the nodes."""

    accuracy: float
    error: float


@dataclass(frozen=True, slots=True)
class BearingRow:
    """One case under one split.

    Attributes
    ----------
    case, split : which
    accuracy, error : kind of machine (`KINDS`) -> (seeds,)
    """

    case: str
    split: Split
    accuracy: Mapping[str, Array]
    error: Mapping[str, Array]

    @property
    def leaks(self) -> str:
        """What is wrong with the split; "" where nothing is."""
        return LEAKS[self.split]

    @property
    def paper(self) -> tuple[float, float, float] | None:
        """The paper's accuracies, where it has the case; its split is the random one."""
        return PAPER.get(self.case)

    def mean(self, kind: str) -> float:
        """Give the mean accuracy over the seeds."""
        return float(self.accuracy[kind].mean())

    @property
    def holds(self) -> bool:
        """Whether nodes together come within `GAP` of the centralised machine and beat nodes alone.

        By `GAP` under the random split, where nodes have uneven shares; under the other one nodes
        alone are often nearly as good, so it is enough not to be worse.
        """
        c, nc, d = (self.mean(kind) for kind in KINDS)
        return c - d <= GAP and d - nc >= (GAP if self.leaks else 0.0)


def bearings(
    files: Mapping[str, Segments],
    cases: Iterable[str] = tuple(CASES),
    split: Split = "time",
    seeds: int = 10,
) -> Iterator[BearingRow]:
    """Compare the three on cases of bearings, one row a case, as they are done.

    Shares are uneven under the random split, which gives the values known for nodes alone, and
    even under the other.

    Parameters
    ----------
    files : features by file name; those that `files_of` names for the cases
    split : "time", or the paper's "random", which leaks
    seeds : of the random split, who has which row, the network and the random features

    Raises
    ------
    ConfigurationError
        A case or the split is unknown.
    SampleError
        A file is missing.
    """
    for case in cases:
        uneven = split == "random"
        found = [
            run_split(split_case(case, files, split, seed), seed, uneven=uneven)
            for seed in range(seeds)
        ]
        accuracy, error = (
            {kind: np.array([getattr(one[kind], name) for one in found]) for kind in KINDS}
            for name in Scores._fields
        )
        yield BearingRow(case, split, accuracy, error)


def run_split(
    split: OrdinalSplit, seed: int = 0, rounds: int = _ROUNDS, *, uneven: bool = False
) -> dict[str, Scores]:
    """Score the three machines on the rows to test of one split.

    All have gamma = 1/K and C = 10000/N; nodes have 200 random features.

    Parameters
    ----------
    seed : who has which row, the network and the random features
    rounds : of the nodes
    uneven : nodes have shares of rows in proportion to uniform draws, so that some have hardly any;
        without it all have equally many
    """
    n, K = split.X.shape
    names = node_names(_NODES)
    drawn = FourierMap.draw([str(i) for i in range(K)], _DIMENSION, gamma=1.0 / K, seed=seed)
    Z, held = drawn.transform(split.X), drawn.transform(split.held)
    weights = combination_weights(build_graph("random", names, seed=seed))
    parts, plan = (_uneven if uneven else dealt)(n, _NODES, seed), Plain(lam=1.0 / _C)
    together = Shards.of(Z, split.y, split.ranks, parts)
    alone = Shards.of(Z, split.y, split.ranks, parts, alone=True)
    found = {
        "dsvor": at_rounds(together, weights.matrix(), plan, [rounds])[rounds],
        "local": at_rounds(alone, np.eye(_NODES), plan, [rounds])[rounds],
    }
    machine = SVORIM(C=_C / n, gamma=1.0 / K, classes=np.arange(1, split.ranks + 1))
    central = machine.fit(split.X, split.y).predict(split.held)
    predicted = {kind: model.predict(held) for kind, model in found.items()}
    return {kind: _scored(split, predicted.get(kind, [central])) for kind in KINDS}


def _uneven(count: int, nodes: int, seed: int) -> list[Array]:
    """Deal row numbers to nodes in random order, by uniform draws.

    >>> sum(len(rows) for rows in _uneven(100, 20, seed=0))
    100
    """
    rng = np.random.default_rng(seed)
    order, ends = rng.permutation(count), np.cumsum(rng.random(nodes))
    return np.split(order, np.rint(count * ends[:-1] / ends[-1]).astype(np.int64))


def _scored(split: OrdinalSplit, predicted: Iterable[Array]) -> Scores:
    found = [score(split.truth, ranks, split.ranks) for ranks in predicted]
    return Scores(
        float(np.mean([one.accuracy for one in found])),
        float(np.mean([one.error for one in found])),
    )
