"""The ticks of a partition that a node is fed, where networks change."""

import sys

__all__ = ["EVER", "Turns", "idle_until"]

EVER = sys.maxsize
"""A tick beyond all ticks."""

Turns = tuple[tuple[int, int | None], ...]
"""Ticks from a first to a last one (None: on and on), perhaps several times, in order."""


def idle_until(turns: Turns, tick: int) -> int:
    """Give the tick before the next one that a node is fed, from one that it has done with.

    >>> idle_until(((3, 7), (20, None)), -1), idle_until(((3, 7), (20, None)), 5)
    (2, 5)
    >>> idle_until(((3, 7), (20, None)), 7), idle_until(((3, 7),), 7) == EVER
    (19, True)
    """
    for first, last in turns:
        if last is None or tick < last:
            return max(tick, first - 1)
    return EVER
