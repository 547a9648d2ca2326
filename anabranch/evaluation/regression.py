"""Regression: sums over errors and the scores that follow."""

from collections.abc import Mapping
from math import frexp, ldexp, sqrt
from typing import ClassVar, Self

import numpy as np

from anabranch.errors import ConfigurationError, ModelError, SampleError
from anabranch.evaluation.adjusted_r2 import adjusted
from anabranch.kernels.residuals import (
    ABSOLUTE,
    COUNT,
    MEAN,
    SPREAD,
    SQUARED,
    add_errors,
    remember,
)
from anabranch.learners.states import saved_array, saved_value, saved_whole
from anabranch.protocol import Array, State, Task

__all__ = ["RegressionTally", "regression_scores"]

_MOST = 1 << 53


class RegressionTally:
    """Sums of the errors of predictions, and the spread of what was to be predicted.

    Totals are summable between nodes without losing the spread of targets far from 0: they
    are about a round number near the mean, which is their name. Nodes with the same such
    number share a name; the scores join the others as sets of samples are joined.

    Parameters
    ----------
    features : number of features, for the adjusted R^2
    window : how many of the newest samples `window_totals` covers; 0 for no window

    Raises
    ------
    ConfigurationError
        `features` or `window` is negative.

    Examples
    --------
    >>> tally = RegressionTally()
    >>> tally.add(np.array([3.0, -0.5, 2.0, 7.0]), np.array([2.5, 0.0, 2.0, 8.0]))
    >>> {name: round(value, 4) for name, value in regression_scores(tally.totals()).items()}
    {'RMSE': 0.6124, 'MAE': 0.5, 'R2': 0.9486, 'AdjustedR2': 0.9486}
    """

    task: ClassVar[Task] = "regression"

    def __init__(self, features: int = 0, window: int = 0) -> None:
        for name, value in (("features", features), ("window", window)):
            if value < 0:
                raise ConfigurationError(f"{name} = {value} is negative; allowed: 0 or more")
        self.features, self.window = features, window
        self._sums = np.zeros(5)
        self._ring = np.zeros((window, 2))
        self._cursor = np.zeros(2, dtype=np.int64)

    def add(self, y: Array, predicted: Array) -> None:
        """Take a block of pairs, oldest first: (n,) targets and predictions.

        Raises
        ------
        SampleError
            The lengths differ, or a value is not finite; nothing is counted then.
        """
        truth = np.array(y, dtype=np.float64)
        guess = np.array(predicted, dtype=np.float64)
        if truth.ndim != 1 or truth.shape != guess.shape:
            raise SampleError(
                f"shapes {truth.shape} of y and {guess.shape} of predicted cannot be scored; "
                "allowed: (n,) twice"
            )
        bad = ~(np.isfinite(truth) & np.isfinite(guess))
        if bad.any():
            i = int(np.argmax(bad))
            raise SampleError(
                f"pair {i} is target {truth[i]:g} and prediction {guess[i]:g}; allowed: finite"
            )
        add_errors(truth, guess, self._sums)
        remember(truth, guess, self._ring, self._cursor)

    def totals(self) -> dict[str, Array]:
        """Give {anchor: (6,)}: n, n p, sums |e|, e^2, y - anchor and its square."""
        return self._about(self._sums)

    def window_totals(self) -> dict[str, Array]:
        """Give the same over the newest `window` pairs."""
        head, filled = self._cursor.tolist()
        newest = np.roll(self._ring, -head, axis=0)[self.window - filled :]
        sums = np.zeros(5)
        add_errors(newest[:, 0].copy(), newest[:, 1].copy(), sums)
        return self._about(sums)

    def _about(self, sums: Array) -> dict[str, Array]:
        count = float(sums[COUNT])
        if count == 0.0:
            return {}
        mean, spread = float(sums[MEAN]), float(sums[SPREAD])
        anchor = _anchor(mean, sqrt(max(0.0, spread) / count))
        away = mean - anchor
        about = [count * away, spread + count * away * away]
        errors = [float(sums[ABSOLUTE]), float(sums[SQUARED])]
        return {anchor.hex(): np.array([count, count * self.features, *errors, *about])}

    def export(self) -> State:
        """Give the whole state; `restore` of it continues exactly."""
        return {
            "schema": 1,
            "kind": self.task,
            "features": self.features,
            "sums": self._sums.copy(),
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
        ring = saved_array(state, "ring", (-1, 2))
        tally = cls(saved_whole(state, "features", _MOST), len(ring))
        tally._ring, tally._sums = ring, saved_array(state, "sums", (5,))
        cursor = np.array(saved_value(state, "cursor"), dtype=np.int64)
        if cursor.shape != (2,) or not (
            0 <= cursor[1] <= tally.window and 0 <= cursor[0] < max(1, tally.window)
        ):
            raise ModelError(f"a tally's state is damaged: cursor {cursor.tolist()} is outside")
        tally._cursor = cursor
        return tally


def _anchor(mean: float, deviation: float) -> float:
    """Round the mean to a multiple of a power of two a few deviations wide."""
    width = ldexp(1.0, frexp(deviation)[1] + 2) if deviation > 0.0 else 0.0
    return round(mean / width) * width if width and abs(mean / width) < _MOST else mean


def regression_scores(totals: Mapping[str, Array]) -> dict[str, float]:
    """Score totals as River's RMSE, MAE and R2 would, and by the adjusted R^2.

    Without any sample the values are River's: 0 for every metric.

    >>> regression_scores({})["R2"]
    0.0
    """
    count = sum(float(t[0]) for t in totals.values())
    if count == 0.0:
        return {"RMSE": 0.0, "MAE": 0.0, "R2": 0.0, "AdjustedR2": 0.0}
    features, absolute, squared = (
        sum(float(t[i]) for t in totals.values()) / count for i in (1, 2, 3)
    )
    spread = _spread(totals)
    r2 = 1.0 - squared * count / spread if count > 1 and spread > 0.0 else 0.0
    return {
        "RMSE": sqrt(squared),
        "MAE": absolute,
        "R2": r2,
        "AdjustedR2": adjusted(r2, count, features),
    }


def _spread(totals: Mapping[str, Array]) -> float:
    """Give the sum of squares of all targets about their mean (Chan)."""
    count = mean = spread = 0.0
    for name in sorted(totals):
        n, about, square = (float(totals[name][i]) for i in (0, 4, 5))
        other = float.fromhex(name) + about / n
        spread += max(0.0, square - about * about / n)
        spread += (other - mean) * (other - mean) * count * n / (count + n)
        count, mean = count + n, mean + (other - mean) * n / (count + n)
    return spread
