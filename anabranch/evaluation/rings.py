"""The window of a tally made longer or shorter."""

import numpy as np

from anabranch.protocol import State

__all__ = ["with_window"]


def with_window(state: State, window: int) -> State:
    """Give a tally's state with a window of another length, its newest pairs in it.

    A longer window begins with what the old one held, and fills from there.

    Parameters
    ----------
    state : an exported tally, not damaged; it is unchanged
    window : pairs that the new window covers; 0 for none

    Examples
    --------
    >>> state = {"ring": np.array([4, 2, 3]), "cursor": np.array([1, 3])}
    >>> with_window(state, 2)["ring"].tolist()
    [3, 4]
    >>> long = with_window(state, 5)
    >>> long["ring"].tolist(), long["cursor"].tolist()
    ([2, 3, 4, 0, 0], [3, 3])
    """
    ring, (head, filled) = state["ring"], (int(place) for place in state["cursor"])
    kept = min(filled, window)
    newest = (head - kept + np.arange(kept)) % max(1, len(ring))
    longer = np.zeros((window, *ring.shape[1:]), dtype=ring.dtype)
    longer[:kept] = ring[newest]
    cursor = np.array([kept % max(1, window), kept], dtype=np.int64)
    return {**state, "ring": longer, "cursor": cursor}
