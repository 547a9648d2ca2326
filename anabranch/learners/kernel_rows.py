"""Kernels, and rows of their matrices: computed when asked for, kept as long as there is room."""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple, Self

import numpy as np

from anabranch.kernels.kernel_rows import add_rows, city_blocks
from anabranch.protocol import Array

__all__ = ["KERNELS", "Kernel", "KernelRows", "decisions", "kernel_rows", "matrix"]

KERNELS = ("linear", "gaussian", "laplacian", "polynomial", "precomputed")
_AT_ONCE = 1 << 18
"""Values of a matrix computed at a time, so that they stay near the processor."""


class Kernel(NamedTuple):
    """A kernel, by its name.

    linear x'z; gaussian exp(-gamma |x - z|^2); laplacian exp(-gamma |x - z|_1); polynomial
    (gamma x'z + shift)^degree; precomputed: rows are rows of the matrix.
    """

    name: str
    gamma: float = 1.0
    shift: float = 0.0
    degree: float = 3.0


class _Side:
    """Rows Z (n, d), made ready to be held against others."""

    def __init__(self, Z: Array, kernel: Kernel) -> None:
        self.kernel = kernel
        gaussian = kernel.name == "gaussian"
        # Distances stay, while the rounding of x'z is not that of far rows.
        self._centre = Z.mean(axis=0) if gaussian and len(Z) else np.zeros(Z.shape[1])
        Z = Z - self._centre if gaussian else Z
        halves = -kernel.gamma * np.einsum("ij,ij->i", Z, Z) if gaussian else None
        parts = [Z] if halves is None else [Z, np.ones((len(Z), 1)), halves[:, None]]
        self.columns: Array = np.ascontiguousarray(np.hstack(parts).T)
        self._room = np.empty((0, len(Z)))

    def _room_of(self, out: Array) -> Array:
        """Give room like `out`, in double precision; the same again, since new memory is slow."""
        if len(out) > len(self._room):
            self._room = np.empty(out.shape)
        return self._room[: len(out)]

    def fill(self, X: Array, out: Array) -> None:
        """out_mk = k(x_m, z_k), of rows X (q, d); rounded where `out` (q, n) is float32."""
        name, gamma, shift, degree = self.kernel
        if name == "laplacian":
            values = self._room_of(out)
            city_blocks(X, self.columns, values)
            np.exp(np.multiply(values, -gamma, out=out, casting="same_kind"), out=out)
        elif name == "gaussian":
            X = X - self._centre
            halves = -gamma * np.einsum("ij,ij->i", X, X)[:, None]
            # The whole exponent, 2 gamma x'z - gamma |x|^2 - gamma |z|^2, as one product.
            left = np.hstack([2.0 * gamma * X, halves, np.ones_like(halves)])
            exponents = np.matmul(left, self.columns, out=self._room_of(out))
            np.exp(np.minimum(exponents, 0.0, out=out, casting="same_kind"), out=out)
        elif name == "polynomial":
            out[:] = (gamma * (X @ self.columns) + shift) ** degree
        else:
            out[:] = X @ self.columns


