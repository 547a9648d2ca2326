"""River's detectors over the chunk means of one node, and where they say the change was."""

from math import inf, log
from typing import Any

import numpy as np
from river.drift import ADWIN, KSWIN, PageHinkley

from anabranch.drift.rule import DriftRule
from anabranch.protocol import Array

__all__ = ["Detector"]

_KEPT = 400, 200
"""Newest values a detector has at most, and those it begins anew with when there are more."""
_CEILING = 4.0
"""Deviations above the usual to which a value is cut: one alone is no drift."""
_SLACK = 0.5
"""Page-Hinkley's delta: half the smallest shift worth finding, in deviations of a chunk's mean."""
_SAMPLES, _LEAST, _MOST = 1000, 100, 200
"""KSWIN's window in samples, and in values at least and at most."""
_NEWEST = 5
"""It has so many times as many values as those compared with the rest. A change is among these for
so many tests: its chance is of all of them."""
_CAREFUL, _DEVIATION = 100.0, 3.0
"""ADWIN's bound is loose, and is for values between 0 and 1: with so many times the chance, and so
large a deviation of a chunk's mean, calm errors still raise no more false alarms."""


def _window(rule: DriftRule) -> int:
    """Give the values in KSWIN's window.

    Two samples of n values can differ by a chance of 2/(2n over n) at least, so 20 must be new for
    that of a node; a learner that adapts leaves few large ones unless they are of few samples each.
    """
    return min(max(_LEAST, _SAMPLES // rule.every), _MOST)


def _kept(rule: DriftRule) -> tuple[int, int]:
    if rule.detector != "kswin":
        return _KEPT
    return _window(rule) + _LEAST // 2, _window(rule) - 1


def _make(rule: DriftRule) -> Any:
    """Make River's detector for values whose noise has deviation 1; `_DEVIATION` for ADWIN."""
    if rule.detector == "adwin":
        return ADWIN(  # type: ignore[no-untyped-call]
            min(_CAREFUL * rule.share, 0.5),
            clock=1,
            min_window_length=2,
            grace_period=rule.warm_up,
        )
    if rule.detector == "kswin":
        newest = _window(rule) // _NEWEST
        return KSWIN(min(newest * rule.share, 0.5), _window(rule), newest, seed=0)
    # Siegmund: the mean time between false alarms is exp(2 k (h + 1.17))/(2 k^2).
    threshold = log(2.0 * _SLACK**2 / rule.share) / (2.0 * _SLACK) - 1.17
    return PageHinkley(rule.warm_up, _SLACK, max(threshold, 1.0), alpha=1.0, mode="both")


class Detector:
    """Values in, the length of the new regime out, once there is one.

    Its state is the values it has: begun anew with them it is the same again, whatever River
    keeps inside. There are never more than a few hundred.

    Parameters
    ----------
    rule : which detector

    Attributes
    ----------
    values, rounds : mean error of each chunk, and the round in which it began, oldest first

    Examples
    --------
    >>> detector = Detector(DriftRule("page-hinkley", warm_up=10))
    >>> values = [0.2, 0.4, 0.3] * 20 + [0.5] * 9
    >>> [(at, new) for at, value in enumerate(values) if (new := detector.add(at, value))][0]
    (66, 7)
    """

    def __init__(self, rule: DriftRule) -> None:
        self.rule = rule
        self.values: list[float] = []
        self.rounds: list[int] = []
        self._built = 0
        self._scale = 0.0
        self._limit = self._used = inf
        """Values are cut to the first; the second was used for the noise that it came from."""
        self._river: Any = None

    def add(self, round: int, value: float) -> int:
        """Take a chunk's mean; give how many values are of the new regime, 0 for no change."""
        self.values.append(value)
        self.rounds.append(round)
        most, kept = _kept(self.rule)
        if len(self.values) > most:
            self._keep(kept)
            self._build(kept)
        elif self._river is None or len(self.values) >= 2 * self._built:
            self._build(len(self.values))
        else:
            self._river.update(self._scaled(value))
        if self._river is None or not self._river.drift_detected:
            return 0
        return _newest_regime(np.minimum(self.values, self._limit))

    def restart(self, kept: int) -> None:
        """Begin anew with the newest values, so many, those of a new regime."""
        self._keep(kept)
        self._limit = inf
        self._build(len(self.values))

    def _keep(self, kept: int) -> None:
        start = max(0, len(self.values) - kept)
        self.values, self.rounds = self.values[start:], self.rounds[start:]

    def means(self, length: int) -> tuple[float, float]:
        """Give the mean before the newest values, so many, without what was wild, and of these."""
        values = np.array(self.values)
        before = np.minimum(values[:-length], self._limit)
        return float(before.mean()), float(values[-length:].mean())

    def _build(self, count: int) -> None:
        """Give a fresh detector the first values, once they tell how large their noise is.

        Again when there are twice as many: then that is known better.
        """
        self._built, self._used, self._river = count, self._limit, None
        first = np.minimum(self.values[:count], self._used)
        self._scale = _noise(first)
        if count < self.rule.warm_up or self._scale == 0.0:
            return
        self._limit = float(np.median(first)) + _CEILING * self._scale
        self._river = _make(self.rule)
        for value in self.values[:count]:
            self._river.update(self._scaled(value))

    def _scaled(self, value: float) -> float:
        unit = _DEVIATION if self.rule.detector == "adwin" else 1.0
        return unit * min(value, self._limit) / self._scale

    def export(self) -> dict[str, Any]:
        """Give the state as plain values."""
        values = {"values": list(self.values), "rounds": list(self.rounds)}
        return {**values, "built": self._built, "used": self._used}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `export` gave."""
        self.values, self.rounds = list(state["values"]), list(state["rounds"])
        self._limit = state["used"]
        self._build(state["built"])
        for value in self.values[state["built"] :] if self._river else ():
            self._river.update(self._scaled(value))


def _noise(values: Array) -> float:
    """Deviation of the values about a mean that may move: from what neighbours differ by.

    By its standard error too large, as too small a one raises false alarms.
    """
    if len(values) < 2:
        return 0.0
    steps = np.diff(values)
    return float(np.sqrt(0.5 * np.mean(steps * steps)) * (1.0 + len(steps) ** -0.5))


def _newest_regime(values: Array) -> int:
    """Give how many values are behind the most likely change of the mean.

    ADWIN's own width is no such estimate: it keeps most of what was before a sudden change.

    >>> _newest_regime(np.array([1.0, 0.0, 1.0, 0.0, 5.0, 6.0, 5.0]))
    3
    """
    n = len(values)
    before = np.arange(1, n)
    excess = np.cumsum(values - values.mean())[:-1]
    best, found = -inf, 1
    for split, score in zip(before, excess**2 / (before * (n - before)), strict=True):
        if score > best:
            best, found = float(score), n - int(split)
    return found
