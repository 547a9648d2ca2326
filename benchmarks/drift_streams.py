"""Streams that drift at some nodes of a network, for each task, and what came of them."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from anabranch.drift import Change, Drift, DriftRule, NodeWatch, Verdict, errors_of
from anabranch.learners import make
from anabranch.network import build_graph, combination_weights, node_names
from anabranch.protocol import Array, Learner
from anabranch.simulate import Simulation, Tick, simulate
from anabranch.synthetic import nonlinear
from anabranch.synthetic_labels import labelled

__all__ = [
    "NAMES",
    "SITES",
    "Begun",
    "Told",
    "Trial",
    "begun",
    "dsvor",
    "go_on",
    "look",
    "run",
    "trials",
]

NAMES = tuple(node_names(20))
WEIGHTS = combination_weights(build_graph("random", NAMES, degree=4.0, seed=0))
AT, ROWS = 2000, 3600
_SHARED, _CALM, _AFTER = 1000, 500, 1200
"""Samples a node that trials of policies share, those before their drift, and since."""
_CENTRE = 7

Block = Callable[[int, int, bool], tuple[Array, Array]]
"""Rows of a position and number, before the drift or (True) after it."""


def _around() -> list[int]:
    near = WEIGHTS.graph.neighbours(NAMES[_CENTRE])
    found = [_CENTRE, *(NAMES.index(name) for name in near)]
    for name in near:
        found += [NAMES.index(other) for other in WEIGHTS.graph.neighbours(name)]
    return list(dict.fromkeys(found))[:5]


SITES = {"one site": [_CENTRE], "five neighbours": _around(), "all sites": list(range(20))}


@dataclass(frozen=True)
class Trial:
    """A learner, its stream before and after the drift, and how much of it.

    Attributes
    ----------
    make : a fresh node, by its place
    block : rows by seed; see `Block`
    rows, begin : samples a node, and those before the drift
    per : samples of a node in a round
    """

    name: str
    unit: str
    make: Callable[[int], Learner]
    block: Callable[[int], Block]
    rows: int = ROWS
    begin: int = AT
    per: int = 20
    seed: int = 0

    def ticks(self, sites: list[int], ramp: int) -> Iterator[Tick]:
        """Give the rounds; over `ramp` samples more and more rows are those after the drift."""
        rng, block = np.random.default_rng(self.seed), self.block(self.seed)
        for start in range(0, self.rows, self.per):
            tick = {}
            for place, name in enumerate(NAMES):
                position = (place << 40) + start
                X, y = block(position, self.per, False)
                if place in sites and start >= self.begin:
                    share = min(1.0, (start - self.begin) / ramp) if ramp else 1.0
                    new = rng.random(self.per) < share
                    X2, y2 = block(position, self.per, True)
                    X, y = X.copy(), y.copy()
                    X[new], y[new] = X2[new], y2[new]
                tick[name] = X, y
            yield tick


@dataclass(frozen=True)
class Told:
    """A run, and after how many samples of a node the drift began."""

    simulation: Simulation
    begin: int

    def errors(self) -> dict[str, Array]:
        """Give each node's errors, in order."""
        run = self.simulation
        return {
            name: np.concatenate(
                [errors_of(y, p) for y, p in zip(run.truth[name], run.predicted[name], strict=True)]
            )
            for name in NAMES
        }

    def means(self, sites: list[int]) -> tuple[float, float]:
        """Give the mean error of some nodes, and of all, from the drift on."""
        means = [float(values[self.begin :].mean()) for values in self.errors().values()]
        return float(np.mean([means[i] for i in sites])), float(np.mean(means))


def run(trial: Trial, sites: list[int], ramp: int, rule: DriftRule | None) -> Told:
    """Run a trial in the reference loop.

    Parameters
    ----------
    sites : places of the nodes that drift
    ramp : samples over which they do, 0 for at once
    """
    learners = {name: trial.make(place) for place, name in enumerate(NAMES)}
    ticks = trial.ticks(sites, ramp)
    return Told(simulate(learners, WEIGHTS, ticks, drift=rule), trial.begin)


@dataclass(frozen=True)
class Begun:
    """A trial, and its nodes after the samples before which all its runs are alike."""

    trial: Trial
    learners: dict[str, Learner]


