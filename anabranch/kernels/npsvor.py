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

from anabranch.kernels.counters import Counter, mix
from anabranch.kernels.npsvor_lanes import visit
from anabranch.kernels.sparse_lanes import fetch, gather
from anabranch.protocol import Array

__all__ = ["FAR", "LINES", "NEAR", "bounds", "dual_pass", "duality", "shuffle", "squares"]

NEAR, FAR, LINES = 3, 6, 3
"""Rows ahead whose nonzeros are asked for, and what else there is of them; lines of nonzeros."""
_CACHED = 1 << 18
"""Numbers of W that a core's own cache holds: rows of a larger one are asked for ahead."""
_STEEP = 1e30
"""Largest slope: that of a cost near 0, in single precision too."""
_HALF = np.uint64(32)


@njit(cache=True, nogil=True)
def squares(indptr: Array, values: Array, bias: float, out: Array) -> None:
    """out_i = |x_i|^2 + bias^2; even and odd places apart, so that no sum waits for the other."""
    for i in range(len(out)):
        even, odd, end = bias * bias, 0.0, indptr[i + 1]
        for t in range(indptr[i], end - 1, 2):
            even += values[t] * values[t]
            odd += values[t + 1] * values[t + 1]
        if (end - indptr[i]) % 2:
            even += values[end - 1] * values[end - 1]
        out[i] = even + odd


@njit(cache=True, nogil=True)
def shuffle(order: Array, key: Counter) -> None:
    """Put up to 2**32 numbers in an order decided by the key, each order as likely."""
    for left in range(len(order) - 1, 0, -1):
        at = np.int64(((mix(key, left) >> _HALF) * np.uint64(left + 1)) >> _HALF)
        order[left], order[at] = order[at], order[left]


@njit(cache=True, nogil=True, inline="always")
def bounds(cost: float, squared: bool) -> tuple[float, float]:
    """Give slope and the bound of |beta|."""
    if squared:
        return min(0.5 / cost, _STEEP), np.inf
    return 0.0, cost


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
    beta : (n * lanes,); changed
    worst : (lanes,) largest projected gradients, to be raised
    """
    c1, c2, eps, bias = costs
    count, lanes = len(order), len(B)
    for at in range(count):
        # Rows come at random, which no hardware foresees: ask for them in time.
        if at + FAR < count:
            i = order[at + FAR]
            fetch(indptr, i, 0)
            fetch(ranks, i, 0)
            fetch(squares, i, 0)
            fetch(weights, i, 0)
            fetch(beta, i * lanes, 0)
        if at + NEAR < count:
            soon = indptr[order[at + NEAR]]
            for line in range(LINES):
                fetch(indices, soon, line)
                fetch(values, soon, line)
        i, following = order[at], order[min(at + 1, count - 1)]
        start, end = indptr[i], indptr[i + 1]
        soon = min(indptr[following], len(indices) - (end - start))
        ahead = soon - start if len(W) > _CACHED else 0
        near, far = bounds(c1 * weights[i], squared), bounds(c2 * weights[i], squared)
        visit(
            W, indices, values, start, end, beta, B, worst, i * lanes, ranks[i], planes, ahead,
            squares[i], eps, near, far, bias,
        )  # fmt: skip


@njit(cache=True, nogil=True)
def duality(
    indptr: Array, indices: Array, values: Array, ranks: Array, weights: Array,
    costs: tuple[float, float, float, float], squared: bool, planes: int,
    W: Array, B: Array, beta: Array, sums: Array,
) -> None:  # fmt: skip
    """Add all planes' losses to `sums[0]`, and to `sums[1]` their duals but for -|w|^2/2.

    Dual: sum s beta over the others - eps sum |beta| over I_k, and for L2 - sum beta^2/(4C).
    Arguments as for `dual_pass`, but `beta` (n, lanes); `sums` is (2, planes) of float64.
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
