"""Taking a window of samples to other coordinates."""

import numpy as np

from anabranch.learners.doml_frame import Coordinates
from anabranch.learners.doml_window import Window
from anabranch.protocol import Array

__all__ = ["recast"]


def recast(window: Window, old: Coordinates, new: Coordinates) -> Window:
    """Give the window in new coordinates; X'X where it holds no rows.

    A row z becomes z T, so X'X becomes T'X'X T and X'Y becomes T'X'Y.
    """
    if window.settings.capacity:
        X, Y = window.rows
        window.replace(old.recast(X.astype(np.float64), new), Y)
        return window
    state = window.export()
    T = _transform(old, new)
    lower = state["gram"]
    gram = T.T @ (np.tril(lower) + np.tril(lower, -1).T) @ T
    tail = state["tail"].astype(np.float64) @ T
    state |= {"gram": np.tril(gram), "tail": tail, "cross": T.T @ state["cross"], "stale": 1}
    state["trace"] = float(np.trace(gram) + np.square(tail).sum())
    return Window.restore(state)


def _transform(old: Coordinates, new: Coordinates) -> Array:
    """Give T with new row = old row T."""
    d = len(old.centre)
    T = np.diag(np.append(old.scale / new.scale, np.ones(int(old.bias))))
    if old.bias:
        T[d, :d] = (old.centre - new.centre) / new.scale
    return T
