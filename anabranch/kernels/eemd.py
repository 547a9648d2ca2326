"""Ensemble empirical mode decomposition: the mean modes of a signal under many noises."""

import numpy as np
from numba import njit

from anabranch.kernels.envelope import KNOTS, subtract_mean_envelope
from anabranch.protocol import Array

__all__ = ["decompose", "mean_modes"]


@njit(cache=True, nogil=True)
def decompose(
    signal: Array, sifts: int, modes: Array, places: Array, ends: Array, knots: Array
) -> None:
    """Write the modes of a signal (n,), the fastest first, into `modes` (m, n).

    A mode is what is left of the signal, less the mean of its upper and lower envelope, `sifts`
    times; the next one is that of the rest. Where a rest has fewer than two maxima or minima it
    is the last mode, and further ones are 0. `signal` becomes the rest; for the other arguments
    see `subtract_mean_envelope`.
    """
    for mode in modes:
        mode[:] = signal
        for _ in range(sifts):
            if not subtract_mean_envelope(mode, places, ends, knots):
                mode[:] = signal
                break
        for t in range(len(signal)):
            signal[t] -= mode[t]


@njit(cache=True, nogil=True)
def mean_modes(signal: Array, noise: Array, sifts: int, out: Array) -> None:
    """Write the mean over trials of the modes of signal (n,) + noise (trials, n) into `out` (m, n).

    The rows of `noise` become the trials' rests.
    """
    n = len(signal)
    modes = np.empty(out.shape)
    places, ends = np.empty((2, n), np.int64), np.empty((2, 5), np.int64)
    knots = np.empty((KNOTS, n + 8))
    out[:] = 0.0
    for row in noise:
        for t in range(n):
            row[t] += signal[t]
        decompose(row, sifts, modes, places, ends, knots)
        for m in range(len(out)):
            for t in range(n):
                out[m, t] += modes[m, t]
    for m in range(len(out)):
        for t in range(n):
            out[m, t] /= len(noise)
