"""Giving an elastic net more features, as if they had been 0 until now."""

from collections.abc import Sequence

import numpy as np

from anabranch.learners import ElasticNet
from anabranch.protocol import Array, State

__all__ = ["widen"]


def widen(learner: ElasticNet, names: Sequence[str], places: Array) -> ElasticNet:
    """Give the learner the features `names`, its own standing at `places` among them.

    For a learner without neighbours. Its moments are those that it would have, had every
    sample had 0 for the new features; its predictions stay.
    """
    old = learner.export()
    width = len(names) + 1
    where = np.append(places, width - 1)
    fresh = ElasticNet.restore({**old, **_empty(old, names)}).export()
    fresh["means"][:, where] = old["means"]
    fresh["comoments"][:, where[:, None], where] = _whole(old["comoments"])
    fresh["comoments"] = np.tril(fresh["comoments"])
    fresh["own_theta"][:, where] = old["own_theta"]
    if old["own_epoch"]:
        fresh["own_frame"] = np.stack([np.zeros(width), np.ones(width)])
        fresh["own_frame"][:, where] = old["own_frame"]
        fresh["own_epoch"] = old["own_epoch"]
    return ElasticNet.restore(fresh)


def _whole(lower: Array) -> Array:
    """Give symmetric matrices by their lower triangles: places may be in another order."""
    whole: Array = lower + np.tril(lower, -1).transpose(0, 2, 1)
    return whole


def _empty(old: State, names: Sequence[str]) -> State:
    """Give the parts of a state that depend on the number of features, without content."""
    config = {**old["config"], "features": len(names), "names": list(names)}
    width = len(names) + 1
    blank = ElasticNet(len(names), names=list(names)).export()
    sized = ("half", "sent", "answer", "frame", "epoch")
    panes = len(old["counts"])
    return {
        "config": config,
        **{key: blank[key] for key in sized},
        "means": np.zeros((panes, width)),
        "comoments": np.zeros((panes, width, width)),
        "own_theta": np.zeros((2, width)),
        "own_epoch": 0,
        "own_frame": blank["own_frame"],
    }
