"""Explicit features of additive homogeneous kernels: no random numbers, no data."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from anabranch.errors import ConfigurationError
from anabranch.kernels.additive import additive_row
from anabranch.kernels.lanes import padded
from anabranch.kernels.margins import ADDITIVE
from anabranch.protocol import Array, freeze

__all__ = ["ADDITIVE_KERNELS", "AdditiveMap", "default_order", "order_of"]


def _chi_squared(frequency: Array) -> Array:
    """Spectrum of 2xy/(x + y)."""
    kappa: Array = 1.0 / np.cosh(np.pi * frequency)
    return kappa


def _jensen_shannon(frequency: Array) -> Array:
    """Spectrum of x/2 log2((x + y)/x) + y/2 log2((x + y)/y)."""
    kappa: Array = 2.0 / np.log(4.0) * _chi_squared(frequency) / (1.0 + 4.0 * np.square(frequency))
    return kappa


def _intersection(frequency: Array) -> Array:
    """Spectrum of min(x, y)."""
    kappa: Array = 2.0 / np.pi / (1.0 + 4.0 * np.square(frequency))
    return kappa


ADDITIVE_KERNELS: dict[str, tuple[Callable[[Array], Array], Callable[[int], float]] | None] = {
    "hellinger": None,
    "chi-squared": (_chi_squared, lambda n: 5.86 * np.sqrt(n) + 3.65),
    "intersection": (_intersection, lambda n: 2.38 * np.log(n + 0.8) + 5.6),
    "jensen-shannon": (_jensen_shannon, lambda n: 6.64 * np.sqrt(n) + 7.24),
}
"""Kernel -> its spectrum, and the period at which order n is most exact, as VLFeat has them;
sqrt(xy) needs none: its features are the roots."""

_DEFAULT = 4
"""Order unless given: nine features a field."""


def default_order(kernel: str) -> int:
    """Give the order that is taken unless a dimension is asked for."""
    return 0 if ADDITIVE_KERNELS[kernel] is None else _DEFAULT


def order_of(kernel: str, fields: int, dimension: int) -> int:
    """Give the largest order n whose features, 2n + 1 a field, are at most `dimension`.

    Raises
    ------
    ConfigurationError
        They are too few for order 1.
    """
    if ADDITIVE_KERNELS[kernel] is None:
        return 0
    order = (dimension // fields - 1) // 2
    if order < 1:
        raise ConfigurationError(
            f"too few features: dimension={dimension} with kernel={kernel!r}; "
            f"allowed: >= {3 * fields}, three of each field"
        )
    return order


@dataclass(frozen=True, slots=True)
class AdditiveMap:
    """z(x)'z(y) is about gamma sum_i k(x_i, y_i), for x, y >= 0 (Vedaldi & Zisserman, 2012).

    ============== =========================================================
    kernel         k(x, y)
    ============== =========================================================
    hellinger      sqrt(xy), exactly
    chi-squared    2xy/(x + y)
    intersection   min(x, y)
    jensen-shannon x/2 log2((x + y)/x) + y/2 log2((x + y)/y)
    ============== =========================================================

    All have k(x, y) = sqrt(xy) K(log(y/x)), K a sum of cosines with spectrum kappa. Sampled at
    0, L, ..., nL: z = sqrt(gamma L kappa(0) x), then sqrt(2 gamma L kappa(jL) x) times cosine
    and sine of jL log x. The error of k is at most sqrt(xy) times the spectrum beyond nL
    and, where |log(y/x)| comes near half the period 2 pi/L, K there.

    Attributes
    ----------
    amplitudes : (n + 1,), of the features of x = 1, frozen
    spacing : (1,), L, frozen
    fields : (K,) int64, the fields mapped; all of them unless restricted
    columns : (D,) int64, the numbers of the features, D = K (2n + 1)

    Examples
    --------
    >>> z = AdditiveMap.of("chi-squared", fields=2, order=4, gamma=1.0)
    >>> a, b = z.transform(np.array([[0.2, 0.8], [0.4, 0.6]]))
    >>> exact = 2 * 0.2 * 0.4 / 0.6 + 2 * 0.8 * 0.6 / 1.4
    >>> bool(abs(a @ b - exact) < 1e-3)
    True
    """

    amplitudes: Array
    spacing: Array
    fields: Array
    columns: Array

    @classmethod
    def of(cls, kernel: str, fields: int, order: int, *, gamma: float) -> "AdditiveMap":
        """Make the map for so many fields.

        Raises
        ------
        ConfigurationError
            The kernel is unknown, or gamma is not positive.
        """
        if kernel not in ADDITIVE_KERNELS:
            raise ConfigurationError(
                f"not additive: kernel={kernel!r}; allowed: {', '.join(ADDITIVE_KERNELS)}"
            )
        if not 0.0 < gamma < np.inf:
            raise ConfigurationError(f"not a weight: gamma={gamma}; allowed: > 0")
        found = ADDITIVE_KERNELS[kernel]
        spacing, amplitudes = 0.0, np.ones(1)
        if found is not None:
            spectrum, period = found
            spacing = 2.0 * np.pi / period(order)
            counts = np.where(np.arange(order + 1) > 0, 2.0, 1.0)
            amplitudes = np.sqrt(counts * spacing * spectrum(spacing * np.arange(order + 1)))
        columns = np.arange(fields * (2 * amplitudes.size - 1))
        return cls(
            freeze(amplitudes * np.sqrt(gamma)),
            freeze(np.array([spacing])),
            freeze(np.arange(fields)),
            freeze(columns),
        )

    @property
    def dimension(self) -> int:
        """The number of features."""
        return self.columns.size

    def arguments(self) -> tuple[Any, ...]:
        """Give what the kernels take: form, frequencies, offsets, amplitudes, dimension."""
        return ADDITIVE, _NONE, self.spacing, self.amplitudes, self.dimension

    def transform(self, X: Array) -> Array:
        """Map (n, K) rows, none negative, to (n, D)."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        out = np.empty((len(X), padded(self.dimension)))
        for row, z in zip(X, out, strict=True):
            additive_row(row, self.amplitudes, self.spacing[0], z)
        return out[:, : self.dimension].copy()

    def restrict(self, columns: Array) -> "AdditiveMap":
        """Give the map to the fields that have any of these features, (m,) places in `columns`."""
        width = 2 * self.amplitudes.size - 1
        kept = np.unique(columns // width)
        places = (kept[:, None] * width + np.arange(width)).reshape(-1)
        return AdditiveMap(
            self.amplitudes, self.spacing, freeze(self.fields[kept]), freeze(self.columns[places])
        )


_NONE = freeze(np.empty((0, 0)))
