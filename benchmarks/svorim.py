"""SVORIM beside its peers: python -m benchmarks.svorim [--quick].

solver: fits of growing N beside libsvm's Q - 1 binary problems (scikit-learn's SVC: is the rank
above j?) at the same C, kernel, gamma, tolerance and cache; and those beside Q - 1 times the
middle one. optimum: beside CVXPY's (Clarabel) at a tight tolerance. Processor time of one
thread, ours and theirs by turns, the least of some repeats.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import cvxpy as cp
import numpy as np
from rich.console import Console
from sklearn.svm import SVC

from anabranch.learners.kernel_rows import Kernel, matrix
from anabranch.protocol import Array
from anabranch.sklearn_face import SVOREX, SVORIM
from benchmarks.table import Row, print_rows, write_results

__all__ = ["main", "optimum_rows", "solver_rows"]

ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
SIZES = (500, 1000, 2000, 5000, 10_000, 20_000)
FIELDS, RANKS, C, TOLERANCE, MEGABYTES = 8, 5, 1.0, 1e-3, 200
SVC_KERNELS = {"gaussian": "rbf", "linear": "linear"}


def ordinal(n: int, seed: int = 0) -> tuple[Array, Array]:
    """Give rows whose ranks follow a bent function of them, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, FIELDS))
    value = X @ rng.normal(size=FIELDS) + np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2]
    value += 1.5 * rng.normal(size=n)
    edges = np.quantile(value, np.arange(1, RANKS) / RANKS)
    return X, 1 + np.digitize(value, edges)


def timed(act: Callable[[], Any]) -> tuple[float, Any]:
    """Give the processor time of an act, in ms, and what it gives."""
    begin = time.process_time()
    found = act()
    return 1e3 * (time.process_time() - begin), found


def svc(kernel: str) -> SVC:
    """Give the peer."""
    return SVC(
        C=C, kernel=SVC_KERNELS[kernel], gamma=1.0 / FIELDS, tol=TOLERANCE, cache_size=MEGABYTES
    )


def solver_rows(quick: bool) -> Iterator[Row]:
    """Give the figures of both kernels and all sizes."""
    for kernel in SVC_KERNELS:
        for n in SIZES[:3] if quick else SIZES:
            yield from _rows_at(kernel, n, 1 if quick or n > 5000 else 3)


def _rows_at(kernel: str, n: int, repeats: int) -> Iterator[Row]:
    X, y = ordinal(n)
    times: dict[str, list[float]] = {"SVORIM": [], "SVOREX": []}
    binary: list[list[float]] = []
    for _ in range(repeats):
        for kind in (SVORIM, SVOREX):
            model = kind(C, kernel=kernel, tol=TOLERANCE, cache_size=MEGABYTES)
            taken, fitted = timed(lambda model=model: model.fit(X, y))
            times[kind.__name__].append(taken)
            if kind is SVORIM:
                pairs, gap = fitted.n_iter_, fitted.gap_
        above = [timed(lambda j=j: svc(kernel).fit(X, y > j)) for j in range(1, RANKS)]
        binary.append([taken for taken, _ in above])
    section, ours = f"solver, {kernel}, {RANKS} ranks, C = {C:g}", min(times["SVORIM"])
    every = min(sum(taken) for taken in binary)
    middle = (RANKS - 1) * min(taken[RANKS // 2 - 1] for taken in binary)
    yield Row(section, f"N = {n}: SVORIM", ours, "ms", "SVC, all", every, "<= 1", ours <= every)
    yield Row(section, f"N = {n}: SVORIM", ours, "ms", "SVC, middle x (Q - 1)", middle, "<= 1",
              ours <= middle)  # fmt: skip
    yield Row(section, f"N = {n}: SVOREX", min(times["SVOREX"]), "ms", "SVC, all", every)
    yield Row(section, f"N = {n}: pairs moved", pairs, "", "SVC, all",
              float(sum(int(fitted.n_iter_[0]) for _, fitted in above)))  # fmt: skip
    yield Row(section, f"N = {n}: gap", 1e6 * gap, "e-6")


def optimum_rows(quick: bool) -> Iterator[Row]:
    """Give objectives, gaps and times beside a general solver's, at a tight tolerance."""
    for kernel in SVC_KERNELS:
        for n in (100,) if quick else (100, 200, 400):
            X, y = ordinal(n)
            ours, model = timed(
                lambda X=X, y=y, kernel=kernel: SVORIM(C, kernel=kernel, tol=1e-9).fit(X, y)
            )
            peer, best = timed(lambda X=X, y=y, kernel=kernel: _optimum(X, y, kernel))
            section, off = f"optimum, {kernel}", abs(model.objective_ / best - 1.0)
            yield Row(section, f"N = {n}: time", ours, "ms", "CVXPY", peer)
            yield Row(section, f"N = {n}: objective", model.objective_, "", "CVXPY", best,
                      "1 to 1e-6", off <= 1e-6)  # fmt: skip
            yield Row(section, f"N = {n}: gap", 1e6 * model.gap_, "e-6", aim="<= 1",
                      met=bool(model.gap_ <= 1e-6))  # fmt: skip


def _optimum(X: Array, y: Array, kernel: str) -> float:
    K = matrix(X, X, Kernel(kernel, 1.0 / FIELDS))
    root = np.linalg.cholesky(K + 1e-10 * np.eye(len(K)))
    u, b = cp.Variable(len(K)), cp.Variable(RANKS - 1)
    losses = [
        cp.sum(cp.pos(1.0 - cp.multiply(np.where(y > j + 1, 1.0, -1.0), root @ u - b[j])))
        for j in range(RANKS - 1)
    ]
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(u) + C * sum(losses)))
    options = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}
    return float(problem.solve(solver=cp.CLARABEL, **options))


def main() -> None:
    """Run both sections, print the tables, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.svorim")
    parser.add_argument("--quick", action="store_true", help="small N; figures mean little")
    args, console, begin = parser.parse_args(), Console(width=118), time.monotonic()
    if any(os.environ.get(name) != value for name, value in ENVIRONMENT.items()):
        # BLAS reads them once, when a process begins.
        command = [sys.executable, "-m", "benchmarks.svorim", *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, **ENVIRONMENT})
    for kernel in SVC_KERNELS:  # compile
        for kind in (SVORIM, SVOREX):
            kind(C, kernel=kernel).fit(*ordinal(300))
            kind(C, kernel=kernel, tol=1e-9).fit(*ordinal(300))
    rows = [*solver_rows(args.quick), *optimum_rows(args.quick)]
    print_rows(console, rows)
    seconds = round(time.monotonic() - begin, 1)
    path = write_results("svorim", rows, quick=args.quick, seconds=seconds)
    console.print(f"{seconds:.0f} s; {path}", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
