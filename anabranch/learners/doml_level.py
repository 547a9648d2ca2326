"""The edge weight w of DOML: what the penalty of disagreement should be, agreed by both ends."""

from collections.abc import Sequence
from math import inf, log2

__all__ = ["Level", "edge_weight"]

_PULL = 0.1
"""Share of a node's own wish in its level, at every step."""
_MOST = 1000.0
"""Levels count up to so many times the own wish."""
_OFF = 1.0
"""Doublings between level and scale at which the scale moves."""


def edge_weight(one: float, other: float) -> float:
    """Give the weight of an edge between nodes of these scales; 1 where nobody has a sample.

    >>> edge_weight(2.0, 4.0), edge_weight(0.0, 0.0)
    (3.0, 1.0)
    """
    return (one + other) / 2.0 or 1.0


class Level:
    """A network's mean of what each node wishes w to be, and the power of two that stands for it.

    With d_i = w deg_i the mean eigenvalue of X'X/d_i is 2 where w = tr(X'X)/(2 d deg_i): that
    is a node's wish. Every step mixes the levels of a neighbourhood and pulls a bit to the own
    wish, so the level stays between the wishes of all nodes whatever is lost or late, and
    below a thousand times the own one, or it would take hundreds of steps to come down after
    new coordinates. The scale follows by doublings only: each of its moves costs a
    factorisation.

    Attributes
    ----------
    level : the mean wish, as far as known here; told to neighbours
    scale : a power of two, or 0 before there is any sample
    told : the scale as neighbours were told, which is the one that counts for edges

    Examples
    --------
    >>> level = Level()
    >>> for _ in range(50):
    ...     level.follow(20.0, [10.0])
    >>> round(level.level, 1), level.scale
    (11.8, 8.0)
    """

    def __init__(self) -> None:
        self.level = self.scale = self.told = 0.0

    def follow(self, wish: float, others: Sequence[float]) -> None:
        """Mix the neighbours' levels in, and the own wish."""
        most = _MOST * wish if wish > 0.0 else inf
        known = [min(level, most) for level in (self.level, *others) if level > 0.0]
        if not known:
            self.level = wish
        elif wish > 0.0:
            self.level = (1.0 - _PULL) * (sum(known) / len(known)) + _PULL * wish
        else:
            self.level = sum(known) / len(known)
        if self.level > 0.0 and (
            self.scale == 0.0 or abs(log2(self.level) - log2(self.scale)) > _OFF
        ):
            self.scale = 2.0 ** round(log2(self.level))
