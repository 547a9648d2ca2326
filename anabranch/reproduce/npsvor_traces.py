"""How the objective falls with processor time, solver by solver."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from anabranch.reproduce.npsvor_data import RankSplit
from anabranch.sklearn_face.npsvor import NPSVOR

__all__ = ["LEVELS", "SOLVERS", "reached", "traced"]

SOLVERS: Mapping[str, Mapping[str, Any]] = {
    "TRON": {"solver": "tron-cold", "tol": 1e-4, "dtype": "float64"},
    "TRON, warm start": {"solver": "tron", "tol": 1e-4, "dtype": "float64"},
    "DCD-M": {"solver": "dcd-m", "tol": 1e-3, "dtype": "float64"},
    "DCD-Mm": {"solver": "dcd-mm", "tol": 1e-2, "dtype": "float64"},
    "DCD, all planes at once": {"solver": "dcd", "tol": 1e-3, "dtype": "float32"},
}
"""The paper's four, and the default one here."""

LEVELS = (1e-1, 1e-2, 1e-3, 1e-4)
"""Distances to the optimum, relative to it."""

_EXACT: Mapping[str, Any] = {"solver": "dcd", "tol": 1e-5, "dtype": "float64"}
_MOST = 400
_FEW, _FAR = 120, 1e-8


def traced(split: RankSplit, C: float, solvers: Sequence[str] = tuple(SOLVERS)) -> dict[str, Any]:
    """Run solvers, and note the sum of all planes' objectives as it falls.

    Returns
    -------
    "C", "optimum", and "solvers": name -> [[seconds, (objective - optimum) / optimum], ...],
    thinned where there are many, up to what rounding blurs
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Compiled code is loaded before clocks run.
        few = RankSplit(split.X[:64], split.y[:64], split.held, split.truth, split.ranks)
        for name in solvers:
            _fit(few, C, SOLVERS[name], trace=True, max_iter=1)
        exact = _fit(split, C, _EXACT, max_iter=10 * _MOST)
        runs = {name: _fit(split, C, SOLVERS[name], trace=True).trace_ for name in solvers}
    least = min(points[-1][1] for points in runs.values())
    optimum = min(float(exact.objective_.sum()), least)
    return {
        "C": C,
        "optimum": optimum,
        "solvers": {name: _thinned(points, optimum) for name, points in runs.items()},
    }


def _fit(split: RankSplit, C: float, options: Mapping[str, Any], **more: Any) -> NPSVOR:
    return NPSVOR(C=C, **{"max_iter": _MOST, **options, **more}).fit(split.X, split.y)


def _thinned(points: Sequence[tuple[float, float]], optimum: float) -> list[list[float]]:
    """Give relative distances at up to so many points, evenly spread, the last one among them."""
    apart = np.array([[at, value / optimum - 1.0] for at, value in points])
    small = np.flatnonzero(apart[:, 1] < _FAR)
    if len(small):
        apart = apart[: small[0] + 1]
    kept = np.unique(np.linspace(0, len(apart) - 1, min(_FEW, len(apart))).astype(int))
    found: list[list[float]] = apart[kept].tolist()
    return found


def reached(points: Sequence[Sequence[float]], level: float) -> float | None:
    """Give the seconds after which no distance is above a level; None if that is never.

    >>> reached([[0.0, 9.0], [0.1, 0.05], [0.2, 0.001]], 0.01)
    0.2
    """
    at = None
    for seconds, apart in reversed(points):
        if apart > level:
            break
        at = seconds
    return at
