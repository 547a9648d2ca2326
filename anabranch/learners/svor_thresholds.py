"""Thresholds that go best with a function: their losses by convexity, their order by pooling."""

from dataclasses import dataclass

import numpy as np

from anabranch.protocol import Array

__all__ = ["best_thresholds", "spread_thresholds"]


@dataclass(frozen=True)
class _Pool:
    """Thresholds that are one: the loss is piecewise linear in it, its slope rises by `caps`.

    breaks, caps (m,): where, sorted, and by how much; below: the slope below all of them; count:
    how many thresholds; value: the least loss lies there.
    """

    breaks: Array
    caps: Array
    below: float
    count: int
    value: float

    @classmethod
    def of(cls, breaks: Array, caps: Array, below: float, count: int) -> "_Pool":
        """Find the value: amid those with the least loss, or at the edge of an endless range."""
        order = np.argsort(breaks, kind="stable")
        breaks, caps = breaks[order], caps[order]
        slopes, slack = np.cumsum(caps) + below, 1e-9 * float(caps.sum())
        ends = np.searchsorted(slopes, [-slack, slack], side="right").clip(max=len(breaks) - 1)
        value = breaks[0] if below == 0.0 else 0.5 * float(breaks[ends].sum())
        return cls(breaks, caps, below, count, float(value))

    def joined(self, other: "_Pool") -> "_Pool":
        """Give both as one."""
        breaks, caps = (
            np.concatenate(pair) for pair in ((self.breaks, other.breaks), (self.caps, other.caps))
        )
        return _Pool.of(breaks, caps, self.below + other.below, self.count + other.count)


def best_thresholds(F: Array, spans: Array, caps: Array) -> tuple[Array, float]:
    """Give the thresholds (T,), in order, with the least loss for values F, and that loss.

    min_b sum_j sum_i C_i max(0, 1 - s_ij (F_i - b_j)), b_1 <= ... <= b_T: the slope in b_j rises
    by C_i at F_i - s_ij, and thresholds that come in the wrong order are pooled.

    Parameters
    ----------
    F, caps : (n,) of rows sorted by rank
    spans : (T, 3) begin, split, end: s_ij = -1 for begin:split, +1 for split:end

    Examples
    --------
    >>> spans = np.array([[0, 1, 3], [0, 2, 3]])
    >>> best_thresholds(np.array([-2.0, 0.0, 2.0]), spans, np.ones(3))
    (array([-1.,  1.]), 0.0)
    """
    pools: list[_Pool] = []
    for begin, split, end in spans:
        sides = np.where(np.arange(begin, end) >= split, 1.0, -1.0)
        below = -float(caps[begin:split].sum())
        pools.append(_Pool.of(F[begin:end] - sides, caps[begin:end], below, 1))
        while len(pools) > 1 and pools[-2].value > pools[-1].value:
            last = pools.pop()
            pools.append(pools.pop().joined(last))
    b = np.repeat([pool.value for pool in pools], [pool.count for pool in pools])
    return b, _loss(F, b, spans, caps)


def _loss(F: Array, b: Array, spans: Array, caps: Array) -> float:
    total = 0.0
    for value, (begin, split, end) in zip(b, spans, strict=True):
        total += float(np.maximum(1.0 + F[begin:split] - value, 0.0) @ caps[begin:split])
        total += float(np.maximum(1.0 - F[split:end] + value, 0.0) @ caps[split:end])
    return total


def spread_thresholds(b: Array, present: Array, count: int, F: Array) -> Array:
    """Give the thresholds (count - 1,) between all ranks, from those between the ranks present.

    Between them a rank without rows has no width; at the ends it lies beyond all F.

    >>> spread_thresholds(np.array([0.0]), np.array([1, 3]), 5, np.array([-2.0, 2.0])).tolist()
    [-3.0, 0.0, 0.0, 3.0]
    """
    edges = np.concatenate([[F.min() - 1.0], b, [F.max() + 1.0]])
    places: Array = np.searchsorted(present, np.arange(count - 1), side="right")
    return np.asarray(edges[places])
