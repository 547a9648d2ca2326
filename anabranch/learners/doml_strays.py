"""Samples that have left the coordinates a DOML network settled on."""

import numpy as np

from anabranch.kernels.doml import note_strays
from anabranch.learners.doml_frame import Coordinates
from anabranch.learners.states import saved_array, saved_value, saved_whole
from anabranch.protocol import Array, State

__all__ = ["Strays"]

_ROWS = 50
"""Samples that are looked at together."""
_FAR = 4.0
_MANY = 0.25
"""Share of samples beyond _FAR deviations in some field that asks for wider coordinates: one
outlier does not."""
_OLD = 0.1
"""Weight of the old coordinates in the wider ones: their centre is then 3 deviations away."""


class Strays:
    """Sums over a node's newest samples, in the network's coordinates, and what follows of them.

    Where many stray twice in a row, the node says coordinates for the second lot and, within 3
    deviations, the old ones. A scale grows by a fifth at least and never falls, so that nodes
    whose samples differ come to an end of it.

    Examples
    --------
    >>> frame = Coordinates.read(100.0, np.zeros(1), np.ones(1), bias=True)
    >>> strays = Strays(1)
    >>> for _ in range(2):
    ...     strays.note(np.full((60, 1), 30.0), frame)
    ...     wider = strays.wider(frame)
    >>> wider.count, wider.centre.tolist(), wider.scale.round(1).tolist()
    (200.0, [27.0], [9.0])
    """

    def __init__(self, features: int) -> None:
        self._sums = np.zeros((3, features))
        self._count, self._again = 0, False

    def note(self, X: Array, frame: Coordinates) -> None:
        """Take rows (n, d), fields as they are."""
        note_strays(X, frame.centre, frame.scale, _FAR, self._sums)
        self._count += len(X)

    def wider(self, frame: Coordinates) -> Coordinates | None:
        """Give wider coordinates where many samples strayed; looks anew at every 50."""
        if self._count < _ROWS:
            return None
        count, sums, before = self._count, self._sums, self._again
        self.clear()
        out = sums[2] >= _MANY * count
        self._again = bool(out.any())
        if not (before and self._again):
            return None
        mean, square = (1.0 - _OLD) * sums[:2] / count
        moved = mean if frame.bias else np.zeros_like(mean)
        spread = np.maximum(1.0, np.sqrt(_OLD + square - moved * moved))
        centre = np.where(out, frame.centre + frame.scale * moved, frame.centre)
        scale = np.where(out, frame.scale * spread, frame.scale)
        return Coordinates.read(frame.count + 2.0 * _ROWS, centre, scale, bias=frame.bias)

    def clear(self) -> None:
        """Begin to look anew."""
        self._sums, self._count, self._again = np.zeros_like(self._sums), 0, False

    def export(self) -> State:
        """Give the state; sums of few samples, which tell them, are in it."""
        counts = {"strays_count": self._count, "strays_again": self._again}
        return {"strays": self._sums.copy(), **counts}

    def restore(self, state: State) -> None:
        """Take the state of `export`.

        Raises
        ------
        ModelError
            It is damaged.
        """
        self._sums = saved_array(state, "strays", self._sums.shape)
        self._count = saved_whole(state, "strays_count", 1 << 53)
        self._again = bool(saved_value(state, "strays_again"))
