"""One run of batch dSVOR on a synthetic set, with everything that the experiments vary."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from anabranch.features import FourierMap
from anabranch.learners.dsvor_optimum import solve_optimum
from anabranch.network import Weights, build_graph, combination_weights, node_names
from anabranch.protocol import Array
from anabranch.reproduce.dsvor_network import by_solver
from anabranch.reproduce.dsvor_plain import Model, Plain, Shards, at_rounds, zero_fraction
from anabranch.reproduce.ordinal_data import OrdinalSplit, dealt, score, synthetic_split
from anabranch.sklearn_face.svorim import SVORIM

__all__ = ["PRUNE", "Run", "Setting", "central", "optimal_zeros", "run"]

PRUNE = 0.01
"""Weights below this share of the node's largest are zeros in what it sends."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What is run.

    Attributes
    ----------
    name : "linear" (set 1, its fields) or "nonlinear" (set 2, random features)
    nodes, graph, rule : of the network; a random graph has 4 neighbours a node on average
    dimension, gamma : random features D, and the factor of the squared distance; 1/K is .5
    plan : steps, regulariser, order
    rounds : when it is scored
    alone : nodes hear no other
    uneven : nodes have very different numbers of rows
    """

    name: str = "nonlinear"
    nodes: int = 20
    graph: str = "random"
    rule: str = "metropolis-hastings"
    dimension: int = 200
    gamma: float = 0.5
    plan: Plain = field(default_factory=Plain)
    rounds: tuple[int, ...] = (2000,)
    alone: bool = False
    uneven: bool = False

    def features(self, split: OrdinalSplit, seed: int) -> tuple[Array, Array]:
        """Give what the rows to learn and to test become."""
        if self.name == "linear":
            return split.X, split.held
        names = [str(i) for i in range(split.X.shape[1])]
        drawn = FourierMap.draw(names, self.dimension, gamma=self.gamma, seed=seed)
        return drawn.transform(split.X), drawn.transform(split.held)

    def weights(self, seed: int) -> Weights | None:
        """Give the network, or None; the paper's rule is taken also where it leads nowhere."""
        if self.alone:
            return None
        graph = build_graph(self.graph, node_names(self.nodes), seed=seed)
        return combination_weights(graph, self.rule, check=False)

    @property
    def plain(self) -> bool:
        """Whether only the loop in plain numpy can do it."""
        return self.plan.literal or self.plan.start > 0.0

    def options(self, seed: int) -> dict[str, Any]:
        """Give the same as options of `BatchDSVOR`."""
        plan = self.plan
        same = {key: getattr(plan, key) for key in ("alpha", "lam", "step", "decay")}
        if self.name == "linear":
            return {**same, "kernel": "linear"}
        drawn = {"dimension": self.dimension, "gamma": self.gamma, "seed": seed}
        return {**same, "kernel": "gaussian", **drawn}


@dataclass(frozen=True, slots=True)
class Run:
    """Means over the nodes after some rounds.

    Attributes
    ----------
    accuracy, error : over the rows to test
    kept, sent : shares of weights that are zero in the nodes, and in their messages
    """

    accuracy: float
    error: float
    kept: float
    sent: float


def run(setting: Setting, seed: int, split: OrdinalSplit | None = None) -> list[Run]:
    """Run once, and give what came out after each of the rounds.

    `split` is learned instead of the synthetic set.
    """
    split = split or _split(setting.name, seed)
    deal = _uneven if setting.uneven else dealt
    parts, weights = deal(len(split.X), setting.nodes, seed), setting.weights(seed)
    Z, held = setting.features(split, seed)
    if setting.plain:
        shards = Shards.of(Z, split.y, split.ranks, parts, alone=weights is None)
        mixing = np.eye(setting.nodes) if weights is None else weights.matrix()
        models = at_rounds(shards, mixing, setting.plan, setting.rounds, seed)
        found = {k: (model, zero_fraction(model.w, PRUNE)) for k, model in models.items()}
    else:
        found = by_solver(split, parts, weights, setting.rounds, **setting.options(seed))
    return [_scored(*found[k], split, held) for k in setting.rounds]


def central(name: str, seed: int) -> tuple[float, float]:
    """Give accuracy and mean absolute error of SVORIM over all rows, by the exact kernel."""
    split = _split(name, seed)
    C = 1000.0 / len(split.X)
    model = SVORIM(C=C, kernel="linear" if name == "linear" else "gaussian", gamma=0.5)
    found = score(split.truth, model.fit(split.X, split.y).predict(split.held), split.ranks)
    return found.accuracy, found.error


def optimal_zeros(setting: Setting, seed: int, split: OrdinalSplit | None = None) -> float:
    """Give the share of weights that are zero where the objective is least; `split` as in `run`."""
    split = split or _split(setting.name, seed)
    Z, _ = setting.features(split, seed)
    plan = setting.plan
    return solve_optimum(Z, split.y, split.ranks, lam=plan.lam, alpha=plan.alpha).zeros


@lru_cache(maxsize=32)
def _split(name: str, seed: int) -> OrdinalSplit:
    return synthetic_split(name, seed)


def _scored(model: Model, sent: float, split: OrdinalSplit, held: Array) -> Run:
    found = [score(split.truth, ranks, split.ranks) for ranks in model.predict(held)]
    error, accuracy, *_ = np.mean(found, axis=0).tolist()
    return Run(accuracy, error, zero_fraction(model.w), sent)


def _uneven(count: int, nodes: int, seed: int) -> list[Array]:
    """Deal rows so that shares differ as the parts of a stick broken at random."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.choice(np.arange(1, count), nodes - 1, replace=False))
    return np.split(rng.permutation(count), cuts)
