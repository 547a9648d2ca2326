"""A set's size and what a pass costs: nonzeros, cache misses, the bandwidth's floor, memory."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numba import njit

from anabranch.kernels.npsvor import shuffle
from anabranch.kernels.sparse_lanes import gather, lanes_for
from anabranch.protocol import Array
from anabranch.sparse import SparseRows
from benchmarks.npsvor_sets import TextSet
from benchmarks.npsvor_speed import fitted
from benchmarks.table import Row

__all__ = ["memory_row", "shape_rows"]

SLOWER, LARGER = 1.2, 1.5
"""Most of the time a nonzero that cache misses explain, and of the matrix's size."""


@njit(cache=True, nogil=True)
def _read(order: Array, indptr: Array, indices: Array, values: Array, W: Array, z: Array) -> None:
    """Sum over all rows what a visit begins with: the products with all planes."""
    for i in order:
        gather(W, indices, values, indptr[i], indptr[i + 1], z)


def _seconds(act: Callable[[], Any], repeats: int = 3) -> float:
    found = []
    for _ in range(repeats):
        begin = time.process_time()
        act()
        found.append(time.process_time() - begin)
    return median(found)


def _reading(given: TextSet) -> float:
    """Give ns a nonzero of reading W as the rows ask for it, in random order: its misses."""
    rows, lanes = SparseRows.of(given.X, np.float32), lanes_for(len(np.unique(given.y)))
    W = np.ones(rows.features * lanes, np.float32)
    order, z = np.arange(len(rows)), np.zeros(lanes, np.float32)
    shuffle(order, np.uint64(1))
    _read(order[:1], rows.indptr, rows.indices, rows.values, W, z)
    act = lambda: _read(order, rows.indptr, rows.indices, rows.values, W, z)  # noqa: E731
    return float(1e9 * _seconds(act) / given.X.nnz)


def _floor(given: TextSet) -> float:
    """Give ns a nonzero of reading indices and values once, in order."""
    X = given.X
    return float(1e9 * _seconds(lambda: (X.data.sum(), np.bitwise_or.reduce(X.indices))) / X.nnz)


def shape_rows(small: TextSet, large: TextSet, repeats: int) -> Iterator[Row]:
    """Give the cost of a pass on both sets, and what the larger one's may be."""
    section = "a pass over the rows, of all planes"
    spent = {}
    for given in (small, large):
        fits = [fitted(given, 0.1, random_state=seed) for seed in range(repeats)]
        spent[given.name] = median(1e9 * s / m.n_iter_ / given.X.nnz for s, m in fits)
        passes = f"{given.name}: {median(m.n_iter_ for _, m in fits):g} passes"
        seconds = median(s for s, _ in fits)
        yield Row(section, f"{passes}, whole fit", seconds, "s")
        yield Row(
            section, f"{passes}, pass", spent[given.name], "ns/nonzero",
            "floor: reading the rows", _floor(given),
        )  # fmt: skip
    misses = {given.name: _reading(given) for given in (small, large)}
    for name, value in misses.items():
        yield Row(section, f"{name}: reading W at random, once", value, "ns/nonzero")
    fair = spent[small.name] * misses[large.name] / misses[small.name]
    yield Row(
        section, f"{large.name}: pass", spent[large.name], "ns/nonzero",
        f"{small.name}, scaled by misses", fair, f"<= {SLOWER}",
        spent[large.name] <= SLOWER * fair,
    )  # fmt: skip


def memory_row(given: TextSet) -> Row:
    """Give the peak memory of a fresh process that fits the set, beside the matrix's."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("data", "indices", "indptr"):
            np.save(Path(folder) / f"{name}.npy", getattr(given.X, name))
        np.save(Path(folder) / "y.npy", given.y)
        command = [sys.executable, "-m", "benchmarks.npsvor_memory", folder, str(given.X.shape[1])]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    peak = float(json.loads(told)["peak"])
    return Row(
        "memory of a fit in a fresh process, the matrix included", given.name, peak / 1e6, "MB",
        "the matrix", given.bytes / 1e6, f"<= {LARGER}", peak <= LARGER * given.bytes,
    )  # fmt: skip
