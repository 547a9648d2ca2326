"""Solving one node's problem: Cholesky, conjugate gradients, coordinate descent."""

import numpy as np
from numba import njit

from anabranch.kernels.checks import bounded
from anabranch.kernels.lanes import WIDTH, dot
from anabranch.protocol import Array

__all__ = ["conjugate_gradients", "descend", "factorise", "length", "polish", "shrink", "solve"]

TILE = 64
"""Side of the tiles of large matrices: products of such are never split between threads."""


@njit(cache=True, nogil=True)
def length(vector: Array) -> float:
    """Euclidean norm, summed in order."""
    total = 0.0
    for value in vector:
        total += value * value
    return np.sqrt(total)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def shrink(eta: Array, l1: Array, curvature: Array, out: Array) -> None:
    """out_j = sign(eta_j) max(|eta_j| - l1_j, 0)/curvature_j; 0 where there is no curvature."""
    for j in range(eta.size):
        size = abs(eta[j]) - l1[j]
        out[j] = 0.0
        if size > 0.0 and curvature[j] > 0.0:
            out[j] = np.copysign(size / curvature[j], eta[j])


@njit(cache=True, nogil=True)
def _factorise_small(L: Array, start: int, stop: int) -> bool:
    """L L' of the square block start..stop of L, in its lower triangle; row by row of L'."""
    m = stop - start
    U = np.empty((m, m))
    for j in range(m):
        for i in range(j, m):
            U[j, i] = L[start + i, start + j]
    for j in range(m):
        if not U[j, j] > 0.0:
            return False
        U[j, j:] /= np.sqrt(U[j, j])
        for k in range(j + 1, m):
            f = U[j, k]
            for i in range(k, m):
                U[k, i] -= f * U[j, i]
    for j in range(m):
        for i in range(j, m):
            L[start + i, start + j] = U[j, i]
    return True


@njit(cache=True, nogil=True)
def _solve_tile(L: Array, start: int, stop: int, first: int, tile: Array) -> None:
    """Rows from `first` on of the columns start..stop, by the factor of the diagonal block.

    Column by column, all rows at once: the inner loop runs over contiguous memory. The rows
    go into L and, as columns, into `tile` (stop - start, TILE).
    """
    rows = min(TILE, L.shape[0] - first)
    tile[:, :rows] = L[first : first + rows, start:stop].T
    for j in range(stop - start):
        for k in range(j):
            f = L[start + j, start + k]
            for i in range(rows):
                tile[j, i] -= tile[k, i] * f
        for i in range(rows):
            tile[j, i] /= L[start + j, start + j]
    L[first : first + rows, start:stop] = tile[:, :rows].T


@njit(cache=True, nogil=True)
def _subtract(L: Array, first: int, left: int, product: Array) -> None:
    n = L.shape[0]
    for a in range(min(TILE, n - first)):
        for b in range(min(TILE, n - left)):
            L[first + a, left + b] -= product[a, b]


