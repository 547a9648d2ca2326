"""Compiled counting of (truth, prediction) pairs."""

from numba import njit

from anabranch.protocol import Array

__all__ = ["count_pairs"]


@njit(cache=True, nogil=True)
def _first_bad(truth: Array, predicted: Array, ranks: int) -> int:
    """Give the smallest i with truth[i] or predicted[i] outside {1, ..., ranks}, or -1."""
    for i in range(truth.shape[0]):
        t = truth[i]
        p = predicted[i]
        # NaN fails the first comparison, so the casts below are always defined
        if not (1.0 <= t <= ranks and 1.0 <= p <= ranks):
            return i
        if t != int(t) or p != int(p):
            return i
    return -1


@njit(cache=True, nogil=True)
def count_pairs(
    truth: Array,
    predicted: Array,
    ranks: int,
    counts: Array,
    recent: Array,
    ring: Array,
    cursor: Array,
) -> int:
    """counts[(t-1) Q + p-1] += 1 for each pair; `recent` counts the newest len(ring) pairs only.

    Parameters
    ----------
    truth, predicted : (n,) float64, ranks 1 to Q
    ranks : Q
    counts, recent : (Q Q,) int64, cell (t-1) Q + (p-1), changed in place
    ring : (W,) int32, the cells of the newest pairs; W may be 0
    cursor : (2,) int64, where the next pair goes in the ring and how many are in it

    Returns
    -------
    -1, or the place of the first pair that is no pair of ranks; then nothing is changed.
    """
    bad = _first_bad(truth, predicted, ranks)
    if bad >= 0:
        return bad
    window = ring.shape[0]
    head = cursor[0]
    filled = cursor[1]
    for i in range(truth.shape[0]):
        cell = (int(truth[i]) - 1) * ranks + int(predicted[i]) - 1
        counts[cell] += 1
        if window == 0:
            continue
        if filled == window:
            recent[ring[head]] -= 1
        else:
            filled += 1
        recent[cell] += 1
        ring[head] = cell
        head += 1
        if head == window:
            head = 0
    cursor[0] = head
    cursor[1] = filled
    return -1
