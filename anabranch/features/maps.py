"""The features of a kernel, by its name: shared by seed, never by data."""

from collections.abc import Sequence
from typing import Any, Protocol, Self

from anabranch.features.additive import ADDITIVE_KERNELS, AdditiveMap, default_order, order_of
from anabranch.features.fourier import FourierMap, check_orthogonal
from anabranch.features.linear import LinearMap
from anabranch.features.spectra import SPECTRA
from anabranch.protocol import Array

__all__ = ["KERNELS", "FeatureMap", "feature_count", "make_map"]

KERNELS = ("linear", *SPECTRA, *ADDITIVE_KERNELS)
"""Kernels that have features here."""


class FeatureMap(Protocol):
    """z(x) (D,), whose products z(x)'z(y) stand for a kernel."""

    @property
    def dimension(self) -> int:
        """The number of features D."""
        ...

    @property
    def columns(self) -> Array:
        """The numbers of the features in the whole map, (D,)."""
        ...

    @property
    def fields(self) -> Array | None:
        """The fields it needs, by number; None for all."""
        ...

    def arguments(self) -> tuple[Any, ...]:
        """Give what the kernels take."""
        ...

    def transform(self, X: Array) -> Array:
        """Map (n, K) scaled rows to (n, D)."""
        ...

    def restrict(self, columns: Array) -> Self:
        """Give the map to these of its features, and to such as come with them at no cost."""
        ...


def feature_count(kernel: str, fields: int, dimension: int | None) -> int:
    """Give the number of features D: max(200, 10 K) random ones unless asked otherwise.

    The linear and the Hellinger kernel have one a field, the other additive ones an odd number.

    Raises
    ------
    ConfigurationError
        `dimension` is too small for the kernel.

    >>> feature_count("gaussian", 3, None), feature_count("chi-squared", 3, None)
    (200, 27)
    """
    if kernel in ADDITIVE_KERNELS:
        order = default_order(kernel) if dimension is None else order_of(kernel, fields, dimension)
        return fields * (2 * order + 1)
    if kernel == "linear":
        return fields
    return max(200, 10 * fields) if dimension is None else dimension


def make_map(
    kernel: str,
    names: Sequence[str],
    dimension: int,
    *,
    gamma: float,
    seed: int = 0,
    orthogonal: bool = False,
) -> FeatureMap:
    """Make the map of a kernel for fields of these names.

    Raises
    ------
    ConfigurationError
        A setting is not allowed.

    >>> make_map("hellinger", ["a", "b"], 2, gamma=0.5).dimension
    2
    """
    if orthogonal:
        check_orthogonal(kernel)
    if kernel == "linear":
        return LinearMap.of(len(names))
    if kernel in ADDITIVE_KERNELS:
        order = order_of(kernel, len(names), dimension)
        return AdditiveMap.of(kernel, len(names), order, gamma=gamma)
    return FourierMap.draw(
        names, dimension, gamma=gamma, seed=seed, kernel=kernel, orthogonal=orthogonal
    )
