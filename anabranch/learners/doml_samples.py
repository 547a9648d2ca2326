"""Checking the labels of a block."""

import numpy as np

from anabranch.errors import SampleError
from anabranch.learners.inbox import sealed
from anabranch.protocol import Array

__all__ = ["checked_labels"]


def checked_labels(y: Array, count: int, labels: int) -> Array:
    """Give y (n, q) of 0 and 1 as contiguous float64, read-only.

    Raises
    ------
    SampleError
        It has another shape, or a value that is neither 0 nor 1.

    >>> checked_labels([[0, 1]], 1, 2).tolist()
    [[0.0, 1.0]]
    """
    try:
        values = np.ascontiguousarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SampleError(f"not numbers: y; {error}") from error
    if values.shape != (count, labels) or np.ndim(y) != 2:
        raise SampleError(f"wrong shape: y has {np.shape(y)}; allowed: ({count}, {labels})")
    bad = (values != 0.0) & (values != 1.0)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise SampleError(f"no label: y[{row}, {column}]={values[row, column]}; allowed: 0, 1")
    return sealed(values)
