"""Giving DOML more features, as if they had been 0 until now."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from anabranch.learners import DOML
from anabranch.learners.doml_window import Window
from anabranch.protocol import Array, State

__all__ = ["widen"]

_WINDOW = "window_"
_FEATURE_AXIS = {"P": 0, "beta": 0, "prior": 0, "base": 1, "moments": 1, "frame": 1, "strays": 1}


def widen(learner: DOML, names: Sequence[str], places: Array) -> DOML:
    """Give the learner the features `names`, its own standing at `places` among them.

    Both in sorted order, and for a learner without neighbours. Its samples and moments are
    those that it would have, had every sample had 0 for the new features; predictions stay.
    """
    old = learner.export()
    config = {**old["config"], "features": len(names), "names": list(names)}
    blank = DOML(**config)
    blank.admit(learner.labels)
    fresh = blank.export()
    rows = np.append(places, len(names)) if config["bias"] else places
    state = {key: _kept(value, fresh[key]) for key, value in old.items() if key in fresh}
    for key, axis in _FEATURE_AXIS.items():
        at = places if old[key].shape[axis] == len(places) else rows
        state[key] = fresh[key].copy()
        state[key][(slice(None),) * axis + (at,)] = old[key]
    window = {key[len(_WINDOW) :]: old[key] for key in old if key.startswith(_WINDOW)}
    wider = _wider(window, rows, int(fresh[_WINDOW + "features"]))
    state |= {_WINDOW + key: value for key, value in wider.items()}
    return DOML.restore({**state, "config": config})


def _kept(value: Any, blank: Any) -> Any:
    """Give an entry, but an empty one for what depends on the width: told to neighbours, if any."""
    fits = not isinstance(value, np.ndarray) or value.shape == blank.shape
    return value if fits else blank


def _wider(state: State, rows: Array, width: int) -> State:
    """Give the state of a window with zeros between the features; its inverse is made anew."""
    old = Window.restore(state)
    own = old.settings
    new = Window(
        width, old.outputs, own.capacity, dtype=own.dtype, form=own.form,
        refactorise=own.refactorise,
    )  # fmt: skip
    if own.capacity:
        X, Y = old.rows
        new.add(_apart(X, rows, width), Y)
        return new.export()
    gram = np.zeros((width, width))
    gram[np.ix_(rows, rows)] = state["gram"] + np.tril(state["gram"], -1).T
    cross = np.zeros((width, old.outputs))
    cross[rows] = state["cross"]
    kept = {key: state[key] for key in ("trace", "counters")}
    tail = _apart(state["tail"], rows, width)
    return {**new.export(), **kept, "gram": np.tril(gram), "cross": cross, "tail": tail}


def _apart(X: Array, rows: Array, width: int) -> Array:
    """Give X (n, k) as (n, width), with zeros between its columns."""
    out = np.zeros((len(X), width), dtype=X.dtype)
    out[:, rows] = X
    return out
