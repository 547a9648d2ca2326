"""Fit a saved set in this process, and print its peak memory above what it had before."""

import json
import os
import sys
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks.npsvor_sets import TextSet
from benchmarks.npsvor_speed import fitted, warm_up
from benchmarks.processes import memory


def main(folder: Path, features: int) -> None:
    """Load, fit, print."""
    warm_up()
    before = memory(os.getpid()) or 0
    data, indices, indptr, y = (
        np.load(folder / f"{name}.npy") for name in ("data", "indices", "indptr", "y")
    )
    X = sparse.csr_matrix((data, indices, indptr), (len(y), features))
    fitted(TextSet("", X, y), 0.1)
    print(json.dumps({"peak": (memory(os.getpid(), "VmHWM") or 0) - before}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
