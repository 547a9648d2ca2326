"""What batch dSVOR is held against: the algorithm in plain numpy, and memory itself."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = ["PlainLoop", "rate", "stream"]

LAM, ALPHA, STEP, DECAY = 1e-3, 0.9, 5.0, 0.01


class PlainLoop:
    """All nodes' rounds as whole-array numpy: a mixing matrix, then one batched product each way.

    Parameters
    ----------
    Z : (M, n, D), features of the rows of each node
    y : (M, n), their ranks
    ranks : Q
    C : (M, M) combination weights, dense or sparse, of Z's type
    """

    def __init__(self, Z: Array, y: Array, ranks: int, C: Any) -> None:
        self.Z, self.C, self.k = Z, C, 0
        above = y[..., None] > np.arange(1, ranks)
        self.sides = np.where(above, -1, 1).astype(Z.dtype)
        self.w = np.zeros((len(Z), Z.shape[2]), Z.dtype)
        self.b = np.zeros((len(Z), ranks - 1), Z.dtype)

    def advance(self, rounds: int) -> None:
        """Combine, then a subgradient step with soft threshold, so many times."""
        for _ in range(rounds):
            w, b = self.C @ self.w, self.C @ self.b
            f = np.matmul(self.Z, w[:, :, None])
            h = np.where(self.sides * (f - b[:, None, :]) > -1, self.sides, 0)
            eta = STEP / (1.0 + DECAY * self.k)
            pull = np.matmul(h.sum(axis=2)[:, None, :], self.Z)[:, 0] / self.Z.shape[1]
            w = w * (1.0 - eta * LAM * (1.0 - ALPHA)) - eta * pull
            self.w = np.sign(w) * np.maximum(np.abs(w) - eta * LAM * ALPHA, 0)
            self.b = np.maximum.accumulate(b + eta * h.mean(axis=1), axis=1)
            self.k += 1


@njit(cache=True, nogil=True)
def stream(numbers: Array) -> int:
    """Sum integers (n,) int64, in vector registers: reading them is all that takes time."""
    total = 0
    for i in range(numbers.size):
        total += numbers[i]
    return total


def rate(
    call: Callable[[], object], repeats: int, clock: Callable[[], float] = time.process_time
) -> float:
    """Calls/s, the median over three runs of so many; by CPU time unless by another clock."""
    call()
    seconds = []
    for _ in range(3):
        begin = clock()
        for _ in range(repeats):
            call()
        seconds.append(clock() - begin)
    return repeats / median(seconds)
