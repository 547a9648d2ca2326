"""The dSVOR paper's experiments on synthetic sets: what is varied, and over which values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from anabranch.reproduce.dsvor_paper import NODES
from anabranch.reproduce.dsvor_plain import Plain
from anabranch.reproduce.dsvor_run import Run, Setting, central, optimal_zeros, run
from anabranch.reproduce.ordinal_data import OrdinalSplit

__all__ = ["BEARING_SPARSITY", "EXPERIMENTS", "SETS", "Experiment", "perform", "runs_of"]

SETS = ("linear", "nonlinear")
"""Set 1 and set 2."""
_MARKS = (10, 20, 50, 100, 200, 500, 1000, 2000)
_SETTLED = (100, 500, 1000, 2000)
_LITERAL = Plain(literal=True)
_ALPHAS = (0.0, 0.3, 0.5, 0.7, 0.9, 1.0)


@dataclass(frozen=True, slots=True)
class Experiment:
    """Settings by what tells them apart, and what else is worked out for each seed.

    Attributes
    ----------
    settings : label -> setting
    central : sets whose centralised machine belongs beside it
    optima : whether the shares of zeros at the optima do
    """

    settings: Mapping[str, Setting]
    central: tuple[str, ...] = ()
    optima: bool = False


def _rounds() -> dict[str, Setting]:
    made = {}
    for name in SETS:
        made[f"{name}, dSVOR"] = Setting(name, rounds=_MARKS)
        made[f"{name}, local-only"] = Setting(name, rounds=_MARKS, alone=True)
    return made


def _nodes() -> dict[str, Setting]:
    made = {}
    for nodes in (5, 10, 20, 50, 100):
        made[f"{nodes}, dSVOR"] = Setting(nodes=nodes)
        made[f"{nodes}, local-only"] = Setting(nodes=nodes, alone=True)
    return made


def _graphs() -> dict[str, Setting]:
    graphs = ("complete", "random", "grid", "star", "ring", "path")
    made = {graph: Setting(graph=graph, rounds=_SETTLED) for graph in graphs}
    made["random, first w normal"] = Setting(plan=Plain(start=1.0), rounds=_SETTLED)
    made["random, uneven shards"] = Setting(uneven=True, rounds=_SETTLED)
    return made


def _readings() -> dict[str, Setting]:
    ring = Setting(graph="ring", rounds=_SETTLED)
    paper = replace(ring, rule="metropolis")
    usual = Setting(rounds=_SETTLED)
    return {
        "as here": usual,
        "full regulariser": replace(usual, plan=Plain(lam=1e-3 * NODES)),
        "literal order": replace(usual, plan=_LITERAL),
        "gamma of Eq. 6": replace(usual, gamma=0.25),
        "ring": ring,
        "ring, literal order": replace(ring, plan=_LITERAL),
        "ring, 1/max": paper,
        "ring, 1/max, literal order": replace(paper, plan=_LITERAL),
        "path, 1/max, literal order": replace(paper, graph="path", plan=_LITERAL),
    }


EXPERIMENTS: Mapping[str, Experiment] = {
    "rounds": Experiment(_rounds(), central=SETS),
    "nodes": Experiment(_nodes(), central=("nonlinear",)),
    "dimension": Experiment(
        {str(D): Setting(dimension=D) for D in (10, 25, 50, 100, 200, 400)}, central=("nonlinear",)
    ),
    "graphs": Experiment(_graphs()),
    "step": Experiment(
        {
            f"{step:g}, {decay:g}": Setting(plan=Plain(step=step, decay=decay), rounds=_SETTLED)
            for step in (0.5, 1.0, 5.0, 20.0)
            for decay in (0.001, 0.01, 0.1)
        }
    ),
    "alpha": Experiment({f"{a:g}": Setting(plan=Plain(alpha=a)) for a in _ALPHAS}, optima=True),
    "readings": Experiment(_readings()),
}
"""By name. "gamma of Eq. 6" draws the frequencies with half the variance."""

BEARING_SPARSITY = Experiment(
    {f"{a:g}": Setting(gamma=0.2, plan=Plain(alpha=a, lam=1e-4)) for a in _ALPHAS}, optima=True
)
"""For a case of bearings, whose K is 5: C = 10000/N."""


def perform(
    experiment: Experiment,
    seeds: int,
    most: int,
    data: Callable[[int], OrdinalSplit | None] = lambda seed: None,
) -> dict[str, Any]:
    """Run all settings over seeds, as JSON values.

    Parameters
    ----------
    most : rounds beyond which nothing is scored
    data : seed -> what is learned instead of the settings' synthetic sets

    Returns
    -------
    "runs": label -> seeds -> rounds -> the fields of `Run`; "central": set -> seeds -> accuracy
    and error; "optima": label -> seeds -> share of zeros
    """
    cut = {
        label: replace(one, rounds=tuple(k for k in one.rounds if k <= most) or (most,))
        for label, one in experiment.settings.items()
    }
    found: dict[str, Any] = {"rounds": {label: list(one.rounds) for label, one in cut.items()}}
    found["runs"] = {
        label: [[_values(at) for at in run(one, seed, data(seed))] for seed in range(seeds)]
        for label, one in cut.items()
    }
    found["central"] = {
        name: [list(central(name, seed)) for seed in range(seeds)] for name in experiment.central
    }
    wanted = cut if experiment.optima else {}
    found["optima"] = {
        label: [optimal_zeros(one, seed, data(seed)) for seed in range(seeds)]
        for label, one in wanted.items()
    }
    return found


def _values(one: Run) -> list[float]:
    return [one.accuracy, one.error, one.kept, one.sent]


def runs_of(found: Mapping[str, Any], label: str, rounds: int | None = None) -> list[Run]:
    """Give the runs of a setting, one a seed, after some rounds; the last unless given.

    >>> found = {"rounds": {"a": [1, 2]}, "runs": {"a": [[[0.1, 1, 0, 0], [0.2, 1, 0, 0]]]}}
    >>> runs_of(found, "a", 1)[0].accuracy
    0.1
    """
    marks = found["rounds"][label]
    at = len(marks) - 1 if rounds is None else marks.index(rounds)
    return [Run(*seed[at]) for seed in found["runs"][label]]
