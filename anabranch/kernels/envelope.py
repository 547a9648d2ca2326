"""The mean of the upper and the lower envelope of a signal: cubic splines through its extrema.

Extrema are mirrored at both ends as in Rilling, Flandrin and Goncalves (2003) and in PyEMD, whose
envelopes these are but for the order of sums: the axis is the extremum next to the end, or the
end itself where it lies beyond that, when it counts as an extremum.
"""

from numba import njit

from anabranch.protocol import Array

__all__ = ["KNOTS", "find_extrema", "fit_spline", "subtract_mean_envelope"]

KNOTS = 5
"""Rows of working room for the knots: x, y, second derivatives, elimination, the mean."""
_MIRRORED = 2
_AXIS, _SKIP, _EDGE = 0, 1, 3
"""Columns of an end: the axis, extrema left out, whether the end is one (of maxima, of minima)."""


@njit(cache=True, nogil=True)
def find_extrema(signal: Array, places: Array) -> tuple[int, int]:
    """Write the places of maxima and minima of signal (n,) into `places` (2, n); give their counts.

    An extremum that lasts is at its middle; one that lasts to an end is none.
    """
    maxima, minima, direction, start = 0, 0, 0, 0
    for t in range(1, len(signal)):
        step = signal[t] - signal[t - 1]
        if step == 0.0:
            continue
        if step < 0.0 and direction > 0:
            places[0, maxima] = (start + t - 1) // 2
            maxima += 1
        elif step > 0.0 and direction < 0:
            places[1, minima] = (start + t - 1) // 2
            minima += 1
        direction = 1 if step > 0.0 else -1
        start = t
    return maxima, minima


@njit(cache=True, nogil=True)
def _nth(places: Array, count: int, right: int, number: int) -> int:
    """Give an extremum by its number from an end."""
    place: int = places[count - 1 - number] if right else places[number]
    return place


@njit(cache=True, nogil=True)
def _choose_mirror(
    signal: Array, places: Array, maxima: int, minima: int, right: int, end: Array
) -> None:
    """Write the axis of one end, and what goes with it, into `end` (5,)."""
    limit = len(signal) - 1 if right else 0
    top, low = _nth(places[0], maxima, right, 0), _nth(places[1], minima, right, 0)
    kind = 0 if (top > low) == (right == 1) else 1  # of the extremum next to the end
    axis, other = (top, low) if kind == 0 else (low, top)
    end[:] = 0
    inside = (signal[limit] - signal[other]) * (signal[axis] - signal[other]) > 0.0
    if not inside:
        end[_AXIS], end[_EDGE + 1 - kind] = limit, 1
        return
    covered = True
    for k in range(2):
        count = maxima if k == 0 else minima
        last = min(_MIRRORED + (1 if k == kind else 0), count) - 1
        image = 2 * axis - _nth(places[k], count, right, last)
        covered = covered and (image >= limit if right else image <= limit)
    if covered:
        end[_AXIS], end[_SKIP + kind] = axis, 1
    else:
        end[_AXIS] = limit


@njit(cache=True, nogil=True)
def _place_knots(
    signal: Array, places: Array, count: int, kind: int, ends: Array, knots: Array
) -> int:
    """Write the knots of one envelope, x and y, into the first rows of `knots`; give their number.

    places : (count,) of the extrema; ends : (2, 5), see `_choose_mirror`
    """
    m = 0
    for right in range(2):
        end, limit = ends[right], len(signal) - 1 if right else 0
        skip, edge = end[_SKIP + kind], end[_EDGE + kind]
        images = min(_MIRRORED - edge, count - skip)
        if right:
            for i in range(count):
                knots[0, m + i], knots[1, m + i] = places[i], signal[places[i]]
            m += count
            if edge:
                knots[0, m], knots[1, m] = limit, signal[limit]
                m += 1
        for i in range(images):
            number = skip + (i if right else images - 1 - i)
            place = _nth(places, count, right, number)
            knots[0, m], knots[1, m] = 2 * end[_AXIS] - place, signal[place]
            m += 1
        if edge and not right:
            knots[0, m], knots[1, m] = limit, signal[limit]
            m += 1
    return m


@njit(cache=True, nogil=True)
def fit_spline(knots: Array, m: int) -> None:
    """Write the second derivatives M of the cubic spline through m >= 4 knots into row 2.

    h_{i-1} M_{i-1} + 2 (h_{i-1} + h_i) M_i + h_i M_{i+1} = 6 (d_i - d_{i-1}), d the slopes of the
    chords; "not a knot": the third derivative is steady at the first and the last inner knot.
    """
    x, y, M, above = knots[0], knots[1], knots[2], knots[3]
    h = x[1] - x[0]
    slope = (y[1] - y[0]) / h
    first, above[0], M[0] = h / (x[2] - x[1]), 0.0, 0.0
    for i in range(1, m - 1):
        wider = x[i + 1] - x[i]
        steeper = (y[i + 1] - y[i]) / wider
        below, middle, beyond = h, 2.0 * (h + wider), wider
        if i == 1:
            below, middle, beyond = 0.0, middle + h * (1.0 + first), wider - h * first
        if i == m - 2:
            last = wider / h
            below, middle, beyond = below - wider * last, middle + wider * (1.0 + last), 0.0
        pivot = 1.0 / (middle - below * above[i - 1])
        above[i] = beyond * pivot
        M[i] = (6.0 * (steeper - slope) - below * M[i - 1]) * pivot
        h, slope = wider, steeper
    for i in range(m - 3, 0, -1):
        M[i] -= above[i] * M[i + 1]
    M[0] = M[1] + first * (M[1] - M[2])
    M[m - 1] = M[m - 2] + last * (M[m - 2] - M[m - 3])


@njit(cache=True, nogil=True)
def _add_half_spline(knots: Array, m: int, out: Array) -> None:
    """out[t] += s(t)/2 at t = 0, 1, ..., for the spline s of `fit_spline`, which covers them."""
    x, y, M, n = knots[0], knots[1], knots[2], len(out)
    for i in range(m - 1):
        h = x[i + 1] - x[i]
        b = (y[i + 1] - y[i]) / h - h * (2.0 * M[i] + M[i + 1]) / 6.0
        c, d = 0.5 * M[i], (M[i + 1] - M[i]) / (6.0 * h)
        start, stop = max(int(x[i]), 0), min(int(x[i + 1]), n)
        for t in range(start, n if i == m - 2 else stop):
            u = t - x[i]
            out[t] += 0.5 * (y[i] + u * (b + u * (c + u * d)))


@njit(cache=True, nogil=True)
def subtract_mean_envelope(signal: Array, places: Array, ends: Array, knots: Array) -> bool:
    """signal -= (upper envelope + lower envelope)/2; False, and nothing, without both.

    Parameters
    ----------
    signal : (n,)
    places, ends : (2, n) and (2, 5), working room of whole numbers
    knots : (`KNOTS`, n + 8), working room
    """
    maxima, minima = find_extrema(signal, places)
    if maxima < 2 or minima < 2:
        return False
    mean = knots[4, : len(signal)]
    mean[:] = 0.0
    for right in range(2):
        _choose_mirror(signal, places, maxima, minima, right, ends[right])
    for kind in range(2):
        count = maxima if kind == 0 else minima
        m = _place_knots(signal, places[kind, :count], count, kind, ends, knots)
        fit_spline(knots, m)
        _add_half_spline(knots, m, mean)
    for t in range(len(signal)):
        signal[t] -= mean[t]
    return True