def begun(trial: Trial) -> Begun:
    """Begin a trial, so that its runs need not."""
    before = replace(trial, rows=_SHARED)
    learners = {name: trial.make(place) for place, name in enumerate(NAMES)}
    simulate(learners, WEIGHTS, before.ticks([], 0))
    return Begun(replace(trial, rows=_SHARED + _CALM + _AFTER, begin=_SHARED + _CALM), learners)


def go_on(begun: Begun, sites: list[int], ramp: int, rule: DriftRule) -> Told:
    """Go on with copies of the nodes; see `run`."""
    trial = begun.trial
    learners = {name: deepcopy(learner) for name, learner in begun.learners.items()}
    ticks = islice(trial.ticks(sites, ramp), _SHARED // trial.per, None)
    return Told(simulate(learners, WEIGHTS, ticks, drift=rule), _CALM)


def look(run: Simulation, rule: DriftRule) -> tuple[list[Change], list[Drift]]:
    """Look for drift in a run of which nobody reacted: what befell the nodes, and the verdict."""
    verdict = Verdict(
        lambda node, _: WEIGHTS.graph.neighbours(node), lambda _: len(NAMES), rule.most
    )
    watches = {name: NodeWatch(rule, name) for name in NAMES}
    changes: list[Change] = []
    drifts: list[Drift] = []
    for round in range(len(run.truth[NAMES[0]])):
        for name, watch in watches.items():
            watch.see(run.truth[name][round], run.predicted[name][round])
            for change in watch.close(round):
                changes.append(change)
                drifts += verdict.take(change)
    return changes, drifts


def _ordinal(seed: int) -> Block:
    before = nonlinear(seed=seed)
    after = replace(before, cuts=tuple(cut - 0.8 for cut in before.cuts))
    return lambda at, count, new: (after if new else before).block(at, count)


def _linear_ranks(seed: int) -> Block:
    """Ranks of a linear function of many fields, of which half turn round."""
    rng = np.random.default_rng(99)
    weights = rng.normal(size=20) / np.sqrt(20)
    turned = weights * np.where(np.arange(20) < 10, -1.0, 1.0)

    def block(at: int, count: int, new: bool) -> tuple[Array, Array]:
        X = np.random.default_rng([seed, at]).normal(size=(count, 20))
        latent = X @ (turned if new else weights)
        return X, 1.0 + np.digitize(latent, [-0.67, 0.0, 0.67])

    return block


def _labelled(seed: int) -> Block:
    before, after = (labelled(10, 4, seed=each) for each in (1, 2))
    shift = (seed + 1) << 30
    return lambda at, count, new: (after if new else before).block(at + shift, count)


def _regression(seed: int) -> Block:
    weights = np.random.default_rng(98).normal(size=(2, 10))

    def block(at: int, count: int, new: bool) -> tuple[Array, Array]:
        rng = np.random.default_rng([seed, at])
        X = rng.normal(size=(count, 10))
        return X, X @ weights[int(new)] + 0.5 * rng.normal(size=count)

    return block


def dsvor(**options: object) -> Trial:
    """Give dSVOR on the nonlinear set, whose thresholds move by .8."""
    name = "dsvor" + "".join(f", {key} {value}" for key, value in options.items())
    return Trial(name, "MAE", lambda place: make("dsvor", 2, 4, **options), _ordinal)


def _elastic(place: int, **options: object) -> Learner:
    role = "hub" if place == 0 else "node"
    return make("elastic-net", 10, 0, shape="graph", role=role, **options)


def trials() -> dict[Trial, tuple[str, ...]]:
    """Give each learner's trial, and the policies it has."""
    return {
        dsvor(): ("raise-step",),
        dsvor(cache=40): ("raise-step", "refit"),
        Trial("npsvor", "MAE", lambda place: make("npsvor", 20, 4), _linear_ranks): ("raise-step",),
        Trial(
            "doml", "Hamming loss", lambda place: make("doml", 10, 0, labels=4), _labelled
        ): ("shrink-window", "refit"),
        Trial("elastic-net", "MAE", _elastic, _regression): ("shrink-window",),
    }  # fmt: skip
