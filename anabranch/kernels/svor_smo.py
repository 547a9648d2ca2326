"""Support vector ordinal regression solved for some rows: pairs, and Newton steps among the free.

Sequential minimal optimisation with a second-order choice of the pair (Fan, Chen and Lin 2005), a
threshold at a time.
"""

import numpy as np
from numba import njit

from anabranch.kernels.svor_free import settle
from anabranch.kernels.svor_pairs import Bounds, Part, scan, work
from anabranch.protocol import Array

__all__ = ["smo"]

_LEVEL = 0.5
"""A threshold is worked on until it is this share of what was wrong with it."""
_PAIRS = 100
"""Pairs moved before free variables are settled."""
_RIDGE = 1e-10
"""Of the largest k(x, x)."""


@njit(cache=True, nogil=True)
def smo(K: Array, part: Part, tol: float, most: int) -> int:
    """Move pairs until no threshold is farther than `tol` from optimal, `most` times at most.

    Gives the number of moves; 0 where rounding allows none.
    """
    shape = part.a.shape
    bounds = Bounds(
        np.full(shape, -np.inf), np.full(shape, -np.inf), np.empty(shape[0]), np.empty(shape[0]),
        np.empty(shape[0]), np.empty(shape[0]),
    )  # fmt: skip
    diagonal, gain = np.diag(K), np.empty(len(K))
    moves, until, settled = 0, _PAIRS, False
    while moves < most:
        j, wrong = scan(part, bounds)
        if wrong <= tol and settled:
            break
        if wrong <= tol:
            settle(K, _RIDGE * diagonal.max(), part)
            settled = True
            continue
        goal = max(tol, _LEVEL * wrong)
        moved = work(j, goal, min(most, until) - moves, K, diagonal, part, bounds, gain)
        if moved == 0:
            break
        moves += moved
        if moves >= until:
            settle(K, _RIDGE * diagonal.max(), part)
            until = moves + _PAIRS
    return moves
