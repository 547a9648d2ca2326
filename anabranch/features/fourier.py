"""Random Fourier features that every node draws for itself, and all draw alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from anabranch.errors import ConfigurationError
from anabranch.kernels.counters import fill_normals, fill_uniforms, mix
from anabranch.kernels.fourier import fourier_row
from anabranch.kernels.lanes import padded
from anabranch.protocol import Array, freeze

__all__ = ["FourierMap"]


def _key(seed: int, name: str) -> int:
    """Mix the seed with a name; the same on every machine."""
    digest = blake2b(name.encode(), digest_size=8).digest()
    return int(mix(np.uint64(seed), np.uint64(int.from_bytes(digest, "little"))))


@dataclass(frozen=True, slots=True)
class FourierMap:
    """z(x) = sqrt(2/D) cos(omega'x + b), so that z(x)'z(y) is about exp(-gamma |x - y|^2).

    omega ~ N(0, 2 gamma I) and b uniform on a turn. The frequencies of a feature depend on
    (seed, name of the feature, number of the component) only, so nodes need to agree on
    nothing but the seed, and a feature keeps its frequencies whatever stands beside it.

    Attributes
    ----------
    turns : (K, P) float64, omega/(2 pi), padded with zeros behind D columns, frozen
    offsets : (P,) float64, b/(2 pi), padded likewise, frozen
    dimension : int, D

    Examples
    --------
    >>> z = FourierMap.draw(["temperature", "load"], 4000, gamma=0.5, seed=1)
    >>> a, b = z.transform(np.array([[0.0, 0.0], [1.0, 0.0]]))
    >>> bool(abs(a @ b - np.exp(-0.5)) < 0.05)
    True
    """

    turns: Array
    offsets: Array
    dimension: int

    @classmethod
    def draw(
        cls, names: Sequence[str], dimension: int, *, gamma: float, seed: int = 0
    ) -> "FourierMap":
        """Draw the map for features of these names.

        Raises
        ------
        ConfigurationError
            dimension is below 1, gamma is not positive, or a name comes twice.
        """
        if dimension < 1:
            raise ConfigurationError(f"too few features: dimension={dimension}; allowed: >= 1")
        if not 0.0 < gamma < np.inf:
            raise ConfigurationError(f"not a kernel width: gamma={gamma}; allowed: > 0")
        if len(set(names)) != len(names):
            raise ConfigurationError(f"feature names must differ: names={list(names)}")
        return _draw(tuple(names), dimension, float(gamma), seed)

    def transform(self, X: Array) -> Array:
        """Map (n, K) standardised rows to (n, D)."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        out = np.empty((len(X), self.offsets.size))
        for row, z in zip(X, out, strict=True):
            fourier_row(row, self.turns, self.offsets, self.dimension, z)
        return out[:, : self.dimension].copy()


@lru_cache(maxsize=16)
def _draw(names: tuple[str, ...], dimension: int, gamma: float, seed: int) -> FourierMap:
    """Draw once for all learners of a process: frozen, so they may share it."""
    width = padded(dimension)
    turns, offsets = np.zeros((len(names), width)), np.zeros(width)
    for row, name in zip(turns, names, strict=True):
        fill_normals(np.uint64(_key(seed, f"feature:{name}")), row[:dimension])
    turns *= np.sqrt(2.0 * gamma) / (2.0 * np.pi)
    fill_uniforms(np.uint64(_key(seed, "offsets")), offsets[:dimension])
    return FourierMap(freeze(turns), freeze(offsets), dimension)
