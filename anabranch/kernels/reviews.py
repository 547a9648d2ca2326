"""Reviews by position: how good what they tell of is, and which words say so."""

import numpy as np
from numba import njit

from anabranch.kernels.counters import Counter, mix, normal, uniform
from anabranch.protocol import Array

__all__ = ["NONE", "NOT", "fill_reviews"]

NOT, NONE = -1, -2
"""The word that turns the next one round; no word."""
_OPINION, _TURNED, _SPREAD = 0.35, 0.2, 0.16


@njit(cache=True, nogil=True)
def _opinion(key: Counter, at: int, quality: float, opinions: int) -> int:
    """Draw one of the words from worst to best: the one at quality + .16 e of the way."""
    place = quality + _SPREAD * normal(key, np.uint64(at))
    return min(max(int(place * opinions), 0), opinions - 1)


@njit(cache=True, nogil=True)
def fill_reviews(
    seed: Counter, start: int, ranks: int, opinions: int, others: int, words: Array, y: Array
) -> None:
    """Row r is the review at position start + r: y uniform in 1..ranks, and its words.

    A word is an opinion with probability .35, near (y - 1/2) / ranks of the way from the worst to
    the best; one in five of these is turned round: `NOT`, and the word as far from the other end.
    The other words are drawn evenly. A review has between half and all of the columns of words.

    Parameters
    ----------
    words : (n, longest) int64, output; 0..opinions - 1 are the opinions, then the others,
        `NOT` and `NONE`
    y : (n,) float64, output
    """
    longest = words.shape[1]
    for r in range(len(y)):
        key = mix(np.uint64(seed), np.uint64(start + r))
        noise = mix(key, np.uint64(0))
        y[r] = 1 + int(uniform(key, np.uint64(1)) * ranks)
        size = longest - int(uniform(key, np.uint64(2)) * (longest // 2 + 1))
        quality = (y[r] - 0.5) / ranks
        words[r] = NONE
        at = 0
        while at < size:
            counter = np.uint64(3 * at + 3)
            word = opinions + int(uniform(key, counter) * others)
            if uniform(key, counter + np.uint64(1)) < _OPINION:
                word = _opinion(noise, at, quality, opinions)
                if at + 1 < size and uniform(key, counter + np.uint64(2)) < _TURNED:
                    words[r, at], at = NOT, at + 1
                    word = opinions - 1 - word
            words[r, at] = word
            at += 1
