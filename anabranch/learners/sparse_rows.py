"""Sparse rows as the kernels take them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from anabranch.protocol import Array

__all__ = ["SparseRows"]

_MOST = 1 << 31


@dataclass(frozen=True)
class SparseRows:
    """Rows with their nonzeros: compressed sparse rows, with indices that kernels need not widen.

    Attributes
    ----------
    indptr : (n + 1,) int64
    indices : (nonzeros,) uint32, sorted within a row, each once
    values : (nonzeros,) float32 or float64
    features : number of columns
    """

    indptr: Array
    indices: Array
    values: Array
    features: int

    @classmethod
    def of(cls, X: Any, dtype: Any = np.float64) -> "SparseRows":
        """Take rows from an array or a scipy matrix, sharing what memory it can.

        Unsorted indices are sorted; values of one index in one row are summed.

        Raises
        ------
        ValueError
            An index is negative, or not below the number of columns, or there are more than
            2**31 columns.

        Examples
        --------
        >>> SparseRows.of(np.array([[0.0, 2.0], [0.0, 0.0]])).indices.tolist()
        [1]
        """
        if X.shape[1] > _MOST:
            raise ValueError(f"X has {X.shape[1]} columns; allowed: up to 2**31")
        matrix = sparse.csr_array(X)
        if matrix.nnz:
            lowest, highest = int(matrix.indices.min()), int(matrix.indices.max())
            if lowest < 0 or highest >= X.shape[1]:
                index = lowest if lowest < 0 else highest
                raise ValueError(f"X has the index {index}; allowed: 0 to {X.shape[1] - 1}")
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        return cls(
            matrix.indptr.astype(np.int64, copy=False),
            _unsigned(matrix.indices),
            matrix.data.astype(dtype, copy=False),
            X.shape[1],
        )

    def matrix(self, field: float = 0.0) -> sparse.csr_array:
        """Give the rows as a scipy matrix, with one more column that holds `field` throughout."""
        shape = (len(self), self.features)
        rows = sparse.csr_array((self.values, self.indices.view(np.int32), self.indptr), shape)
        column = sparse.csr_array(np.full((len(self), 1), field, self.values.dtype))
        return sparse.csr_array(sparse.hstack([rows, column], format="csr"))

    def __len__(self) -> int:
        return len(self.indptr) - 1


def _unsigned(indices: Array) -> Array:
    if indices.dtype == np.int32:
        return np.ascontiguousarray(indices).view(np.uint32)
    return indices.astype(np.uint32)
