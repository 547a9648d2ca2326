"""Random numbers by counter: the value at a place depends on the place alone."""

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = ["Counter", "fill_normals", "fill_uniforms", "mix", "normal", "uniform"]

Counter = int | np.uint64
"""Callers outside compiled code pass `np.uint64`: plain integers would overflow."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_ONE, _TWO = np.uint64(1), np.uint64(2)
_UNIT = 2.0**-53


@njit(cache=True, nogil=True)
def mix(key: Counter, counter: Counter) -> np.uint64:
    """splitmix64: the output number `counter` of the generator seeded with `key` (uint64)."""
    value = np.uint64(key) + (np.uint64(counter) + _ONE) * _GOLDEN
    value = (value ^ (value >> _S30)) * _FIRST
    value = (value ^ (value >> _S27)) * _SECOND
    return value ^ (value >> _S31)


@njit(cache=True, nogil=True)
def uniform(key: Counter, counter: Counter) -> float:
    """Uniform in (0, 1): the upper 53 bits, moved half a step off zero."""
    return (np.float64(mix(key, counter) >> _S11) + 0.5) * _UNIT


@njit(cache=True, nogil=True)
def normal(key: Counter, counter: Counter) -> float:
    """Standard normal (Box-Muller): sqrt(-2 ln u) cos(2 pi v), u and v two counters apart."""
    first = np.uint64(counter) * _TWO
    radius = np.sqrt(-2.0 * np.log(uniform(key, first)))
    value: float = radius * np.cos(2.0 * np.pi * uniform(key, first + _ONE))
    return value


@njit(cache=True, nogil=True)
def fill_normals(key: Counter, out: Array) -> None:
    """out[j] = normal(key, j)."""
    for j in range(out.size):
        out[j] = normal(key, j)


@njit(cache=True, nogil=True)
def fill_uniforms(key: Counter, out: Array) -> None:
    """out[j] = uniform(key, j)."""
    for j in range(out.size):
        out[j] = uniform(key, j)
