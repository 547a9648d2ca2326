"""Sparse rows: what flows and what kernels take where most features of a sample are zero."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from anabranch.packing import Packed, pack, unpack
from anabranch.protocol import Array, freeze

__all__ = ["SparseRows", "freeze_rows", "join_rows", "take_rows"]

_MOST = 1 << 31
_WORD = np.dtype(np.uint32).itemsize


@dataclass(frozen=True, slots=True)
class SparseRows:
    """Rows with their nonzeros: compressed sparse rows, with indices that kernels need not widen.

    Attributes
    ----------
    indptr : (n + 1,) int64, from 0
    indices : (nonzeros,) uint32, sorted within a row, each once
    values : (nonzeros,) float64, or float32 in solvers that ask for it
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
        if isinstance(X, SparseRows):
            return cls(X.indptr, X.indices, X.values.astype(dtype, copy=False), X.features)
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

    @classmethod
    def join(cls, parts: Sequence["SparseRows"]) -> "SparseRows":
        """Put blocks of rows of one width, at least one, below each other.

        >>> rows = SparseRows.of(np.eye(2))
        >>> SparseRows.join([rows, rows[1:]]).toarray().tolist()
        [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
        """
        if len(parts) == 1:
            return parts[0]
        counts = np.concatenate([np.diff(part.indptr) for part in parts])
        return cls(
            _ends(counts),
            np.concatenate([part.indices for part in parts]),
            np.concatenate([part.values for part in parts]),
            parts[0].features,
        )

    @classmethod
    def from_bytes(cls, rows: Sequence[bytes], features: int) -> "SparseRows":
        """Put rows together again that `row_bytes` took apart; their values are float64.

        >>> rows = SparseRows.of(np.eye(2))
        >>> SparseRows.from_bytes([rows.row_bytes(1)], 2).toarray().tolist()
        [[0.0, 1.0]]
        """
        each = _WORD + np.dtype(np.float64).itemsize
        counts = np.array([len(row) // each for row in rows], np.int64)
        data = [(row, int(count) * _WORD) for row, count in zip(rows, counts, strict=True)]
        indices = np.frombuffer(b"".join([row[:at] for row, at in data]), np.uint32)
        return cls(
            _ends(counts),
            indices,
            np.frombuffer(b"".join([row[at:] for row, at in data])),
            features,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self), self.features

    @property
    def dtype(self) -> Any:
        """Kind of the values."""
        return self.values.dtype

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, rows: Any) -> "SparseRows":
        """Give some rows: a slice of step 1 shares the memory; an array of indices or a mask.

        >>> rows = SparseRows.of(np.eye(3))
        >>> rows[1:].shape, rows[np.array([2, 0])].indices.tolist()
        ((2, 3), [2, 0])
        """
        if not isinstance(rows, slice):
            return self.take(np.arange(len(self))[rows])
        start, stop, step = rows.indices(len(self))
        if step != 1:
            return self.take(np.arange(len(self))[rows])
        stop = max(start, stop)
        first, last = int(self.indptr[start]), int(self.indptr[stop])
        indptr = self.indptr[start : stop + 1]
        return SparseRows(
            freeze(indptr - first) if first else indptr,
            self.indices[first:last], self.values[first:last], self.features,
        )  # fmt: skip

    def take(self, order: Array) -> "SparseRows":
        """Give rows by their numbers (m,), copied."""
        counts = np.diff(self.indptr)[order]
        indptr = _ends(counts)
        places = np.repeat(self.indptr[order] - indptr[:-1], counts) + np.arange(indptr[-1])
        return SparseRows(indptr, self.indices[places], self.values[places], self.features)

    def frozen(self) -> "SparseRows":
        """Make the arrays read-only, so that whoever holds the rows may share them."""
        for array in (self.indptr, self.indices, self.values):
            freeze(array)
        return self

    def toarray(self) -> Array:
        """Give the rows with their zeros, (n, features)."""
        dense = np.zeros(self.shape, self.dtype)
        dense[np.repeat(np.arange(len(self)), np.diff(self.indptr)), self.indices] = self.values
        return dense

    def matrix(self, field: float | None = None) -> sparse.csr_array:
        """Give the rows as a scipy matrix; with one more column that holds `field` throughout."""
        arrays = (self.values, self.indices.view(np.int32), self.indptr)
        rows = sparse.csr_array(arrays, self.shape)
        if field is None:
            return rows
        column = sparse.csr_array(np.full((len(self), 1), field, self.dtype))
        return sparse.csr_array(sparse.hstack([rows, column], format="csr"))

    def row_bytes(self, row: int) -> bytes:
        """Give one row's indices and values as bytes, to be kept by itself."""
        part = slice(int(self.indptr[row]), int(self.indptr[row + 1]))
        return self.indices[part].tobytes() + self.values[part].astype(np.float64).tobytes()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as plain values, as shares are."""
        arrays = (self.indptr, self.indices, self.values)
        return _unpacked, (tuple(pack(array) for array in arrays), self.features)


def freeze_rows(X: Any) -> Any:
    """Make rows of either kind read-only; returns them."""
    return X.frozen() if isinstance(X, SparseRows) else freeze(X)


def take_rows(X: Any, order: Array) -> Any:
    """Give rows of either kind by their numbers, copied and read-only."""
    if isinstance(X, SparseRows):
        return X.take(order).frozen()
    return freeze(np.take(X, order, axis=0))  # twice as fast as indexing


def join_rows(parts: Sequence[Any]) -> Any:
    """Put blocks of rows of one kind and width, at least one, below each other."""
    return SparseRows.join(parts) if isinstance(parts[0], SparseRows) else np.concatenate(parts)


def _unpacked(arrays: tuple[Packed, ...], features: int) -> SparseRows:
    indptr, indices, values = (unpack(array) for array in arrays)
    return SparseRows(indptr, indices, values, features)


def _ends(counts: Array) -> Array:
    """Give where rows of so many nonzeros begin and end."""
    indptr = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=indptr[1:])
    return indptr


def _unsigned(indices: Array) -> Array:
    if indices.dtype == np.int32:
        return np.ascontiguousarray(indices).view(np.uint32)
    return indices.astype(np.uint32)
