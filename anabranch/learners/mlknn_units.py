"""The units of ML-kNN's fields: as they are, or standard deviations."""

from typing import Self

import numpy as np

from anabranch.errors import ModelError
from anabranch.kernels.doml import note_rows
from anabranch.kernels.moments import COUNT, M2, MEAN
from anabranch.learners.doml_frame import Coordinates
from anabranch.learners.states import saved_array
from anabranch.protocol import Array, State

__all__ = ["Units"]


class Units:
    """Standard deviations of all samples so far, renewed whenever their number has doubled.

    Fields of 0 and 1 only, and constants, stay as they are. Centres do not matter to distances.

    Parameters
    ----------
    features : d
    scaled : whether there are such units; if not, rows stay as they are

    Examples
    --------
    >>> units = Units(1, scaled=True)
    >>> units.until(10)  # after the first row they are renewed
    1
    >>> _ = units.note(np.array([[3.0]]))
    >>> units.note(np.array([[7.0]])).tolist()  # what rows in the old ones are to be multiplied by
    [0.5]
    >>> units.rows(np.array([[8.0]])).tolist()
    [[4.0]]
    """

    def __init__(self, features: int, *, scaled: bool) -> None:
        self.scaled = scaled
        self._moments = np.zeros((4, features))
        self._progress = np.zeros(3)
        self._varied = np.zeros(features)
        self._scale = np.ones(features)

    def rows(self, X: Array) -> Array:
        """Give rows (n, d) in these units."""
        return X / self._scale if self.scaled else X

    def until(self, rows: int) -> int:
        """Give how many of so many rows may come before the units are renewed."""
        if not self.scaled:
            return rows
        count = int(self._progress[COUNT])
        return min(rows, max(1, 1 << count.bit_length()) - count)

    def note(self, X: Array) -> Array | None:
        """Take rows in, not more than `until`; give old units by new ones (d,) if they changed."""
        if not self.scaled:
            return None
        note_rows(X, self._moments, self._progress, self._varied)
        count = int(self._progress[COUNT])
        if count & (count - 1):
            return None
        before, (mean, m2) = self._scale, self._moments[[MEAN, M2]]
        self._scale = Coordinates.of(count, mean, m2, self._varied, bias=False).scale
        return np.asarray(before / self._scale)

    def export(self) -> State:
        """Give the state; of few samples it tells them."""
        mean, m2 = self._moments[[MEAN, M2]]
        return {
            "units": np.stack([mean, m2, self._varied, self._scale]),
            "count": float(self._progress[COUNT]),
        }

    def restore(self, state: State) -> Self:
        """Take the state of `export`.

        Raises
        ------
        ModelError
            It is damaged.
        """
        mean, m2, varied, scale = saved_array(state, "units", (4, len(self._scale)))
        count = float(saved_array(state, "count", ()))
        if (m2 < 0.0).any() or (scale <= 0.0).any() or count < 0.0 or count != int(count):
            raise ModelError("damaged state: units are no moments, scales or count of samples")
        self._moments[MEAN], self._moments[M2] = mean, m2
        self._varied, self._scale = varied, scale
        self._progress[COUNT] = count
        return self
