"""Loops over rows of a kernel's matrix."""

import numpy as np
from numba import njit

from anabranch.protocol import Array

__all__ = ["add_rows", "city_blocks"]

_BLOCK = 2048
"""Columns that stay near while all rows are added to them."""


@njit(cache=True, nogil=True)
def add_rows(rows: Array, places: Array, factors: Array, out: Array) -> None:
    """out_k += sum_m factors_m rows[places_m, k], in double precision."""
    for begin in range(0, len(out), _BLOCK):
        part = out[begin : begin + _BLOCK]
        for m in range(len(places)):
            row, factor = rows[places[m], begin : begin + _BLOCK], factors[m]
            for k in range(len(part)):
                part[k] += factor * row[k]


@njit(cache=True, nogil=True)
def city_blocks(X: Array, columns: Array, out: Array) -> None:
    """out_mk = |x_m - z_k|_1 for rows X (q, d), and columns (d, n) that are the rows Z."""
    for m in range(len(X)):
        row = out[m]
        row[:] = 0.0
        for j in range(len(columns)):
            x, z = X[m, j], columns[j]
            for k in range(len(row)):
                row[k] += np.abs(z[k] - x)
