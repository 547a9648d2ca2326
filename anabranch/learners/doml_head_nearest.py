"""Labels by ML-kNN over a node's own samples, in the space P projects to."""

import numpy as np

from anabranch.kernels.mlknn_window import learn_rows, window_margins
from anabranch.learners.doml_head import HALF, Head
from anabranch.learners.mlknn_window import empty_window, with_room
from anabranch.protocol import Array

__all__ = ["NearestHead"]

_SMOOTHING = 1.0
_NO_MARGINS = np.empty((0, 0))


class NearestHead(Head):
    """ML-kNN of P'x among the P'x of the samples kept; the threshold .5 while there are none.

    Whenever P moved all samples are projected anew: O(n^2 q) for n samples.
    """

    needs_points = True

    def __init__(self, labels: int, neighbours: int, cache: int) -> None:
        self.neighbours, self.cache = neighbours, cache
        self._window = empty_window(labels, labels, neighbours)

    def place(self, points: Array, y: Array) -> None:
        """Have these samples: P'x (n, q), y (n, q), oldest first."""
        self._window = empty_window(points.shape[1], points.shape[1], self.neighbours)
        self._learn(points, y, _NO_MARGINS)

    def margins(self, scores: Array) -> Array:
        """Give 2 P(label | neighbours) - 1."""
        if not self._window.ring[0]:
            return scores - HALF
        return np.asarray(window_margins(self._window, np.ascontiguousarray(scores), _SMOOTHING))

    def margins_then_learn(self, scores: Array, y: Array) -> Array:
        """Give each row's margins, then have the row among the samples."""
        first = not self._window.ring[0]
        out = np.empty(scores.shape)
        self._learn(scores, y, out)
        if first:
            out[:1] = scores[:1] - HALF
        return out

    def _learn(self, points: Array, y: Array, out: Array) -> None:
        self._window = with_room(self._window, len(points), self.cache)
        rows = np.ascontiguousarray(points, dtype=np.float64)
        learn_rows(self._window, rows, y.astype(np.uint8), self.cache, _SMOOTHING, out)