@njit(cache=True, nogil=True)
def factorise(A: Array, extra: Array, L: Array) -> bool:
    """A + diag(extra) = L L', tile by tile; False where that is not positive definite."""
    n = A.shape[0]
    for i in range(n):
        for j in range(i + 1):
            L[i, j] = A[i, j]
        L[i, i] += extra[i]
    product = np.empty((TILE, TILE))
    for k in range(0, n, TILE):
        end = min(k + TILE, n)
        if not _factorise_small(L, k, end):
            return False
        panel = np.zeros(((n - end + TILE - 1) // TILE, end - k, TILE))
        for i in range(panel.shape[0]):
            _solve_tile(L, k, end, end + i * TILE, panel[i])
        for i in range(panel.shape[0]):
            for j in range(i + 1):
                np.dot(panel[i].T, panel[j], product)
                _subtract(L, end + i * TILE, end + j * TILE, product)
    return True


@njit(cache=True, nogil=True)
def solve(L: Array, right: Array, out: Array) -> None:
    """L L' out = right."""
    n = right.size
    for i in range(n):
        whole = i // WIDTH * WIDTH
        total = right[i] - dot(L[i], out, whole)
        for k in range(whole, i):
            total -= L[i, k] * out[k]
        out[i] = total / L[i, i]
    for i in range(n - 1, -1, -1):
        out[i] /= L[i, i]
        value = out[i]
        for k in range(i):
            out[k] -= L[i, k] * value


@njit(cache=True, nogil=True)
def conjugate_gradients(A: Array, extra: float, right: Array, out: Array, steps: int) -> int:
    """(A + extra I) out = right by Polak-Ribiere-Polyak, exact steps; give how many.

    The paper's way (its Table 1), but for its line search over {-1, +1}, which converges only
    where the Hessian is near the identity.
    """
    n = right.size
    residual = right - extra * out
    for i in range(n):
        for j in range(n):
            residual[i] -= A[i, j] * out[j]
    d = residual.copy()
    size = np.sum(residual * residual)
    wanted = 1e-24 * np.sum(right * right)
    for step in range(steps):
        if size <= wanted:
            return step
        Hd = extra * d
        for i in range(n):
            for j in range(n):
                Hd[i] += A[i, j] * d[j]
        length = np.sum(residual * d) / np.sum(d * Hd)
        out += length * d
        before = residual.copy()
        residual -= length * Hd
        after = np.sum(residual * residual)
        beta = max(0.0, (after - np.sum(residual * before)) / size)
        d = residual + beta * d
        size = after
    return steps


@njit(cache=True, nogil=True)
def _slope(A: Array, c: Array, theta: Array) -> Array:
    """c - A theta, for a theta with many zeros."""
    slope = c.copy()
    for j in range(theta.size):
        if theta[j] != 0.0:
            slope -= A[j] * theta[j]
    return slope


@njit(cache=True, nogil=True)
def descend(
    A: Array, c: Array, l1: Array, l2: Array, theta: Array, tolerance: float, sweeps: int
) -> float:
    """min theta'A theta/2 - c'theta + sum_j (l1_j |theta_j| + l2_j theta_j^2/2), by coordinates.

    Starts from `theta` and stops when no coordinate moves by more than `tolerance`, measured
    by its curvature. Gives the last sweep's largest move.
    """
    n = theta.size
    slope = _slope(A, c, theta)
    largest = 0.0
    for _ in range(sweeps):
        largest = 0.0
        for j in range(n):
            curvature = A[j, j] + l2[j]
            if curvature <= 0.0:
                continue
            eta = slope[j] + A[j, j] * theta[j]
            size = abs(eta) - l1[j]
            value = np.copysign(size / curvature, eta) if size > 0.0 else 0.0
            move = value - theta[j]
            if move != 0.0:
                slope -= A[j] * move
                theta[j] = value
                largest = max(largest, abs(move) * np.sqrt(curvature))
        if largest <= tolerance:
            break
    return largest


@njit(cache=True, nogil=True)
def polish(A: Array, c: Array, l1: Array, l2: Array, theta: Array) -> bool:
    """Solve for the coordinates that are not zero, their signs given, exactly.

    True, and `theta` replaced, where that is the optimum: no sign changes, and no coordinate
    at zero wants to leave it.
    """
    n = theta.size
    used = np.array([j for j in range(n) if theta[j] != 0.0 or (l1[j] == 0.0 and A[j, j] > 0.0)])
    m = used.size
    B = np.ascontiguousarray(A[used][:, used])
    b = c[used] - np.sign(theta[used]) * l1[used]
    if not factorise(B, l2[used], B):
        return False
    x = np.empty(m)
    solve(B, b, x)
    if not bounded(x):
        return False
    whole = np.zeros(n)
    for i in range(m):
        if l1[used[i]] > 0.0 and x[i] * theta[used[i]] <= 0.0:
            return False
        whole[used[i]] = x[i]
    slope = _slope(A, c, whole)
    for j in range(n):
        at_zero = whole[j] == 0.0 and l1[j] > 0.0
        if at_zero and abs(slope[j]) > l1[j] + 1e-13 * (abs(c[j]) + l1[j]):
            return False
    theta[:] = whole
    return True
