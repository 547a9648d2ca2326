"""The map that changes nothing: the fields are the features."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from anabranch.kernels.margins import PLAIN
from anabranch.protocol import Array, freeze

__all__ = ["LinearMap"]

_NONE = freeze(np.empty((0, 0)))
_NO_OFFSETS = freeze(np.empty(0))


@dataclass(frozen=True, slots=True)
class LinearMap:
    """z(x) = x.

    Attributes
    ----------
    columns : (D,) int64, the fields that are kept; all of them unless restricted

    Examples
    --------
    >>> LinearMap.of(3).restrict(np.array([0, 2])).transform(np.array([[1.0, 2.0, 3.0]]))
    array([[1., 3.]])
    """

    columns: Array

    @classmethod
    def of(cls, fields: int) -> "LinearMap":
        """Make the map for so many fields."""
        return cls(freeze(np.arange(fields)))

    @property
    def dimension(self) -> int:
        """The number of features."""
        return self.columns.size

    @property
    def fields(self) -> Array:
        """The fields that are needed."""
        return self.columns

    def arguments(self) -> tuple[Any, ...]:
        """Give what the kernels take: form, frequencies, offsets, amplitudes, dimension."""
        return PLAIN, _NONE, _NO_OFFSETS, _NO_OFFSETS, self.dimension

    def transform(self, X: Array) -> Array:
        """Map (n, K) standardised rows to (n, D)."""
        return np.asarray(X, dtype=np.float64)[:, self.columns]

    def restrict(self, columns: Array) -> "LinearMap":
        """Give the map to these of its features alone, (m,) sorted places in `columns`."""
        return LinearMap(freeze(self.columns[columns]))
