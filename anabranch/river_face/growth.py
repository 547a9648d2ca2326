"""Giving a dSVOR learner more features or more ranks without touching what it knows."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from anabranch.features.spectra import SPECTRA
from anabranch.learners import DSVOR
from anabranch.protocol import Array, State

__all__ = ["grow_features", "grow_ranks"]


def grow_features(learner: DSVOR, names: Sequence[str], places: Array) -> DSVOR:
    """Give the learner the features `names`, its own standing at `places` among them.

    The predictions of samples without the new features stay as they are: frequencies are
    drawn by name, and where a field has weights of its own, new ones are zero. The learner
    must be one that takes standardised samples (`scaling="none"`).
    """
    state, config = _open(learner)
    config |= {"features": len(names), "names": list(names)}
    if config["kernel"] not in SPECTRA:
        each = config["dimension"] // learner.features
        config["dimension"] = each * len(names)
        columns = (places[:, None] * each + np.arange(each)).reshape(-1)
        state["w"] = _spread(state["w"], config["dimension"], columns)
        kept = _spread(state["cache"][:, :-1], config["dimension"], columns)
        state["cache"] = np.hstack([kept, state["cache"][:, -1:]])
    state["mean"] = state["M2"] = np.zeros(len(names))
    return DSVOR.restore(state)


def grow_ranks(learner: DSVOR, ranks: int) -> DSVOR:
    """Give the learner more ranks at the top, each threshold one margin above the last."""
    state, config = _open(learner)
    steps = np.arange(1, ranks - config["ranks"] + 1)
    config["ranks"] = ranks
    state["b"] = np.hstack([state["b"], state["b"][:, -1:] + steps])
    return DSVOR.restore(state)


def _open(learner: DSVOR) -> tuple[State, dict[str, Any]]:
    state = learner.export()
    config = dict(state["config"])
    state["config"] = config
    return state, config


def _spread(columns: Array, width: int, places: Array) -> Array:
    """Move columns (n, K) to `places` of (n, width), with zeros between."""
    wide = np.zeros((len(columns), width))
    wide[:, places] = columns
    return wide
