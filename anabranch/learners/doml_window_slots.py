"""What rings of rows have in common, dense or sparse."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from anabranch.errors import ModelError
from anabranch.kernels.window import GONE, LOSSY, NONZERO, SEEN, SETTLED, measure
from anabranch.learners.doml_window_sums import Sums, pick_columns
from anabranch.learners.states import saved_array, saved_value
from anabranch.protocol import Array

__all__ = ["Slots"]


class Slots(ABC):
    """Row number m of the stream lies in slot m mod s until row m + s takes its place.

    Parameters
    ----------
    features, outputs, slots : d, q, s
    dtype : of the rows
    """

    def __init__(self, features: int, outputs: int, slots: int, dtype: type) -> None:
        self.features, self.slots, self.dtype = features, slots, dtype
        self.labels: Array = np.zeros((slots, outputs), dtype)
        self.norms = np.zeros(slots)
        self.filled = np.zeros(slots, np.int64)
        self.counters = np.zeros(5, np.int64)

    @property
    def seen(self) -> int:
        """Rows taken since the beginning."""
        return int(self.counters[SEEN])

    @property
    def count(self) -> int:
        """Rows held."""
        return min(int(self.counters[SEEN]), self.slots)

    @property
    def pending(self) -> int:
        """Rows that came since `settle`."""
        return int(self.counters[SEEN] - self.counters[SETTLED])

    @property
    def settled(self) -> int:
        """Rows held when `settle` was last called."""
        return min(int(self.counters[SETTLED]), self.slots)

    @property
    def trace(self) -> float:
        """tr X'X."""
        return float(self.norms.sum())

    @property
    def density(self) -> float:
        """Share of the values that are not zero; 1 without rows."""
        return int(self.counters[NONZERO]) / (self.count * self.features) if self.count else 1.0

    @property
    def order(self) -> Array:
        """Slots, the oldest row's first."""
        return np.arange(self.seen - self.count, self.seen) % self.slots

    @property
    def new_slots(self) -> Array:
        """Slots whose rows came since `settle`, the oldest row's first."""
        return np.arange(self.seen - min(self.pending, self.count), self.seen) % self.slots

    def settle(self) -> None:
        """Note that the inverse is up to date."""
        self.counters[SETTLED] = self.counters[SEEN]
        self.counters[GONE] = 0

    @abstractmethod
    def push(self, X: Array, Y: Array, sums: Sums) -> None:
        """Take rows, oldest first; X'Y follows."""

    @abstractmethod
    def matrix(self) -> Array:
        """Give X (count, d) by slots; maybe a view, do not write."""

    @abstractmethod
    def gram(self) -> Array:
        """Give X'X (d, d) in float64."""

    @abstractmethod
    def times(self, right: Array) -> Array:
        """Give X right, (count, q)."""

    @abstractmethod
    def spread(self, left: Array, factor: float, out: Array) -> None:
        """Add factor X' left to `out` (d, q)."""

    @abstractmethod
    def products(self, slots: Array) -> Array:
        """Give the products of the rows in `slots` with all rows, (p, count) in float64."""

    @abstractmethod
    def cross(self) -> Array:
        """Give X'Y (d, q) in float64, summed up anew."""

    @abstractmethod
    def write(self, X: Array) -> None:
        """Put rows into the first slots; the counters stay."""

    @abstractmethod
    def rows_state(self) -> dict[str, Any]:
        """Give the entries of a state that hold X, and the rows gone since `settle`."""

    @abstractmethod
    def read_rows(self, state: Mapping[str, Any]) -> Array:
        """Give X from a state, and take the rows gone; `ModelError` where it is damaged."""

    def put(self, X: Array, Y: Array) -> None:
        """Put rows by slots in the place of all."""
        self.norms[:], self.filled[:], self.counters[NONZERO] = 0.0, 0, 0
        self.write(X)
        self.labels[: len(Y)] = Y
        measure(np.ascontiguousarray(X, self.dtype), self.norms, self.filled, self.counters)

    def take(self, other: "Slots") -> Self:
        """Take the rows and counters of another ring, as settled."""
        self.counters[:] = other.counters
        self.put(other.matrix(), other.labels[: other.count])
        self.settle()
        return self

    def refresh(self, sums: Sums, *, only_lost: bool = False) -> None:
        """Sum X'Y up anew; `only_lost`: only where a large row took digits with it."""
        if self.counters[LOSSY] or not only_lost:
            self.counters[LOSSY] = 0
            sums.put(self.cross())

    def widen(self, columns: Array) -> None:
        """Pick label columns by number; -1 is a new one of zeros."""
        self.labels = pick_columns(self.labels, columns)

    def export(self) -> dict[str, Any]:
        """Give rows and labels by slots, and the counters."""
        return {
            **self.rows_state(),
            "labels": self.labels[: self.count].copy(),
            "counters": [int(value) for value in self.counters[:NONZERO]],
        }

    def fill(self, state: Mapping[str, Any]) -> None:
        """Take what `export` gave; raises `ModelError` where it is damaged."""
        self.counters[:NONZERO] = saved_counters(state, self.slots)
        X = self.read_rows(state)
        self.put(X, saved_array(state, "labels", (self.count, self.labels.shape[1])))


def saved_counters(state: Mapping[str, Any], slots: int) -> list[int]:
    """Read rows seen, settled, gone, and the mark of lost digits.

    Raises
    ------
    ModelError
        They are no such numbers.
    """
    values = saved_value(state, "counters")
    whole = isinstance(values, list) and all(isinstance(v, int) and v >= 0 for v in values)
    if not whole or len(values) != NONZERO or not values[SETTLED] <= values[SEEN] < 2**62:
        raise ModelError(f"damaged state: counters={values!r}; allowed: {NONZERO} counts")
    if values[GONE] > min(slots, values[SEEN]) or values[LOSSY] > 1:
        raise ModelError(f"damaged state: counters={values!r}; allowed: {NONZERO} counts")
    return list(values)
