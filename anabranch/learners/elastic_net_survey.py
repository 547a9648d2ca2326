"""Merging what nodes tell of their samples: counts, means, variances; never a sample."""

from collections.abc import Mapping

import numpy as np

from anabranch.errors import ModelError
from anabranch.kernels.elastic_star import merge_told
from anabranch.learners.elastic_net_part import saved_names
from anabranch.learners.elastic_net_rows import NamedRows
from anabranch.learners.states import saved_array
from anabranch.protocol import Array, NodeId, State

__all__ = ["Survey", "merge_marginals"]

Marginal = tuple[float, Array, Array]
"""n, mean, sum of squares about it."""


def merge_marginals(one: Marginal, two: Marginal) -> Marginal:
    """Merge the moments of two sets of samples (Chan).

    >>> a, b = np.array([1.0]), np.array([3.0])
    >>> merge_marginals((1.0, a, np.zeros(1)), (1.0, b, np.zeros(1)))
    (2.0, array([2.]), array([2.]))
    """
    if one[0] == 0.0 or two[0] == 0.0:
        return two if one[0] == 0.0 else one
    count = one[0] + two[0]
    d = two[1] - one[1]
    share = two[0] / count
    return count, one[1] + share * d, one[2] + two[2] + (one[0] * share) * d * d


class Survey:
    """The newest means and variances heard from each node.

    Parameters
    ----------
    size : p + 1
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._known = NamedRows(2 * size)

    def put(self, name: NodeId, mean: Array, variance: Array) -> None:
        """Remember what a node tells."""
        row = self._known.row(name)
        row[: self.size], row[self.size :] = mean, variance

    def drop(self, name: NodeId) -> None:
        """Forget a node."""
        self._known.drop(name)

    def merged(self, counts: Mapping[NodeId, float], own: Marginal) -> Marginal:
        """Merge all nodes' moments, with the newest counts, in sorted order of names."""
        count, mean, m2 = own[0], own[1].copy(), own[2].copy()
        told = np.array([counts.get(name, 0.0) for name in self._known.names])
        return merge_told(told, self._known.rows, count, mean, m2), mean, m2

    def export(self) -> State:
        """Give the state."""
        names = self._known.names
        rows = self._known.rows.reshape(len(names), 2, self.size)
        return {"surveyed": list(names), "survey": rows.copy()}

    def restore(self, state: State) -> None:
        """Take it back.

        Raises
        ------
        ModelError
            It is damaged.
        """
        names = saved_names(state, "surveyed")
        rows = saved_array(state, "survey", (len(names), 2, self.size))
        if rows.size and rows[:, 1].min() < 0.0:
            raise ModelError("damaged state: a variance in survey is negative")
        self._known.fill(names, rows.reshape(len(names), 2 * self.size))
