"""One plane's dual coordinate descent over the rows that are still active, as in the paper.

With s = -1 for rows up to the plane's rank and +1 above, alpha = s beta and w = sum s alpha x:

    G = s w'x + slope alpha - (0 for rows of the rank, else 1)
    alpha' = clip(soft(alpha - G/A, e/A), low, cap)

where e is eps and low = -cap for rows of the rank, else both are 0; slope, A and cap as in
`npsvor`. A row leaves where alpha is at a bound, or at the kink of eps |alpha|, and its gradient
is beyond all projected gradients of the pass before.
"""

from numba import njit

from anabranch.kernels.npsvor import bounds
from anabranch.kernels.redsvm import add_row, dot_row
from anabranch.protocol import Array

__all__ = ["plane_pass"]

_STILL, _FLAT = 1e-12, 1e-30
"""Gradient that moves nothing; least curvature, of rows of zeros under L1."""


@njit(cache=True, nogil=True)
def _soft(value: float, by: float) -> float:
    return max(value - by, 0.0) + min(value + by, 0.0)


@njit(cache=True, nogil=True)
def _pull(
    gradient: float, e: float, alpha: float, low: float, cap: float, limits: tuple[float, float]
) -> tuple[float, bool]:
    """Give the projected gradient, and whether the row leaves."""
    above, below = limits
    if alpha == 0.0 and low < 0.0:
        pull = _soft(gradient, e)
        return pull, pull == 0.0 and gradient + e > above and gradient - e < below
    slope = gradient - e if alpha < 0.0 else gradient + e
    if alpha <= low:
        return min(slope, 0.0), slope > above
    if alpha >= cap:
        return max(slope, 0.0), slope < below
    return slope, False


@njit(cache=True, nogil=True)
def plane_pass(
    active: Array, indptr: Array, indices: Array, values: Array, sides: Array, squares: Array,
    weights: Array, costs: tuple[float, float, float, float], squared: bool,
    limits: tuple[float, float], w: Array, beta: Array, found: Array,
) -> int:  # fmt: skip
    """Visit the active rows in their order; gives how many stay, the first of `active`.

    Parameters
    ----------
    active : (m,) row numbers; those that leave are put last
    indptr, indices, values, squares, weights, costs, squared : as for `npsvor.dual_pass`
    sides : (n,) -1, 0 or +1: ranks below the plane's, its own, and above
    limits : largest and smallest projected gradient of the pass before
    w : (features + 1,), the bias last; changed
    beta : (n,); changed
    found : (3,) largest and smallest projected gradient, to be raised and lowered, and the sum of
        their sizes, to be added to
    """
    c1, c2, eps, bias = costs
    count, at = len(active), 0
    while at < count:
        i = active[at]
        near, s = sides[i] == 0, 1.0 if sides[i] > 0 else -1.0
        slope, cap = bounds((c1 if near else c2) * weights[i], squared)
        e, low, alpha = eps if near else 0.0, -cap if near else 0.0, s * beta[i]
        z = bias * w[-1] + dot_row(indices, values, indptr[i], indptr[i + 1], w)
        gradient = s * z + slope * alpha - (0.0 if near else 1.0)
        pull, leaves = _pull(gradient, e, alpha, low, cap, limits)
        if leaves:
            count -= 1
            active[at], active[count] = active[count], i
            continue
        at += 1
        found[0], found[1] = max(found[0], pull), min(found[1], pull)
        found[2] += abs(pull)
        if abs(pull) > _STILL:
            curve = max(squares[i] + slope, _FLAT)
            new = min(max(_soft(alpha - gradient / curve, e / curve), low), cap)
            step = s * (new - alpha)
            beta[i] = s * new
            w[-1] += bias * step
            add_row(indices, values, indptr[i], indptr[i + 1], step, w)
    return count
