"""All rows since the beginning, as X'X."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.linalg import blas

from anabranch.errors import ModelError
from anabranch.kernels.window import accumulate
from anabranch.learners.doml_window_sums import Sums
from anabranch.learners.states import saved_array, saved_value
from anabranch.protocol import Array

__all__ = ["Endless"]

_CHUNK = 64
"""Rows that X'X takes at once: many at a time are much faster than one by one."""


class Endless:
    """X'X of the rows up to some time, and the few rows since then.

    Parameters
    ----------
    features : d
    dtype : of the rows
    keep : rows the inverse may be behind without being built anew
    """

    def __init__(self, features: int, dtype: type, keep: int) -> None:
        self.features = features
        self.dtype = dtype
        self.trace = 0.0
        self.seen = 0
        self.spoiled = False
        self.settled = 0
        self.density = 1.0
        self._tail: Array = np.zeros((_CHUNK + keep, features), dtype)
        self._used = 0
        self._gram = np.zeros((features, features), order="F")

    @property
    def count(self) -> int:
        """Rows taken."""
        return self.seen

    @property
    def pending(self) -> int:
        """Rows that came since `settle`."""
        return self.seen - self.settled

    @property
    def changed(self) -> int:
        """How many rows came since `settle`."""
        return self.pending

    def push(self, X: Array, Y: Array, sums: Sums) -> None:
        """Take rows, oldest first; X'Y follows."""
        start = 0
        while start < len(X):
            if self._used == len(self._tail):
                self.spoiled |= self.pending > 0
                self._flush()
            rows = X[start : start + len(self._tail) - self._used]
            self._tail[self._used : self._used + len(rows)] = rows
            self._used += len(rows)
            self.seen += len(rows)
            start += len(rows)
        self.trace = accumulate(X, Y, self.trace, sums.total, sums.cross)

    def settle(self) -> None:
        """Note that the inverse is up to date."""
        self.settled = self.seen
        self.spoiled = False
        if self._used >= _CHUNK:
            self._flush()

    def _flush(self) -> None:
        """Take the tail into X'X."""
        rows = self._tail[: self._used].astype(np.float64, copy=False)
        self._gram = blas.dsyrk(
            1.0, rows.T, beta=1.0, c=self._gram, lower=1, overwrite_c=1, trans=0
        )
        self._used = 0

    def changes(self) -> tuple[Array, Array]:
        """Give the rows that came since `settle`; and +1 each."""
        return self._tail[self._used - self.pending : self._used], np.ones(self.pending)

    def gram(self) -> Array:
        """Give X'X (d, d) in float64, of which the lower triangle counts."""
        self._flush()
        return self._gram.copy(order="F")

    def refresh(self, sums: Sums, *, only_lost: bool = False) -> None:
        """Nothing: what came stays."""

    def widen(self, columns: Array) -> None:
        """Nothing: it holds no labels."""

    def export(self) -> dict[str, Any]:
        """Give X'X, the tail and the counters."""
        return {
            "gram": np.tril(self._gram),
            "tail": self._tail[: self._used].copy(),
            "trace": self.trace,
            "counters": [self.seen, self.settled, int(self.spoiled)],
        }

    def fill(self, state: Mapping[str, Any]) -> None:
        """Take what `export` gave; raises `ModelError` where it is damaged."""
        values = saved_value(state, "counters")
        whole = isinstance(values, list) and all(isinstance(v, int) and v >= 0 for v in values)
        if not whole or len(values) != 3 or values[1] > values[0] or values[2] > 1:
            raise ModelError(f"damaged state: counters={values!r}; allowed: 3 counts")
        self.seen, self.settled, self.spoiled = values[0], values[1], bool(values[2])
        tail = saved_array(state, "tail", (-1, self.features))
        if len(tail) > min(len(self._tail), self.seen):
            raise ModelError(f"damaged state: tail has {len(tail)} rows; allowed: {self.seen}")
        self._used = len(tail)
        self._tail[: self._used] = tail
        self._gram[:] = saved_array(state, "gram", (self.features, self.features))
        self.trace = float(saved_array(state, "trace", ()))
        if self.trace < 0.0:
            raise ModelError(f"damaged state: trace={self.trace!r}; allowed: >= 0")
