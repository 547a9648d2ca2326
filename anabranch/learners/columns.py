"""Which features a node computes: those that it or a neighbour has had a use for of late."""

from collections.abc import Iterable

import numpy as np

from anabranch.features.maps import FeatureMap
from anabranch.kernels.mixing import count_idle, mark_used
from anabranch.learners.inbox import sealed
from anabranch.protocol import Array

__all__ = ["Columns"]

_FEW = 16
"""Features are given up once there are 1/_FEW of those computed: it means moving the others."""


class Columns:
    """The features of a map in use, and for how many rounds the others have not been.

    A feature nobody has sent a weight of for `patience` rounds is given up: it is not computed
    any more, nor are its weight stored and sent. It comes back with weight 0 in the round a
    neighbour sends one. What the whole network has given up stays away.

    Parameters
    ----------
    whole : the map with all D features
    patience : rounds; 0: all features for ever

    Examples
    --------
    >>> from anabranch.features import LinearMap
    >>> columns = Columns(LinearMap.of(3), patience=2)
    >>> sent = np.array([0.3, 0.0, -1.0])
    >>> columns.note([sent]), columns.note([sent]), columns.map.columns.tolist()
    (False, True, [0, 2])
    >>> columns.note([sent, np.array([0.0, 0.1, 0.0])]), columns.map.columns.tolist()
    (True, [0, 1, 2])
    """

    def __init__(self, whole: FeatureMap, patience: int) -> None:
        self.whole = self.map = whole
        self.patience = patience
        self.idle = np.zeros(whole.dimension, dtype=np.int64)
        self._kept = np.ones(whole.dimension, dtype=np.bool_)

    @property
    def all(self) -> bool:
        """Whether all features are computed."""
        return self.map is self.whole

    def note(self, sent: Iterable[Array]) -> bool:
        """Note the weights (D,) that were sent in a round; tell whether features change."""
        found = [mark_used(self.idle, sealed(weights)) for weights in sent]
        if not any(found):
            return False
        gone, back, wanted = count_idle(self.idle, self._kept, self.patience)
        if wanted == 0 or (back == 0 and gone * _FEW < self.map.dimension):
            return False
        before = self.map.columns
        self.take(np.flatnonzero(self.idle < self.patience))
        return not np.array_equal(before, self.map.columns)

    def take(self, columns: Array) -> None:
        """Compute these features, (m,) sorted numbers, and such as come with them."""
        every = columns.size == self.whole.dimension
        self.map = self.whole if every else self.whole.restrict(columns)
        self._kept[:] = False
        self._kept[self.map.columns] = True
        self.idle[~self._kept] = np.maximum(self.idle[~self._kept], self.patience)

    def spread(self, weights: Array) -> Array:
        """Give weights (..., d) of the features in use their places among all D, with zeros."""
        if self.all:
            return weights.copy()
        wide = np.zeros((*weights.shape[:-1], self.whole.dimension))
        wide[..., self.map.columns] = weights
        return wide
