"""Newton steps among the variables that lie between their bounds.

Pairs alone are slow where a kernel's matrix has directions of little curvature, as linear ones
do. With Phi the free variables and p the change of their s a, at equal thresholds in sum 0,

    max_p  sum_Phi v p - 1/2 p' K p

(with a ridge, since K may be singular), and as much of p is taken as the bounds allow.
"""

import numpy as np
from numba import njit

from anabranch.kernels.svor_pairs import Part, room_of, turn
from anabranch.protocol import Array

__all__ = ["settle"]

_MOST = 48
"""Free variables whose system is worth solving."""
_ROUNDED = 1.0 + 1e-12
"""A step within this of all its room takes all of it."""


@njit(cache=True, nogil=True)
def _free(part: Part, thresholds: Array, rows: Array) -> int:
    """List the free variables; gives their number, 0 if there are too many."""
    count = 0
    for j in range(len(part.a)):
        for i in range(part.spans[j, 0], part.spans[j, 2]):
            if 0.0 < part.a[j, i] < part.caps[i]:
                if count == len(rows):
                    return 0
                thresholds[count], rows[count] = j, i
                count += 1
    return count


@njit(cache=True, nogil=True)
def _values(thresholds: Array, rows: Array, part: Part) -> Array:
    """Give v of some variables."""
    v = np.empty(len(rows))
    for x in range(len(rows)):
        v[x] = (1.0 if rows[x] >= part.spans[thresholds[x], 1] else -1.0) - part.F[rows[x]]
    return v


@njit(cache=True, nogil=True)
def _pools(part: Part) -> Array:
    """Number the thresholds so that those which mu > 0 ties are one."""
    pools = np.zeros(len(part.a), np.int64)
    for j in range(1, len(pools)):
        pools[j] = pools[j - 1] + (0 if part.coupled and part.mu[j] > 0.0 else 1)
    return pools


@njit(cache=True, nogil=True)
def _eliminate(system: Array, right: Array) -> None:
    """Solve a symmetric, positive definite system; `right` becomes the solution."""
    n = len(right)
    for k in range(n):
        pivot = system[k, k + 1 :]
        for i in range(k + 1, n):
            factor, row = system[i, k] / system[k, k], system[i, k + 1 :]
            for m in range(len(row)):
                row[m] -= factor * pivot[m]
            right[i] -= factor * right[k]
    for k in range(n - 1, -1, -1):
        for m in range(k + 1, n):
            right[k] -= system[k, m] * right[m]
        right[k] /= system[k, k]


@njit(cache=True, nogil=True)
def _bases(thresholds: Array, pools: Array) -> Array:
    """Give the first variable of each variable's pool."""
    first, bases = np.full(len(pools), -1), np.empty(len(thresholds), np.int64)
    for x in range(len(thresholds)):
        pool = pools[thresholds[x]]
        if first[pool] < 0:
            first[pool] = x
        bases[x] = first[pool]
    return bases


@njit(cache=True, nogil=True)
def _direction(
    K: Array, ridge: float, thresholds: Array, rows: Array, v: Array, pools: Array
) -> Array:
    """Solve for p (f,): the first variable of a pool balances the others, so that sums stay 0."""
    bases, p = _bases(thresholds, pools), np.zeros(len(rows))
    others = np.flatnonzero(bases != np.arange(len(rows)))
    system, right = np.empty((len(others), len(others))), np.empty(len(others))
    for x in range(len(others)):
        i, base = rows[others[x]], rows[bases[others[x]]]
        right[x] = v[others[x]] - v[bases[others[x]]]
        for y in range(len(others)):
            m, other = rows[others[y]], rows[bases[others[y]]]
            system[x, y] = K[i, m] - K[i, other] - K[base, m] + K[base, other]
        system[x, x] += ridge
    _eliminate(system, right)
    for x in range(len(others)):
        p[others[x]] += right[x]
        p[bases[others[x]]] -= right[x]
    return p


@njit(cache=True, nogil=True)
def _ties(thresholds: Array, p: Array, part: Part) -> Array:
    """Give how mu changes with p: mu_(j+1) by that of mu_j less the sum of p at threshold j."""
    change = np.zeros(len(part.mu))
    if part.coupled:
        for x in range(len(p)):
            change[thresholds[x] + 1] -= p[x]
        for j in range(1, len(change)):
            change[j] = change[j] + change[j - 1] if part.mu[j] > 0.0 else 0.0
    return change


@njit(cache=True, nogil=True)
def _share(thresholds: Array, rows: Array, p: Array, ties: Array, part: Part) -> float:
    """Give how much of a step the bounds allow, 1 at most."""
    share = 1.0
    for x in range(len(p)):
        room = room_of(thresholds[x], rows[x], p[x] > 0.0, part)
        if room < share * abs(p[x]):
            share = room / abs(p[x])
    for j in range(len(ties)):
        if part.mu[j] < -share * ties[j]:
            share = part.mu[j] / -ties[j]
    return share


@njit(cache=True, nogil=True)
def _step(K: Array, thresholds: Array, rows: Array, p: Array, v: Array, part: Part) -> float:
    """Take what the bounds allow of a step p, which `v` follows; gives how much of it."""
    ties = _ties(thresholds, p, part)
    share = _share(thresholds, rows, p, ties, part)
    for x in range(len(p)):
        j, i, up, step = thresholds[x], rows[x], p[x] > 0.0, share * abs(p[x])
        room = room_of(j, i, up, part)
        # What stopped the step is at its bound, but for rounding.
        turn(j, i, room if room <= step * _ROUNDED else step, room, up, part)
        for y in range(len(p)):
            v[y] -= share * p[x] * K[i, rows[y]]
    for j in range(len(ties)):
        mu = part.mu[j] + share * ties[j]
        part.mu[j] = mu if mu > part.mu[j] * (_ROUNDED - 1.0) else 0.0
    return share


@njit(cache=True, nogil=True)
def _kept(thresholds: Array, rows: Array, v: Array, part: Part) -> int:
    """Move the variables that are still free to the front; gives their number."""
    count = 0
    for x in range(len(rows)):
        j, i = thresholds[x], rows[x]
        if 0.0 < part.a[j, i] < part.caps[i]:
            thresholds[count], rows[count], v[count] = j, i, v[x]
            count += 1
    return count


@njit(cache=True, nogil=True)
def _climbs(p: Array, v: Array) -> bool:
    total = 0.0
    for x in range(len(p)):
        total += p[x] * v[x]
    return total > 0.0


@njit(cache=True, nogil=True)
def settle(K: Array, ridge: float, part: Part) -> None:
    """Take Newton steps until one is taken whole, or no variable is free; F follows."""
    thresholds, rows = np.empty(_MOST, np.int64), np.empty(_MOST, np.int64)
    count, before = _free(part, thresholds, rows), part.beta.copy()
    v = _values(thresholds[:count], rows[:count], part)
    while count > 1:
        js, own = thresholds[:count], rows[:count]
        p = _direction(K, ridge, js, own, v[:count], _pools(part))
        if not _climbs(p, v):  # as it does, if K is positive definite
            break
        if _step(K, js, own, p, v[:count], part) == 1.0:
            break
        left = _kept(js, own, v, part)
        if left == count and not part.coupled:
            break
        count = left
    for i in range(len(K)):
        change = part.beta[i] - before[i]
        if change != 0.0:
            row = K[i]
            for k in range(len(row)):
                part.F[k] += change * row[k]
