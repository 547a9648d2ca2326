"""Moments of fields and target jointly: all that least squares needs of the samples."""

from typing import Self

import numpy as np

from anabranch.errors import ModelError
from anabranch.kernels.elastic import merge, observe
from anabranch.kernels.elastic_fold import fold
from anabranch.learners.states import saved_array, saved_value, saved_whole
from anabranch.protocol import Array, State

__all__ = ["CoMoments"]

_MOST = 1 << 53


class CoMoments:
    """Count, mean and co-moments of (x, y), over everything, decayed, or over a window.

    Parameters
    ----------
    features : number of fields p
    decay : what a sample counts after each later one, of its own node; 1 for no forgetting
    window : newest samples that count, 0 for all; the oldest leave a pane at a time
    panes : panes of a window

    Attributes
    ----------
    rows : samples ever seen; changes whenever the moments do

    Examples
    --------
    >>> moments = CoMoments(1)
    >>> moments.observe(np.array([[0.0], [2.0]]), np.array([1.0, 5.0]))
    >>> count, mean, S = moments.total()
    >>> count, mean.tolist(), np.tril(S).tolist()
    (2.0, [1.0, 3.0], [[2.0, 0.0], [4.0, 8.0]])
    """

    def __init__(self, features: int, decay: float = 1.0, window: int = 0, panes: int = 10) -> None:
        size, kept = features + 1, panes if window else 1
        self.decay = decay
        self.pane = -(-window // panes)
        self.rows = 0
        self._place, self._filled = 0, 0
        self._counts, self._means = np.zeros(kept), np.zeros((kept, size))
        self._S = np.zeros((kept, size, size))

    def observe(self, X: Array, y: Array) -> None:
        """Take rows X (n, p) with targets y (n,) in, one by one."""
        if not self.pane:
            self._add(X, y)
            return
        start = 0
        while start < len(y):
            room = self.pane - self._filled
            if room == 0:
                self._turn()
                continue
            stop = min(start + room, len(y))
            self._add(X[start:stop], y[start:stop])
            start = stop

    def _add(self, X: Array, y: Array) -> None:
        k = self._place
        mean, S = self._means[k], self._S[k]
        self._counts[k] = observe(X, y, self.decay, float(self._counts[k]), mean, S)
        self.rows += len(y)
        self._filled += len(y)

    def _turn(self) -> None:
        """Make the oldest pane the newest, empty."""
        self._place = (self._place + 1) % len(self._counts)
        self._filled = 0
        self._counts[self._place] = 0.0
        self._means[self._place] = 0.0
        self._S[self._place] = 0.0

    def fold(self, X: Array, y: Array) -> None:
        """Take rows in at once: another order of summation than `observe`; plain moments only."""
        self._counts[0] = fold(X, y, self._counts[0], self._means[0], self._S[0])
        self.rows += len(y)

    def begin(self, X: Array, y: Array) -> None:
        """Take the first rows in, by one product; its last bits depend on BLAS's threads."""
        mean, rows = self._means[0], np.empty((len(y), len(self._means[0])))
        X.mean(axis=0, out=mean[:-1])
        mean[-1] = y.mean()
        np.subtract(X, mean[:-1], out=rows[:, :-1])
        np.subtract(y, mean[-1], out=rows[:, -1])
        np.matmul(rows.T, rows, out=self._S[0])
        self._counts[0] = len(y)
        self.rows = len(y)

    @property
    def count(self) -> float:
        """Weight of the samples that count."""
        return float(self._counts[0]) if len(self._counts) == 1 else sum(self._counts.tolist())

    def total(self) -> tuple[float, Array, Array]:
        """Give n, the mean (p + 1,) and S (p + 1, p + 1), lower triangle, over all panes."""
        if len(self._counts) == 1:
            return float(self._counts[0]), self._means[0], self._S[0]
        count, mean, S = 0.0, np.zeros_like(self._means[0]), np.zeros_like(self._S[0])
        for k in range(len(self._counts)):
            count = merge(count, mean, S, self._counts[k], self._means[k], self._S[k])
        return count, mean, S

    def marginal(self) -> tuple[float, Array, Array]:
        """Give n, the mean and the sums of squares about it, (p + 1,) each."""
        count, mean, S = self.total()
        return count, mean.copy(), S.diagonal().copy()

    def clear(self) -> None:
        """Forget all samples."""
        for array in (self._counts, self._means, self._S):
            array[:] = 0.0
        self._place = self._filled = 0
        self.rows += 1

    def shrink(self, samples: int) -> None:
        """Keep the panes that the newest samples are in; without panes, weigh all of it as they.

        >>> moments = CoMoments(1)
        >>> moments.observe(np.zeros((50, 1)), np.ones(50))
        >>> moments.shrink(10)
        >>> moments.count
        10.0
        """
        if samples >= self.count:
            return
        if self.pane:
            kept = 1 + max(0, -(-(samples - self._filled) // self.pane))
            old = (self._place - np.arange(kept, len(self._counts))) % len(self._counts)
            for array in (self._counts, self._means, self._S):
                array[old] = 0.0
        else:
            share = samples / self.count
            self._counts *= share
            self._S *= share
        self.rows += 1

    def export(self) -> State:
        """Give the whole state; nothing in it is an alias."""
        return {
            "counts": self._counts.copy(),
            "means": self._means.copy(),
            "comoments": np.tril(self._S),
            "pane": [self.rows, self._place, self._filled],
        }

    def restore(self, state: State) -> Self:
        """Take the state of moments of the same settings.

        Raises
        ------
        ModelError
            It is damaged.
        """
        kept, size = self._means.shape
        self._counts = saved_array(state, "counts", (kept,))
        self._means = saved_array(state, "means", (kept, size))
        self._S = saved_array(state, "comoments", (kept, size, size))
        if (self._counts < 0.0).any() or (np.diagonal(self._S, axis1=1, axis2=2) < 0.0).any():
            raise ModelError("damaged state: counts or comoments is negative")
        place = saved_value(state, "pane")
        if not isinstance(place, list) or len(place) != 3:
            raise ModelError(f"damaged state: pane={place!r}; allowed: three whole numbers")
        entries = dict(zip(("rows", "place", "filled"), place, strict=True))
        self.rows = saved_whole(entries, "rows", _MOST)
        self._place = saved_whole(entries, "place", kept - 1)
        self._filled = saved_whole(entries, "filled", self.pane if self.pane else _MOST)
        return self
