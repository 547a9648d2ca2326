"""From which round on the network of a job may be another one: what a snapshot tells."""

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["first_free_round"]


def first_free_round(snapshots: Iterable[Mapping[str, Any]], rounds_per_tick: int) -> int:
    """Give the first round that no node has begun, and whose tick has not been placed.

    A snapshot is of all nodes at once, and what sources had emitted until then is in the nodes: so
    neither theirs nor other positions count.

    Parameters
    ----------
    snapshots : of all nodes, companions and those that have left included
    rounds_per_tick : rounds for each tick

    Returns
    -------
    A multiple of `rounds_per_tick`. In asynchronous time rounds and ticks have nothing to do with
    one another, and it is only later than any round so far.

    Examples
    --------
    >>> nodes = [
    ...     {"place": (7, False, False), "newest": 3, "shares": {}},
    ...     {"place": (6, True, False), "newest": 4, "shares": {4: {}}},
    ... ]
    >>> first_free_round(nodes, 2)
    10
    >>> first_free_round([{"place": (7, False, 3), "learned": {"p": 900}}], 2)
    8
    """
    rounds = ticks = 0
    for state in snapshots:
        rounds = max(rounds, state["place"][0] + 1)
        ticks = max(ticks, state.get("newest", -1) + 1, *(tick + 1 for tick in _waiting(state)))
    return max(-(-rounds // rounds_per_tick), ticks) * rounds_per_tick


def _waiting(state: Mapping[str, Any]) -> Iterable[int]:
    """Give the ticks of the shares that wait; older snapshots do not tell their newest tick."""
    return [*state.get("shares", ()), -1]