def matrix(X: Array, Z: Array, kernel: Kernel) -> Array:
    """Give k(x_m, z_k) (q, n) of rows X (q, d) and Z (n, d); no precomputed kernel.

    >>> matrix(np.array([[0.0], [1.0]]), np.array([[1.0]]), Kernel("gaussian", 2.0)).round(3)
    array([[0.135],
           [1.   ]])
    """
    out, side = np.empty((len(X), len(Z))), _Side(Z, kernel)
    step = max(1, _AT_ONCE // max(1, len(Z)))
    for begin in range(0, len(X), step):
        side.fill(X[begin : begin + step], out[begin : begin + step])
    return out


def decisions(X: Array, support: Array, beta: Array, kernel: Kernel) -> Array:
    """Give f(x) = sum_l beta_l k(x_l, x) for rows X (n, d), over support rows (m, d).

    With a linear kernel beta must sum to 0, as the dual's does.
    """
    if kernel.name == "linear":
        centre = support.mean(axis=0) if len(support) else 0.0
        return np.asarray(X @ ((support - centre).T @ beta))  # no rounding by far rows
    step = max(1, _AT_ONCE // max(1, len(support)))
    parts = [matrix(X[i : i + step], support, kernel) @ beta for i in range(0, len(X), step)]
    return np.concatenate([*parts, np.empty(0)])


class KernelRows(ABC):
    """Rows of the symmetric matrix K (n, n) of a kernel."""

    inner: ClassVar[float] = 0.2
    """Some rows are solved to this share of what is wrong with all: more where a look at all is
    cheap."""

    @abstractmethod
    def among(self, rows: Array) -> Array:
        """Give K (q, q) among some rows, float64."""

    @abstractmethod
    def add(self, rows: Array, factors: Array, out: Array) -> None:
        """out (n,) += sum_m factors_m K[rows_m]."""

    @abstractmethod
    def across(self, rows: Array, factors: Array, others: Array) -> Array:
        """Give sum_m factors_m K[rows_m, others]."""

    @abstractmethod
    def only(self, rows: Array) -> Self:
        """Give those of the matrix among some rows."""


class _LinearRows(KernelRows):
    """K = X X', which needs no rows: sum_m factors_m K[rows_m] = X (X[rows]' factors)."""

    inner = 0.5

    def __init__(self, X: Array) -> None:
        self._X = X

    def among(self, rows: Array) -> Array:
        own = self._X[rows]
        return np.asarray(own @ own.T)

    def add(self, rows: Array, factors: Array, out: Array) -> None:
        out += self._X @ (factors @ self._X[rows])

    def across(self, rows: Array, factors: Array, others: Array) -> Array:
        return np.asarray(self._X[others] @ (factors @ self._X[rows]))

    def only(self, rows: Array) -> Self:
        return type(self)(self._X[rows])


class _GivenRows(KernelRows):
    """A matrix that is there."""

    def __init__(self, K: Array) -> None:
        self._K = K

    def among(self, rows: Array) -> Array:
        return np.asarray(self._K[rows[:, None], rows])

    def add(self, rows: Array, factors: Array, out: Array) -> None:
        add_rows(self._K, rows, factors, out)

    def across(self, rows: Array, factors: Array, others: Array) -> Array:
        return np.asarray(factors @ self._K[rows[:, None], others])

    def only(self, rows: Array) -> Self:
        return type(self)(self.among(rows))


class _CachedRows(KernelRows):
    """Rows that are computed, the least recently used making room for others.

    Parameters
    ----------
    X : (n, d)
    kernel : which
    room : bytes for rows
    least : rows that fit in any case, as many as are asked for at once
    dtype : float32, as libsvm keeps them, or float64
    """

    def __init__(self, X: Array, kernel: Kernel, room: float, least: int, dtype: str) -> None:
        n, kind = len(X), np.dtype(dtype)
        self._X, self._kernel, self._room, self._least = X, kernel, room, least
        self._side = _Side(X, kernel)
        slots = int(min(n, max(least, room // (kind.itemsize * max(1, n)))))
        self._rows = np.empty((slots, n), kind)
        self._owner, self._place = np.full(slots, -1), np.full(n, -1)
        self._used, self._clock = np.zeros(slots, np.int64), 0

    def _places(self, rows: Array) -> Array:
        """Give where some rows are, computing those that are not there."""
        self._clock += 1
        known = self._place[rows]
        self._used[known[known >= 0]] = self._clock
        missing = rows[known < 0]
        if len(missing):
            free = np.argsort(self._used, kind="stable")[: len(missing)]
            owners = self._owner[free]
            self._place[owners[owners >= 0]] = -1
            self._owner[free], self._place[missing], self._used[free] = missing, free, self._clock
            self._compute(missing, free)
        return self._place[rows]

    def _compute(self, missing: Array, places: Array) -> None:
        n = self._rows.shape[1]
        step = max(1, _AT_ONCE // n)
        room = np.empty((min(step, len(missing)), n), self._rows.dtype)
        for begin in range(0, len(missing), step):
            some = missing[begin : begin + step]
            block = room[: len(some)]
            self._side.fill(self._X[some], block)
            self._rows[places[begin : begin + step]] = block

    def among(self, rows: Array) -> Array:
        # Cheaper than to gather what is kept, of which most is far away.
        return matrix(self._X[rows], self._X[rows], self._kernel)

    def add(self, rows: Array, factors: Array, out: Array) -> None:
        add_rows(self._rows, self._places(rows), factors, out)

    def across(self, rows: Array, factors: Array, others: Array) -> Array:
        return decisions(self._X[others], self._X[rows], factors, self._kernel)

    def only(self, rows: Array) -> Self:
        kind = self._rows.dtype.name
        return type(self)(self._X[rows], self._kernel, self._room, self._least, kind)


def kernel_rows(
    X: Array, kernel: Kernel, *, megabytes: float, least: int, dtype: str
) -> KernelRows:
    """Give the rows of k(x_i, x_m), of rows X (n, d); of X itself where it is the matrix.

    Parameters
    ----------
    X, kernel : rows, or the matrix (n, n) of a precomputed kernel
    megabytes : room for rows, where they are kept
    least : rows that there is room for in any case
    dtype : "float32" or "float64", of rows that are kept
    """
    if kernel.name == "linear":
        return _LinearRows(X)
    if kernel.name == "precomputed":
        return _GivenRows(X)
    return _CachedRows(X, kernel, megabytes * 2**20, least, dtype)
