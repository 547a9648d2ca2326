"""L2-NPSVOR beside LIBLINEAR on every set: all planes, the same C, the same duality gap.

All times are processor times of the one thread; ours are of `fit` as a whole, checks included,
theirs of `train` alone, once the rows are in LIBLINEAR's form. Both are taken in turns.
"""

import time
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

import numpy as np

from anabranch.sklearn_face import NPSVOR, NPSVORCV
from benchmarks.npsvor_peers import EPSILON, PEERS, C, Peer
from benchmarks.npsvor_sets import TextSet
from benchmarks.table import Row

__all__ = ["fitted", "search_row", "speed_rows", "warm_up"]

AIMS = {"L2-SVC": 1 / 5, "SVR": 1.3}
"""Our time in terms of theirs, at the same gap."""
SMALL, LARGE = 50_000, 5_000_000
"""Nonzeros up to which checks of the input take longest, and from which runs are repeated less."""


def warm_up() -> None:
    """Compile for all widths of the sets."""
    for ranks in (4, 8):
        NPSVOR(tol=0.1).fit(np.eye(ranks, dtype=np.float32), range(ranks))


def fitted(given: TextSet, tol: float, **options: Any) -> tuple[float, NPSVOR]:
    """Give processor seconds of a fit, and the model."""
    model = NPSVOR(C, epsilon=EPSILON, tol=tol, **options)
    begin = time.process_time()
    model.fit(given.X, given.y)
    return time.process_time() - begin, model


def gap_of(model: NPSVOR) -> float:
    """Give the relative gap of all planes together."""
    return float(1.0 - model.dual_objective_.sum() / model.objective_.sum())


def speed_rows(given: TextSet, peers: Sequence[Peer] = PEERS) -> Iterator[Row]:
    """Give the figures of a set."""
    repeats, rows = 3 if given.X.nnz > LARGE else 7, peers[0].rows(given)
    for tol in (0.1, 0.01):
        gap = median(gap_of(fitted(given, tol, random_state=seed)[1]) for seed in range(repeats))
        for peer in peers if tol == 0.1 else peers[:1]:
            theirs = peer.tolerance(rows, given, gap)
            section = f"{given.name}: all planes beside LIBLINEAR, both to a gap of {gap:.1e}"
            aim = AIMS.get(peer.name) if given.X.nnz > SMALL else None
            yield _row(section, given, peer, rows, (tol, theirs), repeats, aim)
        for peer in peers:
            section = f"{given.name}: both with a tolerance of {tol:g}, whatever it means"
            yield _row(section, given, peer, rows, (tol, tol), repeats, None)


def _row(
    section: str, given: TextSet, peer: Peer, rows: Any, tols: tuple[float, float], repeats: int,
    aim: float | None,
) -> Row:  # fmt: skip
    ours, theirs, passes = [], [], []
    for seed in range(repeats):
        seconds, model = fitted(given, tols[0], random_state=seed)
        ours.append(seconds)
        passes.append(model.n_iter_)
        theirs.append(peer.seconds(rows, tols[1]))
    ratio = median(a / b for a, b in zip(ours, theirs, strict=True))
    spent = 1e9 * median(a / b for a, b in zip(ours, passes, strict=True)) / given.X.nnz
    figure = f"L2-NPSVOR: {median(passes):g} passes, {spent:.1f} ns a nonzero and pass"
    value = 1e3 * median(ours)
    wanted = "" if aim is None else f"<= {aim:.2g}"
    return Row(
        section, figure, value, "ms", f"{peer.name}, {tols[1]:.2g}", value / ratio, wanted,
        None if aim is None else ratio <= aim,
    )  # fmt: skip


def search_row(given: TextSet) -> Row:
    """Give wall-clock seconds of a search for C in two threads, beside one."""
    seconds = []
    for threads in (1, 2):
        search = NPSVORCV(NPSVOR(tol=0.1), Cs=(0.125, 0.5, 2.0), cv=4, threads=threads)
        begin = time.perf_counter()
        search.fit(given.X, given.y)
        seconds.append(time.perf_counter() - begin)
    section = "search for C: 3 costs, 4 folds and all rows; wall clock, of an idle machine"
    return Row(section, f"{given.name}, 2 threads", seconds[1], "s", "1 thread", seconds[0])
