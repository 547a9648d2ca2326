"""A step of DOML: one arrival, one solution and the vectors around it, three ways.

All times are processor times of the one thread, so that they hold on a busy machine too.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any, Protocol

import numpy as np
from scipy.linalg import blas, cho_factor, cho_solve

from anabranch.kernels.doml_step import damped_move, right_side
from anabranch.learners.doml_window import Window
from anabranch.protocol import Array
from benchmarks.table import Row

__all__ = ["SHAPES", "Ours", "Shape", "Stream", "step_rows", "times_of"]

SHIFT = 2.1
"""c = 2 + k lambda."""
AIM = {("medical", 50): 150.0}
"""Set and window -> how many times faster than Cholesky; else not slower."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A set's fields and labels, the share of values that are not zero, labels of a sample."""

    name: str
    fields: int
    labels: int
    density: float
    cardinality: float

    def dense(self) -> "Shape":
        """Give it without zeros."""
        return Shape(self.name, self.fields, self.labels, 1.0, self.cardinality)


SHAPES = (
    Shape("emotions", 72, 6, 1.0, 1.87),
    Shape("scene", 294, 6, 1.0, 1.07),
    Shape("Corel5k", 499, 374, 0.0166, 3.52),
    Shape("enron", 1001, 53, 0.084, 3.38),
    Shape("medical", 1449, 45, 0.0092, 1.24),
)


class Stream:
    """Rows of a shape, the parameters before a step, and the sums over the neighbours."""

    def __init__(self, shape: Shape, window: int | None, dtype: str, length: int) -> None:
        rng = np.random.default_rng(1)
        self.shape, self.window, self.dtype = shape, window, np.dtype(dtype)
        n, d, q = (window or 2 * shape.fields) + length, shape.fields, shape.labels
        if shape.density < 1.0:
            self.X = (rng.random((n, d)) < shape.density).astype(dtype)
        else:
            self.X = rng.normal(size=(n, d)).astype(dtype)
        self.Y = (rng.random((n, q)) < shape.cardinality / q).astype(dtype)
        self.start = n - length
        mean = float(np.square(self.X[: self.start]).sum()) / d
        self.k = self.dtype.type(2.0 / mean)
        self.vectors = [rng.normal(size=(d, q)).astype(dtype) for _ in range(4)]


class Solver(Protocol):
    """What is held beside each other."""

    @property
    def cross(self) -> Array:
        """X'Y."""
        ...

    def arrive(self, row: int) -> None:
        """Take a row of the stream, and let the oldest go."""
        ...

    def solve(self, right: Array) -> Array:
        """Give (c I + k X'X)^-1 right."""
        ...


class Ours:
    """The maintained inverse."""

    def __init__(self, stream: Stream, form: str = "auto") -> None:
        self.stream, self.shape = stream, stream.shape
        d, q = stream.shape.fields, stream.shape.labels
        self.window = Window(d, q, stream.window, dtype=stream.dtype.name, form=form)
        self.window.tune(float(stream.k), SHIFT)
        self.window.add(stream.X[: stream.start], stream.Y[: stream.start])

    def arrive(self, row: int) -> None:
        """Take a row."""
        self.window.add(self.stream.X[row : row + 1], self.stream.Y[row : row + 1])

    def solve(self, right: Array) -> Array:
        """Give (c I + k X'X)^-1 right."""
        return self.window.solve(right)

    @property
    def cross(self) -> Array:
        """X'Y."""
        return self.window.cross


