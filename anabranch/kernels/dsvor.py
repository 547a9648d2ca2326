"""The loops over rows of online and batch dSVOR."""

from numba import njit

from anabranch.kernels.checks import good_rows
from anabranch.kernels.lanes import dot, dots
from anabranch.kernels.margins import PLAIN, feature_row, fill_margins
from anabranch.kernels.mixing import flush
from anabranch.kernels.moments import CLOSED, COUNT, OWN, add_row, refresh, standardise
from anabranch.kernels.ordinal import (
    adapt,
    adapt_and_average,
    average,
    count_above,
    mean_subgradient,
    project,
    slope,
)
from anabranch.protocol import Array

__all__ = [
    "AVERAGING",
    "CACHED",
    "CLOSED",
    "COUNT",
    "DECAY",
    "FLOOR",
    "HEARD",
    "ITERATES",
    "L1",
    "L2",
    "NEXT",
    "SERVED",
    "STEP",
    "STEPS",
    "batch_step",
    "learn_rows",
    "moment_rows",
    "refit",
]

FLOOR, STEP, DECAY, AVERAGING, L2, L1, SERVED = range(7)
"""Places in the vector of settings; SERVED is the row of theta that predicts."""

STEPS, ITERATES, CACHED, NEXT, HEARD = range(3, 8)
"""Places in the vector of progress, behind COUNT, CLOSED and OWN: rows stepped on, iterates
averaged, rows in the cache, next row of it, rows stepped on at the last `combine`.
Counts are float64: exact up to 2^53 rows."""


@njit(cache=True, nogil=True)
def moment_rows(X: Array, scale: Array, progress: Array) -> None:
    """Take all rows into the running moments."""
    for r in range(X.shape[0]):
        progress[COUNT] = add_row(X, r, progress[COUNT], scale)
    progress[OWN] += X.shape[0]
    refresh(progress[COUNT], scale)


@njit(cache=True, nogil=True, inline="always")
def _rate(settings: Array, k: float) -> float:
    """eta = max(floor, step/(1 + decay k))."""
    return max(settings[FLOOR], settings[STEP] / (1.0 + settings[DECAY] * k))  # type: ignore[no-any-return]


@njit(cache=True, nogil=True, inline="always")
def _move_thresholds(current: Array, P: int, f: float, rank: int, eta: float) -> float:
    """b_q += eta h_q over the slopes h_q of one sample; give their sum, w's coefficient."""
    total = 0.0
    for q in range(P, current.size):
        h = slope(rank, q - P, f - current[q])
        total += h
        current[q] += eta * h
    return total


@njit(cache=True, nogil=True, inline="always")
def _remember(cache: Array, z: Array, label: float, progress: Array) -> None:
    """Overwrite the oldest row of the cache."""
    place = int(progress[NEXT])
    for j in range(z.size):
        cache[place, j] = z[j]
    cache[place, z.size] = label
    progress[NEXT] = (place + 1) % cache.shape[0]
    progress[CACHED] = min(progress[CACHED] + 1.0, float(cache.shape[0]))


@njit(cache=True, nogil=True, inline="always")
def _step_on_row(
    current: Array,
    served: Array,
    z: Array,
    f: float,
    rank: int,
    eta: float,
    share: float,
    l2: float,
    l1: float,
) -> None:
    """Step along the subgradient of one row, whose w'z is f, and average."""
    P = z.size
    total = _move_thresholds(current, P, f, rank, eta)
    adapt_and_average(current, served, P, z, total, eta, l2, l1, share)
    project(current, P)
    average(served, current, P, share)


@njit(cache=True, nogil=True, inline="always")
def _step_on_cache(
    theta: Array,
    P: int,
    cache: Array,
    used: int,
    eta: float,
    share: float,
    settings: Array,
) -> None:
    """Step along the mean subgradient of the first `used` rows of the cache, and average."""
    current, served, gradient = theta[0], theta[1], theta[2]
    mean_subgradient(cache, used, current, P, gradient)
    for q in range(P, current.size):
        current[q] -= eta * gradient[q]
    adapt_and_average(current, served, P, gradient, 1.0, eta, settings[L2], settings[L1], share)
    project(current, P)
    average(served, current, P, share)


@njit(cache=True, nogil=True, inline="always")
def _share(settings: Array, iterates: float) -> float:
    """max(1/k, averaging): the weight of the k-th iterate in the served average."""
    return max(1.0 / iterates, settings[AVERAGING])  # type: ignore[no-any-return]


@njit(cache=True, nogil=True, inline="always")
def _flush_now_and_then(served: Array, k: float) -> None:
    """`flush` at every 1024th row: a test a row would cost a quarter of the speed.

    By k, not by block, so that a block equals its rows.
    """
    if int(k) & 1023 == 0:
        flush(served)


