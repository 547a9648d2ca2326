"""Rounds of batch dSVOR over all nodes of a network at once, in single or double precision."""

import numpy as np
from numba import njit

from anabranch.kernels.dsvor import DECAY, L1, L2, STEP
from anabranch.kernels.dsvor_hinges import slopes
from anabranch.kernels.dsvor_lanes import ROWS, add_row, add_rows, dot_row, dot_rows
from anabranch.kernels.lanes import largest
from anabranch.kernels.ordinal import project
from anabranch.protocol import Array

__all__ = ["network_rounds", "send"]

_LEAST = 1e-30
"""Taken off each weight at least: what decays would else end as numbers slow to multiply."""

_PARTS = 16
"""Of the nodes; within one, rows are read in order, so that memory is asked for the right ones."""


@njit(cache=True, nogil=True)
def _slope_of_row(f: float, rank: int, theta: Array, P: int, gradient: Array) -> float:
    """As `slopes`, of one row; the derivatives are taken off the gradient."""
    zero, one = theta.dtype.type(0.0), theta.dtype.type(1.0)
    total = zero
    for q in range(P, theta.size):
        margin = f - theta[q]
        up, down = one if margin > -one else zero, -one if margin < one else zero
        h = down if rank > q - P + 1 else up
        total += h
        gradient[q] -= h
    return total  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def _gradient(
    flat: Array, ranks: Array, start: int, end: int, theta: Array, P: int, work: Array,
    gradient: Array,
) -> None:  # fmt: skip
    """Sum over rows start..end of the hinges' subgradients; one pass over the features."""
    f, totals, tallies = work[0], work[1], work[2:]
    gradient[:] = tallies[:] = theta.dtype.type(0.0)
    r = start
    while r + ROWS <= end:
        dot_rows(flat, r * P, P, theta, f)
        slopes(f, ranks, r, theta, P, totals, tallies)
        add_rows(flat, r * P, P, gradient, totals)
        r += ROWS
    for q in range(tallies.shape[0]):
        for lane in range(ROWS):
            gradient[P + q] -= tallies[q, lane]
    while r < end:
        dot_row(flat, r * P, P, theta, f)
        totals[0] = _slope_of_row(f[0], ranks[r], theta, P, gradient)
        add_row(flat, r * P, P, gradient, totals)
        r += 1


@njit(cache=True, nogil=True)
def send(theta: Array, P: int, share: float, sent: Array) -> None:
    """sent = theta, with weights below share max|w| as zeros."""
    kind = theta.dtype.type
    cut = kind(share) * largest(theta, P)
    for j in range(P):
        sent[j] = kind(0.0) if abs(theta[j]) < cut else theta[j]
    for j in range(P, theta.size):
        sent[j] = theta[j]


@njit(cache=True, nogil=True)
def _mix(theta: Array, own: float, sent: Array, indices: Array, weights: Array) -> None:
    """theta = own theta + sum_n c_n sent_n, over the neighbours; thresholds stay in order."""
    for j in range(theta.size):
        theta[j] *= own
    for n in range(indices.size):
        other, weight = sent[indices[n]], weights[n]
        for j in range(theta.size):
            theta[j] += weight * other[j]


@njit(cache=True, nogil=True)
def _adapt(
    theta: Array, P: int, gradient: Array, eta: float, factor: float, l2: float, l1: float
) -> None:
    """w = soft(w (1 - eta l2) - eta factor g, eta l1); b -= eta factor g, in order."""
    kind = theta.dtype.type
    keep, scale, cut = kind(1.0 - eta * l2), kind(eta * factor), kind(max(eta * l1, _LEAST))
    zero = kind(0.0)
    for j in range(P):
        value = theta[j] * keep - scale * gradient[j]
        above, below = value - cut, value + cut
        theta[j] = (above if above > zero else zero) + (below if below < zero else zero)
    for j in range(P, theta.size):
        theta[j] -= scale * gradient[j]
    project(theta, P)


@njit(cache=True, nogil=True)
def _combine(
    theta: Array, sent: Array, sizes: Array, own: Array, indptr: Array, indices: Array,
    weights: Array, now: int, begin: int, end: int,
) -> None:  # fmt: skip
    """Average nodes begin..end with their neighbours: parameters, and shards' sizes."""
    kind = theta.dtype.type
    for m in range(begin, end):
        i, j = indptr[m], indptr[m + 1]
        _mix(theta[m], kind(own[m]), sent[now], indices[i:j], weights[i:j])
        size = own[m] * sizes[now, m]
        for n in range(i, j):
            size += weights[n] * sizes[now, indices[n]]
        sizes[1 - now, m] = size


@njit(cache=True, nogil=True)
def network_rounds(
    Z: Array, ranks: Array, starts: Array, ahead: Array, theta: Array, sent: Array, sizes: Array,
    own: Array, indptr: Array, indices: Array, weights: Array, settings: Array, share: float,
    first: int, last: int, begin: int, end: int,
) -> None:  # fmt: skip
    """Perform rounds first..last for nodes begin..end: combine, then a subgradient step.

    What is sent in round t lies in sent[t % 2], and sizes[t % 2], so nodes may be dealt to
    threads where these meet after each round. All combine before any steps, while what was
    sent is still in the cache; every other round goes over the parts backwards, since the
    features read last are.

    Parameters
    ----------
    Z (N, P), ranks (N,), starts (M + 1,) : rows, those of node m from starts[m] on
    ahead (M,) : steps node m had taken before round 0; -1: it takes none
    theta (M, P + Q - 1) : parameters; sent (2, ...) likewise; sizes (2, M) float64
    own (M,), indptr, indices, weights : combination weights, the neighbours' as CSR
    settings : as for online dSVOR; share : what is pruned, of max|w|
    """
    P, flat, count = Z.shape[1], Z.reshape(-1), end - begin
    gradient = np.empty(theta.shape[1], theta.dtype)
    work = np.empty((2 + theta.shape[1] - P, ROWS), theta.dtype)
    for t in range(first, last):
        now, after = t % 2, (t + 1) % 2
        _combine(theta, sent, sizes, own, indptr, indices, weights, now, begin, end)
        for i in range(_PARTS):
            part = _PARTS - 1 - i if now else i
            for m in range(begin + count * part // _PARTS, begin + count * (part + 1) // _PARTS):
                mine, size = theta[m], sizes[after, m]
                if ahead[m] >= 0:
                    _gradient(flat, ranks, starts[m], starts[m + 1], mine, P, work, gradient)
                    eta = settings[STEP] / (1.0 + settings[DECAY] * (t + ahead[m]))
                    factor = 1.0 / size if size > 0.0 else 1.0
                    _adapt(mine, P, gradient, eta, factor, settings[L2], settings[L1])
                send(mine, P, share, sent[after, m])
