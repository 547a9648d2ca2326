# mypy: disallow-untyped-calls=False
# (River publishes types, but not for its metrics)
"""Ordinal regression: counts of (truth, prediction) pairs and the scores that follow."""

from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np
from river import metrics

from anabranch.errors import ConfigurationError, ModelError, SampleError
from anabranch.evaluation.kappa import QuadraticKappa
from anabranch.kernels.pairs import count_pairs
from anabranch.protocol import Array, State, Task

__all__ = ["OrdinalTally", "ordinal_scores"]

_MOST_RANKS = 10_000


class OrdinalTally:
    """Counts how often each rank was predicted for each true rank.

    Parameters
    ----------
    ranks : number of ranks Q; labels are 1 to Q
    window : how many of the newest samples `window_totals` covers; 0 for no window

    Raises
    ------
    ConfigurationError
        `ranks` or `window` is out of range.

    Examples
    --------
    >>> tally = OrdinalTally(ranks=3, window=2)
    >>> tally.add(np.array([1.0, 2.0, 3.0]), np.array([1, 2, 2]))
    >>> tally.totals()["counts"].tolist()
    [[1, 0, 0], [0, 1, 0], [0, 1, 0]]
    >>> tally.window_totals()["counts"].tolist()
    [[0, 0, 0], [0, 1, 0], [0, 1, 0]]
    """

    task: ClassVar[Task] = "ordinal"

    def __init__(self, ranks: int, window: int = 0) -> None:
        if not 2 <= ranks <= _MOST_RANKS:
            raise ConfigurationError(f"ranks = {ranks} cannot be scored; allowed: 2 to 10,000")
        if window < 0:
            raise ConfigurationError(f"window = {window} is negative; allowed: 0 (none) or more")
        self.ranks = ranks
        self.window = window
        self._counts = np.zeros(ranks * ranks, dtype=np.int64)
        self._recent = np.zeros(ranks * ranks, dtype=np.int64)
        self._ring = np.zeros(window, dtype=np.int32)
        self._cursor = np.zeros(2, dtype=np.int64)

    def add(self, y: Array, predicted: Array) -> None:
        """Count a block of pairs, oldest first.

        Parameters
        ----------
        y : (n,) true ranks, any numeric type
        predicted : (n,) predicted ranks, any numeric type

        Raises
        ------
        SampleError
            The lengths differ, or a value is not a rank; nothing is counted then.
        """
        # one writeable contiguous type for the kernel, whatever the caller holds
        truth = np.array(y, dtype=np.float64)
        guess = np.array(predicted, dtype=np.float64)
        if truth.ndim != 1 or truth.shape != guess.shape:
            raise SampleError(
                f"shapes {truth.shape} of y and {guess.shape} of predicted cannot be scored; "
                "allowed: (n,) twice"
            )
        bad = count_pairs(
            truth, guess, self.ranks, self._counts, self._recent, self._ring, self._cursor
        )
        if bad >= 0:
            raise SampleError(
                f"pair {bad} is truth {truth[bad]:g} and prediction {guess[bad]:g}; "
                f"allowed: whole numbers from 1 to {self.ranks}"
            )

    def totals(self) -> dict[str, Array]:
        """Give {"counts": (Q, Q) int64, truth by prediction} over everything counted."""
        return {"counts": self._square(self._counts)}

    def window_totals(self) -> dict[str, Array]:
        """Give the same over the newest `window` pairs."""
        return {"counts": self._square(self._recent)}

    def _square(self, cells: Array) -> Array:
        return cells.reshape(self.ranks, self.ranks).copy()

    def export(self) -> State:
        """Give the whole state; `restore` of it continues exactly."""
        return {
            "schema": 1,
            "kind": self.task,
            "counts": self._square(self._counts),
            "ring": self._ring.copy(),
            "cursor": self._cursor.copy(),
        }

    @classmethod
    def restore(cls, state: State) -> Self:
        """Build a tally from `export`.

        Raises
        ------
        ModelError
            The state is newer than this version reads, or damaged.
        """
        if state.get("schema") != 1:
            raise ModelError(f"schema {state.get('schema')!r} of a tally is unknown; allowed: 1")
        try:
            counts = np.array(state["counts"], dtype=np.int64)
            ring = np.array(state["ring"], dtype=np.int32)
            cursor = np.array(state["cursor"], dtype=np.int64)
            tally = cls(counts.shape[0], ring.shape[0])
        except (LookupError, ValueError, TypeError, OverflowError, ConfigurationError) as error:
            raise ModelError(f"a tally's state is damaged: {error}") from error
        tally._take(counts, ring, cursor)
        return tally

    def _take(self, counts: Array, ring: Array, cursor: Array) -> None:
        """Set the state, refusing what the kernel could not index safely."""
        cells = self.ranks * self.ranks
        if counts.shape != (self.ranks, self.ranks) or cursor.shape != (2,) or ring.ndim != 1:
            raise ModelError("a tally's state is damaged: its arrays do not fit together")
        head, filled = int(cursor[0]), int(cursor[1])
        if not (0 <= filled <= self.window and 0 <= head < max(1, self.window)):
            raise ModelError(f"a tally's state is damaged: cursor {cursor.tolist()} is outside")
        if (counts < 0).any():
            raise ModelError("a tally's state is damaged: a count is negative")
        used = ring[: self.window if filled == self.window else filled]
        if used.size and not (used.min() >= 0 and used.max() < cells):
            raise ModelError("a tally's state is damaged: its window names unknown ranks")
        self._counts, self._ring, self._cursor = counts.ravel(), ring, cursor
        self._recent = np.bincount(used, minlength=cells).astype(np.int64)


def ordinal_scores(totals: Mapping[str, Array]) -> dict[str, float]:
    """Score counts by River's metrics, each cell fed once with its count as weight.

    Without any sample the values are River's: 0 for every metric.

    >>> ordinal_scores({"counts": np.array([[3, 1], [0, 4]])})["Accuracy"]
    0.875
    """
    counts = totals["counts"]
    mae, mse, matrix = metrics.MAE(), metrics.MSE(), metrics.ConfusionMatrix()
    for t, p in np.argwhere(counts).tolist():
        weight = float(counts[t, p])
        mae.update(t + 1, p + 1, weight)
        mse.update(t + 1, p + 1, weight)
        matrix.update(t + 1, p + 1, weight)
    return {
        "MAE": float(mae.get()),
        "MSE": float(mse.get()),
        "Accuracy": float(metrics.Accuracy(cm=matrix).get()),
        "QuadraticKappa": float(QuadraticKappa(cm=matrix).get()),
    }
