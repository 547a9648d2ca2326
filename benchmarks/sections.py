"""What benchmarks of several sections share: one BLAS thread, a table and a file of results."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping

from rich.console import Console

from benchmarks.table import Row, print_rows, write_results

__all__ = ["Sections", "run_sections"]

Sections = Mapping[str, Callable[[bool], Iterable[Row]]]
"""Name -> gives the rows, of a short run if asked to."""

_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def run_sections(name: str, sections: Sections, width: int) -> None:
    """Run the sections that the command line names, print the tables, write the JSON, exit.

    The exit code is 1 where an aim is not met, unless the runs are short.
    """
    args = _arguments(name, sections)
    if any(os.environ.get(key) != value for key, value in _THREAD.items()):
        # BLAS reads them once, when a process begins.
        command = [sys.executable, "-m", f"benchmarks.{name}", *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, **_THREAD})
    console, begin = Console(width=width), time.monotonic()
    rows: list[Row] = []
    for chosen in args.only or sections:
        found = list(sections[chosen](args.quick))
        print_rows(console, found)
        rows += found
    seconds = round(time.monotonic() - begin, 1)
    path = write_results(name, rows, quick=args.quick, seconds=seconds)
    console.print(f"{seconds:.0f} s; {path}", highlight=False, soft_wrap=True)
    sys.exit(any(row.met is False for row in rows) and not args.quick)


def _arguments(name: str, sections: Sections) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}")
    parser.add_argument("--quick", action="store_true", help="short runs; figures mean little")
    parser.add_argument("--only", nargs="+", choices=list(sections), help="sections to run")
    return parser.parse_args()
