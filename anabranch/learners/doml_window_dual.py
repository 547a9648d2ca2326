"""The s x s inverse of a step, kept by replacing rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from anabranch.kernels.window_inverse import swap_slots
from anabranch.learners.doml_window_inverse import Step, inverse_of
from anabranch.learners.doml_window_slots import Slots
from anabranch.learners.states import saved_array
from anabranch.protocol import Array

__all__ = ["Dual"]


class Dual:
    """G = (c I + k X X')^-1 over the s rows: (c I + k X'X)^-1 R = (R - k X' G X R)/c.

    G is in float64 in any case: what is left of R is small, and the errors of G are not.

    Parameters
    ----------
    features, slots : d, s
    dtype : of rows and solutions
    """

    def __init__(self, features: int, slots: int, dtype: type) -> None:
        self.dtype = dtype
        self._most = min(slots // 2, (features + slots) // 32) + 1
        self._inverse = np.zeros((slots, slots))
        self._known = 0

    def outdated(self, rows: Slots) -> bool:
        """Tell whether it is cheaper to build the inverse anew."""
        return len(rows.new_slots) > self._most

    def renew(self, rows: Slots, step: Step) -> None:
        """Build the inverse from X X'."""
        self._put(inverse_of(step.matrix(rows.products(np.arange(rows.count))), np.float64))

    def _put(self, G: Array) -> None:
        """Take an inverse over the first slots."""
        n = self._known = len(G)
        self._inverse[:n, :n] = G

    def solve(self, rows: Slots, step: Step, right: Array) -> Array | None:
        """Take the changes in and give (c I + k X'X)^-1 right; None if digits were lost."""
        n, slots = rows.count, rows.new_slots
        G = self._inverse[:n, :n]
        if len(slots):
            borders, floor = rows.products(slots), step.floor**2
            if not swap_slots(G, slots, borders, step.shift, step.scale, self._known, floor):
                return None
            self._known = n
        out: Array = right / self.dtype(step.shift)
        left = G @ rows.times(right).astype(np.float64, copy=False)
        rows.spread(left.astype(self.dtype, copy=False), -step.scale / step.shift, out)
        return out

    def export(self) -> dict[str, Any]:
        """Give G."""
        return {"inverse": self._inverse[: self._known, : self._known].copy()}

    def fill(self, state: Mapping[str, Any], settled: int) -> None:
        """Take what `export` gave; raises `ModelError` where it is damaged."""
        self._put(saved_array(state, "inverse", (settled, settled)))
