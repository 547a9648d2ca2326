"""Linear nonparallel support vector ordinal regression: a pass of dual coordinate descent.

Plane k is near the rows of rank k and far from all others. With s_i = -1 for rows of ranks
below k and +1 above,

    min |w|^2/2 + C1 sum_{rank k} loss(|w'x_i| - eps) + C2 sum_{others} loss(1 - s_i w'x_i)

where loss(r) is max(r, 0) (L1) or its square (L2). A row's dual variable keeps its sign, as
beta, so that w = sum_i beta_i x_i for every plane. All planes step together: a row is read
once for the products, and once for the steps, of all of them. The bias is one more field.

The dual's curvature is |x|^2 + slope, slope = 1/(2C) and beta unbounded for L2, slope = 0 and
|beta| <= C for L1; C is times the row's weight.
"""

import numpy as np
from numba import njit

from anabranch.kernels.sparse_lanes import gather, scatter
from anabranch.protocol import Array

__all__ = ["dual_pass", "duality", "squares"]


@njit(cache=True, nogil=True)
def squares(indptr: Array, values: Array, bias: float, out: Array) -> None:
    """out_i = |x_i|^2 + bias^2."""
    for i in range(len(out)):
        total = bias * bias
        for t in range(indptr[i], indptr[i + 1]):
            total += values[t] * values[t]
        out[i] = total


@njit(cache=True, nogil=True)
def _bounds(square: float, cost: float, squared: bool) -> tuple[float, float, float]:
    """Give slope, 1/curvature and the bound of |beta|; a row of zeros does not move under L1."""
    if squared:
        slope = 1.0 / (2.0 * cost)
        return slope, 1.0 / (square + slope), np.inf
    return 0.0, 1.0 / square if square > 0.0 else 0.0, cost


@njit(cache=True, nogil=True)
def _near(
    z: float, beta: float, eps: float, bounds: tuple[float, float, float]
) -> tuple[float, float]:
    """Step to |w'x| <= eps: beta' = soft(beta - G/A, eps/A) within the bounds, G = z + slope beta.

    Gives the step, and the size of the projected gradient before it.
    """
    slope, inverse, cap = bounds
    gradient = z + slope * beta
    up, down = gradient + eps, gradient - eps
    wrong = max(down, 0.0) - max(-up, 0.0) if beta == 0.0 else up if beta > 0.0 else down
    if (beta >= cap and wrong < 0.0) or (beta <= -cap and wrong > 0.0):
        return 0.0, 0.0
    free = max(beta - up * inverse, 0.0) + min(beta - down * inverse, 0.0)
    return min(max(free, -cap), cap) - beta, abs(wrong)


@njit(cache=True, nogil=True)
def _far(
    z: Array, beta: Array, rank: int, planes: int, bounds: tuple[float, float, float],
    change: Array, worst: Array,
) -> None:  # fmt: skip
    """Step to s w'x >= 1 in all planes but the rank's: a' = clip(a - G/A, 0, cap), a = s beta.

    G = s z - 1 + slope a; `worst` is raised to the largest projected gradient.
    """
    kind = z.dtype.type
    slope, inverse, cap = kind(bounds[0]), kind(bounds[1]), kind(bounds[2])
    zero, one = kind(0.0), kind(1.0)
    for k in range(planes):
        side = one if k < rank else -one
        a = side * beta[k]
        gradient = side * z[k] - one + slope * a
        new = min(max(a - gradient * inverse, zero), cap)
        wrong = gradient if a > zero else min(gradient, zero)
        wrong = wrong if a < cap else max(wrong, zero)
        change[k] = side * (new - a)
        worst[k] = max(worst[k], abs(wrong)) if k != rank else worst[k]


@njit(cache=True, nogil=True)
def dual_pass(
    order: Array, indptr: Array, indices: Array, values: Array, ranks: Array, squares: Array,
    weights: Array, costs: tuple[float, float, float, float], squared: bool, planes: int,
    W: Array, B: Array, beta: Array, worst: Array,
) -> None:  # fmt: skip
    """Visit the rows in the given order, stepping in all planes at each.

    Parameters
    ----------
    order : (n,) row numbers
    indptr, indices, values : the rows (CSR), indices uint32
    ranks : (n,) from 0
    squares : (n,) |x_i|^2 with the bias
    weights : (n,) of the rows
    costs : C1, C2, eps, and the value of the bias field
    W, B : (features * lanes,) and (lanes,), the planes and their biases; changed
    beta : (n, lanes); changed
    worst : (lanes,) largest projected gradients, to be raised
    """
    z, change = np.zeros_like(B), np.zeros_like(B)
    kind = B.dtype.type
    c1, c2, eps, bias = costs
    field = kind(bias)
    for i in order:
        start, end, rank, own = indptr[i], indptr[i + 1], ranks[i], beta[i]
        for k in range(len(z)):
            z[k] = field * B[k]
        gather(W, indices, values, start, end, z)
        _far(z, own, rank, planes, _bounds(squares[i], c2 * weights[i], squared), change, worst)
        near = _bounds(squares[i], c1 * weights[i], squared)
        step, wrong = _near(z[rank], own[rank], eps, near)
        change[rank] = kind(step)
        worst[rank] = max(worst[rank], kind(wrong))
        for k in range(planes):
            own[k] += change[k]
            B[k] += field * change[k]
        scatter(W, indices, values, start, end, change)


@njit(cache=True, nogil=True)
def duality(
    indptr: Array, indices: Array, values: Array, ranks: Array, weights: Array,
    costs: tuple[float, float, float, float], squared: bool, planes: int,
    W: Array, B: Array, beta: Array, sums: Array,
) -> None:  # fmt: skip
    """Add all planes' losses to `sums[0]`, and to `sums[1]` their duals but for -|w|^2/2.

    Dual: sum s beta over the others - eps sum |beta| over I_k, and for L2 - sum beta^2/(4C).
    Arguments as for `dual_pass`; `sums` is (2, planes) of float64.
    """
    z = np.zeros_like(B)
    c1, c2, eps, bias = costs
    for i in range(len(ranks)):
        for k in range(len(z)):
            z[k] = bias * B[k]
        gather(W, indices, values, indptr[i], indptr[i + 1], z)
        for k in range(planes):
            near, side = k == ranks[i], 1.0 if k < ranks[i] else -1.0
            cost = weights[i] * (c1 if near else c2)
            excess = max(abs(z[k]) - eps if near else 1.0 - side * z[k], 0.0)
            b = float(beta[i, k])
            sums[0, k] += cost * (excess * excess if squared else excess)
            sums[1, k] += -eps * abs(b) if near else side * b
            if squared and cost > 0.0:
                sums[1, k] -= b * b / (4.0 * cost)
