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

__all__ = ["FAR", "LINES", "NEAR", "bounds", "dual_passes", "duality", "shuffle", "squares"]

NEAR, FAR, LINES = 3, 6, 3
"""Rows ahead whose nonzeros are asked for, and what else there is of them; lines of nonzeros."""
_CACHED = 1 << 18
"""Numbers of W that a core's own cache holds: rows of a larger one are asked for ahead."""
_STEEP = 1e30
"""Largest slope: that of a cost near 0, in single precision too."""
_HALF, _ONE = np.uint64(32), np.uint32(1)


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
def dual_passes(
    order: Array, indptr: Array, indices: Array, values: Array, ranks: Array, squares: Array,
    weights: Array, costs: tuple[float, float, float, float], squared: bool, planes: int,
    W: Array, B: Array, beta: Array, worst: Array, seed: Counter, since: int, most: int, tol: float,
) -> int:  # fmt: skip
    """Pass over the rows, each time in another order, stepping in all planes at each row.

    Gives the number of passes: `most`, or fewer once no projected gradient exceeds `tol`.

    Parameters
    ----------
    order : (n,) row numbers, uint32; shuffled
    indptr, indices, values : the rows (CSR), indices uint32
    ranks : (n,) from 0
    squares : (n,) |x_i|^2 with the bias
    weights : (n,) of the rows
    costs : C1, C2, eps, and the value of the bias field
    W, B : (features * lanes,) and (lanes,), the planes and their biases; changed
    beta : (n * lanes,); changed
    worst : (lanes,) set to the last pass's largest projected gradients
    since : passes before, which have had their orders
    """
    for done in range(most):
        shuffle(order, mix(seed, since + done))
        worst[:] = 0.0
        # A number of lanes that is known when compiling saves much of what a short row takes.
        if len(B) == 4:
            _pass(
                order, indptr, indices, values, ranks, squares, weights, costs, squared, planes,
                W, B, beta, worst, 4,
            )  # fmt: skip
        elif len(B) == 8:
            _pass(
                order, indptr, indices, values, ranks, squares, weights, costs, squared, planes,
                W, B, beta, worst, 8,
            )  # fmt: skip
        else:
            _pass(
                order, indptr, indices, values, ranks, squares, weights, costs, squared, planes,
                W, B, beta, worst, len(B),
            )  # fmt: skip
        if worst.max() <= tol:
            return done + 1
    return most


@njit(cache=True, nogil=True, inline="always")
def _pass(
    order: Array, indptr: Array, indices: Array, values: Array, ranks: Array, squares: Array,
    weights: Array, costs: tuple[float, float, float, float], squared: bool, planes: int,
    W: Array, B: Array, beta: Array, worst: Array, lanes: int,
) -> None:  # fmt: skip
    """Visit the rows in the given order."""
    c1, c2, eps, bias = costs
    count, last, near, far = len(order), 1.0, bounds(c1, squared), bounds(c2, squared)
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
        i = order[at]
        start, end, ahead = indptr[i], indptr[i + _ONE], 0
        if len(W) > _CACHED:
            soon = indptr[order[min(at + 1, count - 1)]]
            ahead = min(soon, len(indices) - (end - start)) - start
        if weights[i] != last:
            last = weights[i]
            near, far = bounds(c1 * last, squared), bounds(c2 * last, squared)
        visit(
            W, indices, values, start, end, beta, B, worst, i * lanes, ranks[i], planes, ahead,
            squares[i], eps, near, far, bias, lanes,
        )  # fmt: skip


@njit(cache=True, nogil=True)
def duality(
    indptr: Array, indices: Array, values: Array, ranks: Array, weights: Array,
    costs: tuple[float, float, float, float], squared: bool, planes: int,
    W: Array, B: Array, beta: Array, sums: Array,
) -> None:  # fmt: skip
    """Add all planes' losses to `sums[0]`, to `sums[1]` their duals but for -|w|^2/2, |w|^2 to [2].

    Dual: sum s beta over the others - eps sum |beta| over I_k, and for L2 - sum beta^2/(4C).
    Arguments as for `dual_passes`, but `beta` (n, lanes); `sums` is (3, planes) of float64.
    """
    z, lanes = np.zeros_like(B), len(B)
    c1, c2, eps, bias = costs
    for i in range(len(ranks)):
        for k in range(lanes):
            z[k] = bias * B[k]
        gather(W, indices, values, indptr[i], indptr[i + 1], z)
        near, far, rank = weights[i] * c1, weights[i] * c2, ranks[i]
        flat = 0.25 / near if squared and near > 0.0 else 0.0
        steep = 0.25 / far if squared and far > 0.0 else 0.0
        for k in range(planes):
            own, side, b = k == rank, 1.0 if k < rank else -1.0, float(beta[i, k])
            excess = max(abs(z[k]) - eps if own else 1.0 - side * z[k], 0.0)
            sums[0, k] += (near if own else far) * (excess * excess if squared else excess)
            sums[1, k] += -eps * abs(b) if own else side * b
            sums[1, k] -= (flat if own else steep) * b * b
    for j in range(0, len(W), lanes):
        for k in range(planes):
            sums[2, k] += np.float64(W[j + k]) * np.float64(W[j + k])
