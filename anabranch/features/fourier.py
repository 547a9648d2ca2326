"""Random Fourier features that every node draws for itself, and all draw alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from anabranch.errors import ConfigurationError
from anabranch.features.spectra import SPECTRA, draw_rows, key, orthogonalised
from anabranch.kernels.counters import fill_uniforms
from anabranch.kernels.fourier import fourier_row
from anabranch.kernels.lanes import padded
from anabranch.kernels.margins import FOURIER
from anabranch.protocol import Array, freeze

__all__ = ["FourierMap", "check_orthogonal"]


def check_orthogonal(kernel: str) -> None:
    """Refuse kernels that have no orthogonal frequencies.

    Raises
    ------
    ConfigurationError
        The kernel is not Gaussian.

    >>> check_orthogonal("gaussian")
    """
    if kernel != "gaussian":
        raise ConfigurationError(
            f"no orthogonal frequencies: kernel={kernel!r} with orthogonal=True; allowed: "
            "gaussian, whose frequencies have no preferred direction"
        )


@dataclass(frozen=True, slots=True)
class FourierMap:
    """z(x) = sqrt(2/D) cos(omega'x + b), so that z(x)'z(y) is about a kernel k(x - y).

    ========= ============================ ===================================
    kernel    k(d)                         omega, of each feature
    ========= ============================ ===================================
    gaussian  exp(-gamma |d|^2)            N(0, 2 gamma)
    laplacian exp(-gamma |d|_1)            Cauchy of scale gamma
    cauchy    prod_i 1/(1 + gamma d_i^2)   Laplace of scale sqrt(gamma)
    ========= ============================ ===================================

    b is uniform on a turn. The frequencies of a feature depend on (seed, name of the feature,
    number of the component) only, so nodes need to agree on nothing but the seed, and a
    feature keeps its frequencies whatever stands beside it. The error of k falls as
    1/sqrt(D). With `orthogonal` (Yu et al., 2016) half as many frequencies, orthogonal in
    blocks of K, have a cosine and a sine each (b = 0, -1/4 turn): z(x)'z(x) is 1 then, and the
    error lower, the more so the nearer x and y. They depend on all names, not their order.

    Attributes
    ----------
    turns : (K, P) float64, omega/(2 pi), padded with zeros behind D columns, frozen
    offsets : (P,) float64, b/(2 pi), padded likewise, frozen
    amplitudes : (1,) float64, sqrt(2/D), frozen
    columns : (D,) int64, the numbers of the features; all of them unless restricted

    Examples
    --------
    >>> z = FourierMap.draw(["temperature", "load"], 4000, gamma=0.5, seed=1)
    >>> a, b = z.transform(np.array([[0.0, 0.0], [1.0, 0.0]]))
    >>> bool(abs(a @ b - np.exp(-0.5)) < 0.05)
    True
    """

    turns: Array
    offsets: Array
    amplitudes: Array
    columns: Array

    @classmethod
    def draw(
        cls,
        names: Sequence[str],
        dimension: int,
        *,
        gamma: float,
        seed: int = 0,
        kernel: str = "gaussian",
        orthogonal: bool = False,
    ) -> "FourierMap":
        """Draw the map for features of these names.

        Raises
        ------
        ConfigurationError
            dimension is below 1, gamma is not positive, a name comes twice, the kernel is
            unknown, or has no orthogonal frequencies.
        """
        if dimension < 1:
            raise ConfigurationError(f"too few features: dimension={dimension}; allowed: >= 1")
        if not 0.0 < gamma < np.inf:
            raise ConfigurationError(f"not a kernel width: gamma={gamma}; allowed: > 0")
        if len(set(names)) != len(names):
            raise ConfigurationError(f"feature names must differ: names={list(names)}")
        if kernel not in SPECTRA:
            raise ConfigurationError(
                f"no random features: kernel={kernel!r}; allowed: {', '.join(SPECTRA)}"
            )
        if orthogonal:
            check_orthogonal(kernel)
        return _draw(kernel, tuple(names), dimension, float(gamma), seed, orthogonal)

    @property
    def dimension(self) -> int:
        """The number of features."""
        return self.columns.size

    @property
    def fields(self) -> None:
        """None: each feature needs all fields."""

    def arguments(self) -> tuple[Any, ...]:
        """Give what the kernels take: form, frequencies, offsets, amplitudes, dimension."""
        return FOURIER, self.turns, self.offsets, self.amplitudes, self.dimension

    def transform(self, X: Array) -> Array:
        """Map (n, K) standardised rows to (n, D)."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        out = np.empty((len(X), self.offsets.size))
        _, turns, offsets, amplitudes, dimension = self.arguments()
        for row, z in zip(X, out, strict=True):
            fourier_row(row, turns, offsets, amplitudes[0], dimension, z)
        return out[:, :dimension].copy()

    def restrict(self, columns: Array) -> "FourierMap":
        """Give the map to these of its features alone, (m,) sorted places in `columns`."""
        width = padded(columns.size)
        turns, offsets = np.zeros((len(self.turns), width)), np.zeros(width)
        turns[:, : columns.size] = self.turns[:, columns]
        offsets[: columns.size] = self.offsets[columns]
        kept = freeze(self.columns[columns])
        return FourierMap(freeze(turns), freeze(offsets), self.amplitudes, kept)


@lru_cache(maxsize=16)
def _draw(
    kernel: str, names: tuple[str, ...], dimension: int, gamma: float, seed: int, orthogonal: bool
) -> FourierMap:
    """Draw once for all learners of a process: frozen, so they may share it."""
    width = padded(dimension)
    turns, offsets = np.zeros((len(names), width)), np.zeros(width)
    fill_uniforms(np.uint64(key(seed, "offsets")), offsets[:dimension])
    if orthogonal:
        pairs, whole = np.zeros((len(names), -(-dimension // 2))), dimension - dimension % 2
        draw_rows(kernel, names, pairs, seed)
        turns[:, :dimension] = orthogonalised(pairs, names).repeat(2, axis=1)[:, :dimension]
        offsets[:whole] = np.tile([0.0, 0.75], whole // 2)
    else:
        draw_rows(kernel, names, turns[:, :dimension], seed)
    turns *= SPECTRA[kernel][1](gamma) / (2.0 * np.pi)
    amplitudes = np.array([np.sqrt(2.0 / dimension)])
    columns = np.arange(dimension)
    return FourierMap(freeze(turns), freeze(offsets), freeze(amplitudes), freeze(columns))