class Summed:
    """X'X and X'Y kept by rank-one updates; the lower triangle, of c I + k X'X."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        X, Y = stream.X[: stream.start], stream.Y[: stream.start]
        shift = self.stream.dtype.type(SHIFT)
        self.matrix = np.asfortranarray(stream.k * (X.T @ X) + shift * np.eye(X.shape[1]))
        self.matrix = self.matrix.astype(stream.dtype, order="F")
        self.cross = X.T @ Y
        self._syr = blas.dsyr if stream.dtype == np.float64 else blas.ssyr

    def _take(self, row: int, sign: float) -> None:
        x, y = self.stream.X[row], self.stream.Y[row]
        self.matrix = self._syr(sign * self.stream.k, x, lower=1, a=self.matrix, overwrite_a=1)
        for label in np.nonzero(y)[0]:
            self.cross[:, label] += sign * x

    def arrive(self, row: int) -> None:
        """Take a row."""
        self._take(row, 1.0)
        if self.stream.window is not None:
            self._take(row - self.stream.window, -1.0)


class Cholesky(Summed):
    """A factor of the d x d matrix at every step."""

    def solve(self, right: Array) -> Array:
        """Factorise, then substitute."""
        factor = cho_factor(self.matrix, lower=True, check_finite=False)
        return cho_solve(factor, right, check_finite=False)


class Naive(Summed):
    """The paper's 2d x 2d system at every step, in P+ and beta+ together."""

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream)
        d = stream.shape.fields
        eye = np.eye(d, dtype=stream.dtype)
        self.system = np.block([[eye, -eye], [np.zeros_like(eye), eye]])

    def solve(self, right: Array) -> Array:
        """Solve for both."""
        d = len(right)
        lower = np.tril(self.matrix)
        block = self.system[d:, :d]
        block[:] = lower + np.tril(lower, -1).T
        block[np.diag_indices(d)] -= 1.0
        whole = np.vstack((np.zeros_like(right), right))
        return np.linalg.solve(self.system, whole)[:d]


def step(solver: Solver, stream: Stream, row: int, right: Array) -> None:
    """Do one step, and the vectors around it."""
    P, beta, T_P, T_b = stream.vectors
    solver.arrive(row)
    right_side(P, beta, T_P, T_b, solver.cross, stream.k, right)
    damped_move(P, beta, T_P, solver.solve(right), stream.k, stream.dtype.type(1.0), P, beta)


def times_of(solver: Solver, stream: Stream, steps: int) -> list[float]:
    """Give microseconds of this thread a step."""
    right, found = np.empty_like(stream.vectors[0]), []
    for row in range(stream.start, stream.start + steps):
        begin = time.thread_time()
        step(solver, stream, row, right)
        found.append(1e6 * (time.thread_time() - begin))
    return found


def ours_of(stream: Stream, steps: int, form: str = "auto") -> tuple[float, Ours]:
    """Give microseconds a step, its share of building the inverse anew included."""
    ours = Ours(stream, form)
    times_of(ours, stream, 3)
    plain = median(times_of(ours, stream, steps))
    right, anew = stream.vectors[0].copy(), []
    for factor in (2.0, 1.0, 2.0):
        ours.window.tune(factor * float(stream.k), SHIFT)
        begin = time.thread_time()
        ours.window.solve(right)
        anew.append(1e6 * (time.thread_time() - begin))
    return plain + median(anew) / ours.window.settings.rows_between(ours.window.using), ours


def step_rows(quick: bool) -> Iterator[Row]:
    """Give the figures of all shapes and windows."""
    for shape in SHAPES[:2] if quick else SHAPES:
        for window in (50, 500, None):
            yield from _rows_of(shape, window, "float64", quick)
            yield from _rows_of(shape, window, "float32", quick)
            if shape.density < 1.0 and window is not None:
                yield from _rows_of(shape.dense(), window, "float64", quick)


def _rows_of(shape: Shape, window: int | None, dtype: str, quick: bool) -> Iterator[Row]:
    steps = 30 if quick else 400 if shape.fields < 400 else 100
    stream = Stream(shape, window, dtype, max(steps, 30))
    value, ours = ours_of(stream, steps)
    peers: dict[str, tuple[Callable[[Stream], Any], int]] = {"Cholesky": (Cholesky, 7)}
    if dtype == "float64":
        peers["2d x 2d solve"] = (Naive, 3)
    kind = "" if shape.density < 1.0 or shape.fields < 400 else ", dense rows"
    figure = f"{shape.name}, s = {window or 'all'}, {dtype}{kind}: {ours.window.using}"
    section = "step: one arrival and one solution, of one thread's time"
    for name, (make, repeats) in peers.items():
        peer = median(times_of(make(stream), stream, 1 if quick else repeats))
        wanted = 9.0 if name != "Cholesky" else 1.0
        if name == "Cholesky" and dtype == "float64" and not kind:
            wanted = AIM.get((shape.name, window), 1.0)
        aim = f"1/{wanted:g}" if wanted > 1.0 else "1"
        yield Row(section, figure, value, "us", name, peer, f"<= {aim}", value * wanted <= peer)
