"""Blocks of samples, read without trust: what is wrong names its place in X or y."""

import numpy as np
from scipy import sparse

from anabranch.errors import SampleError
from anabranch.kernels.checks import LIMIT, bounded
from anabranch.learners.inbox import sealed
from anabranch.protocol import Array

__all__ = ["checked_column", "checked_rows", "shaped_column", "shaped_rows", "unbounded"]

_DOUBLE = np.dtype(np.float64)


def shaped_rows(X: Array, features: int, name: str = "X") -> Array:
    """Give X (n, features) as float64 in C order, read-only.

    Raises
    ------
    SampleError
        It has another shape, or is no array of numbers.

    >>> shaped_rows([[1, 2]], 2).tolist()
    [[1.0, 2.0]]
    """
    if type(X) is np.ndarray and X.dtype == _DOUBLE and X.ndim == 2 and X.shape[1] == features:
        rows = sealed(X)
        if rows.flags.c_contiguous:
            return rows
    if sparse.issparse(X):
        raise SampleError(f"not dense: {name} is a scipy matrix; allowed: {name}.toarray()")
    rows = _real(X, name)
    if rows.ndim != 2 or rows.shape[1] != features or np.ndim(X) != 2:
        raise SampleError(f"wrong shape: {name} has {np.shape(X)}; allowed: (n, {features})")
    return sealed(rows)


def shaped_column(y: Array, count: int) -> Array:
    """Give y (count,) as float64, read-only.

    Raises
    ------
    SampleError
        It has another shape, or is no array of numbers.

    >>> shaped_column([1, 2], 2).tolist()
    [1.0, 2.0]
    """
    if type(y) is np.ndarray and y.dtype == _DOUBLE and y.shape == (count,):
        column = sealed(y)
        if column.flags.c_contiguous:
            return column
    column = _real(y, "y")
    if column.shape != (count,) or np.ndim(y) != 1:
        raise SampleError(f"wrong shape: y has {np.shape(y)}; allowed: ({count},)")
    return sealed(column)


def _real(given: Array, name: str) -> Array:
    """Give numbers as float64 in C order."""
    try:
        if np.iscomplexobj(given):
            raise SampleError(f"not real: {name} holds complex numbers; allowed: real ones")
        return np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SampleError(f"not numbers: {name}; {error}") from error


def checked_rows(X: Array, features: int) -> Array:
    """Give X as `shaped_rows` does, every value finite.

    Raises
    ------
    SampleError
        As there, or a value is not finite, or beyond `LIMIT`.

    >>> checked_rows([[1.0, float("nan")]], 2)
    Traceback (most recent call last):
    ...
    anabranch.errors.SampleError: not finite: X[0, 1]=nan; allowed: up to 1e+100
    """
    rows = shaped_rows(X, features)
    if not bounded(rows.reshape(-1)):
        raise unbounded(rows)
    return rows


def checked_column(y: Array, count: int) -> Array:
    """Give y as `shaped_column` does, every value finite.

    Raises
    ------
    SampleError
        As there, or a value is not finite, or beyond `LIMIT`.
    """
    column = shaped_column(y, count)
    if not bounded(column):
        row = int(np.argmax(~(np.abs(column) <= LIMIT)))
        raise SampleError(f"not finite: y[{row}]={column[row]}; allowed: up to {LIMIT:g}")
    return column


def unbounded(X: Array) -> SampleError:
    """Name the first value of X (n, d) that is not finite or beyond `LIMIT`."""
    row, column = np.argwhere(~(np.abs(X) <= LIMIT))[0]
    return SampleError(f"not finite: X[{row}, {column}]={X[row, column]}; allowed: up to {LIMIT:g}")
