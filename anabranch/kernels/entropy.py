"""Permutation entropy: how evenly a signal uses the orders that neighbouring values can have."""

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = ["permutation_entropy"]


@njit(cache=True, nogil=True)
def permutation_entropy(signal: Array, order: int, delay: int, counts: Array) -> float:
    """-sum_p f_p ln f_p / ln(order!), f_p the frequency of pattern p (Bandt and Pompe 2002).

    A pattern is the order of x_t, x_{t + delay}, ..., `order` values, of equal ones the earlier
    first. Its number is its Lehmer code, sum_i (later values below the i-th) (order - 1 - i)!.
    `counts` (order!,) is working room.
    """
    counts[:] = 0
    windows = len(signal) - (order - 1) * delay
    for t in range(windows):
        code = 0
        for i in range(order - 1):
            below = 0
            for j in range(i + 1, order):
                below += signal[t + j * delay] < signal[t + i * delay]
            code = code * (order - i) + below
        counts[code] += 1
    entropy = 0.0
    for count in counts:
        if count > 0:
            entropy -= count / windows * np.log(count / windows)
    share: float = max(0.0, entropy / np.log(len(counts)))
    return share
