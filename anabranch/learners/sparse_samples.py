"""Blocks of samples for learners that take sparse rows: dense ones become sparse, all checked."""

from typing import Any

import numpy as np
from scipy import sparse

from anabranch.errors import SampleError
from anabranch.kernels.checks import LIMIT, bounded, good_rows
from anabranch.kernels.sparse_blocks import compressed, in_order
from anabranch.learners.inbox import sealed
from anabranch.learners.rows import checked_rows, shaped_column
from anabranch.protocol import Array
from anabranch.sparse import SparseRows

__all__ = ["checked_ranks", "checked_sparse"]


def checked_sparse(X: Any, features: int) -> SparseRows:
    """Give X (n, features), of any kind, as sparse rows of float64, all finite; read-only.

    Raises
    ------
    SampleError
        It has another shape, is no array of numbers, a value is not finite or beyond `LIMIT`,
        or sparse rows are not in order.

    >>> checked_sparse([[0.0, 2.0]], 2).indices.tolist()
    [1]
    """
    if sparse.issparse(X):
        X = _of_scipy(X, features)
    if not isinstance(X, SparseRows):
        indptr, indices, values = compressed(checked_rows(X, features))
        return SparseRows(sealed(indptr), sealed(indices), sealed(values), features)
    if X.features != features:
        raise SampleError(f"wrong shape: X has {X.shape}; allowed: (n, {features})")
    if np.iscomplexobj(X.values):
        raise SampleError("not real: X holds complex numbers; allowed: real ones")
    indptr = sealed(np.ascontiguousarray(X.indptr, np.int64))
    indices = sealed(np.ascontiguousarray(X.indices, np.uint32))
    values = sealed(np.ascontiguousarray(X.values, np.float64))
    if len(values) != len(indices) or not in_order(indptr, indices, features):
        raise SampleError(
            f"not in order: the indices of X; allowed: below {features}, increasing in each row"
        )
    rows = SparseRows(indptr, indices, values, features)
    if not bounded(values):
        raise _unbounded(rows)
    return rows


def _of_scipy(X: Any, features: int) -> SparseRows:
    if X.shape[1:] != (features,):
        raise SampleError(f"wrong shape: X has {X.shape}; allowed: (n, {features})")
    try:
        return SparseRows.of(X, X.dtype)
    except ValueError as error:
        raise SampleError(str(error)) from error


def _unbounded(rows: SparseRows) -> SampleError:
    at = int(np.argmax(~(np.abs(rows.values) <= LIMIT)))
    row = int(np.searchsorted(rows.indptr, at, side="right")) - 1
    return SampleError(
        f"not finite: X[{row}, {rows.indices[at]}]={rows.values[at]}; allowed: up to {LIMIT:g}"
    )


_NOTHING = sealed(np.empty((1, 0)))


def checked_ranks(y: Any, count: int, ranks: int) -> Array:
    """Give y (count,) as float64, all of them ranks; read-only.

    Raises
    ------
    SampleError
        It has another shape, or a label is none of 1..ranks.

    >>> checked_ranks([1, 2], 2, 2).tolist()
    [1.0, 2.0]
    """
    column = shaped_column(y, count)
    if not good_rows(_NOTHING, column, ranks):
        bad = ~((column >= 1) & (column <= ranks) & (column == np.floor(column)))
        row = int(np.argmax(bad))
        raise SampleError(
            f"not a rank: y[{row}]={column[row]}; allowed: whole numbers 1 to {ranks}"
        )
    return column