@njit(cache=True, nogil=True)
def _learn_plain_rows(
    X: Array,
    y: Array,
    theta: Array,
    scale: Array,
    progress: Array,
    settings: Array,
    z: Array,
    out: Array,
) -> None:
    """The loop of `learn_rows` for its commonest case: linear, moments closed, no cache.

    The same arithmetic in the same order; alone, its loops stay in registers.
    """
    current, served, predicting = theta[0], theta[1], theta[int(settings[SERVED])]
    k, iterates, l2, l1 = progress[STEPS], progress[ITERATES], settings[L2], settings[L1]
    for r in range(X.shape[0]):
        standardise(X, r, scale, z)
        g, f = dots(predicting, current, z, z.size)
        if out.size > 0:
            out[r] = count_above(g, predicting, z.size)
        iterates += 1.0
        share = _share(settings, iterates)
        _step_on_row(current, served, z, f, int(y[r]), _rate(settings, k), share, l2, l1)
        k += 1.0
        _flush_now_and_then(served, k)
    progress[STEPS], progress[ITERATES] = k, iterates


@njit(cache=True, nogil=True)
def learn_rows(
    X: Array,
    y: Array,
    theta: Array,
    scale: Array,
    progress: Array,
    settings: Array,
    form: int,
    omega: Array,
    bias: Array,
    amplitudes: Array,
    D: int,
    cache: Array,
    z: Array,
    u: Array,
    out: Array,
    seen: Array,
) -> bool:
    """Predict each row into `out` (skipped when it is empty), then step on it.

    theta (3, P + Q - 1): current and served parameters, room for a gradient. A row is
    predicted with the standardisation before it, and learned with the one that includes
    it; its margins go into `seen` (n, Q - 1) unless that is empty. False, and nothing
    touched, when a row is bad.
    """
    P = z.size
    if not good_rows(X, y, theta.shape[1] - P + 1):
        return False
    running = progress[CLOSED] == 0.0
    plain = form == PLAIN and cache.shape[0] == 0 and seen.shape[0] == 0
    if plain and not running:
        _learn_plain_rows(X, y, theta, scale, progress, settings, z, out)
        return True
    current, predicting = theta[0], theta[int(settings[SERVED])]
    l2, l1 = settings[L2], settings[L1]
    for r in range(X.shape[0]):
        f = 0.0
        if out.size > 0 or not running:
            feature_row(X, r, scale, form, omega, bias, amplitudes, D, z, u)
            g, f = dots(predicting, current, z, P)
            if out.size > 0:
                out[r] = count_above(g, predicting, P)
            if seen.shape[0] > 0:
                fill_margins(g, predicting, P, seen[r])
        if running:
            progress[COUNT] = add_row(X, r, progress[COUNT], scale)
            progress[OWN] += 1.0
            refresh(progress[COUNT], scale)
            feature_row(X, r, scale, form, omega, bias, amplitudes, D, z, u)
            f = dot(current, z, P)
        eta = _rate(settings, progress[STEPS])
        progress[STEPS] += 1.0
        progress[ITERATES] += 1.0
        share = _share(settings, progress[ITERATES])
        if cache.shape[0] > 0:
            _remember(cache, z, y[r], progress)
            _step_on_cache(theta, P, cache, int(progress[CACHED]), eta, share, settings)
        else:
            _step_on_row(current, theta[1], z, f, int(y[r]), eta, share, l2, l1)
        _flush_now_and_then(theta[1], progress[STEPS])
    return True


@njit(cache=True, nogil=True)
def refit(theta: Array, P: int, cache: Array, used: int, steps: int, settings: Array) -> None:
    """Steps along the mean subgradient of the first `used` rows of the cache, as from a start.

    The average of the steps is served.
    """
    for k in range(steps):
        share = _share(settings, k + 1.0)
        _step_on_cache(theta, P, cache, used, _rate(settings, float(k)), share, settings)


@njit(cache=True, nogil=True)
def batch_step(
    rows: Array, theta: Array, P: int, gradient: Array, weight: float, settings: Array, k: float
) -> None:
    """theta = prox(theta - eta weight g), g over all rows, eta = max(floor, step/(1 + decay k))."""
    eta = _rate(settings, k)
    factor = 0.0
    if rows.shape[0] > 0:
        mean_subgradient(rows, rows.shape[0], theta, P, gradient)
        factor = weight
        for q in range(P, theta.size):
            theta[q] -= eta * factor * gradient[q]
    adapt(theta, P, gradient, factor, eta, settings[L2], settings[L1])
    project(theta, P)
