"""DOML beside its peers: python -m benchmarks.doml [--quick] [--only step scaling scores].

step: a node's step beside the paper's 2d x 2d solve and beside Cholesky, in fields, labels and
density of five sets; rows at random. scaling: many labels, many fields. scores: every set
prequentially, beside River's binary relevance and classifier chain, with what it is worth.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from rich.console import Console

from benchmarks.doml_scaling import scaling_rows
from benchmarks.doml_scores import score_rows
from benchmarks.doml_step import step_rows
from benchmarks.table import Row, print_rows, write_results

__all__ = ["main"]

DATA = Path(__file__).parents[2] / "shared/data/multilabel"
ENVIRONMENT = {
    "MALLOC_MMAP_THRESHOLD_": "1000000000",
    "MALLOC_TRIM_THRESHOLD_": "4000000000",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}
"""As jobs are started with, for the peers too."""
SECTIONS: Mapping[str, Callable[[bool], Iterator[Row]]] = {
    "step": step_rows,
    "scaling": scaling_rows,
    "scores": lambda quick: score_rows(DATA, quick),
}


def main() -> None:
    """Run the sections, print the tables, write the JSON."""
    args, console, begin = _arguments(), Console(width=118), time.monotonic()
    if any(os.environ.get(name) != value for name, value in ENVIRONMENT.items()):
        # Allocator and BLAS read them once, when a process begins.
        command = [sys.executable, "-m", "benchmarks.doml", *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, **ENVIRONMENT})
    rows: list[Row] = []
    for name in args.only or SECTIONS:
        if name == "scores" and not DATA.exists():
            console.print(f"scores: skipped, there is no {DATA}", highlight=False)
            continue
        found = list(SECTIONS[name](args.quick))
        print_rows(console, found)
        rows += found
    seconds = round(time.monotonic() - begin, 1)
    path = write_results("doml", rows, quick=args.quick, seconds=seconds)
    console.print(f"{seconds:.0f} s; {path}", highlight=False, soft_wrap=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.doml")
    parser.add_argument("--quick", action="store_true", help="short runs; figures mean little")
    parser.add_argument("--only", nargs="+", choices=tuple(SECTIONS))
    return parser.parse_args()


if __name__ == "__main__":
    main()
