"""Batch L2-NPSVOR beside LIBLINEAR: python -m benchmarks.npsvor [--quick] [--only sets large].

sets: every text set beside LIBLINEAR's L2-SVC, L1-SVC and SVR, to the same duality gap and with
the same tolerance. search: a cross-validated C in two threads. large: what a pass and the memory
cost at the shape of Electronics. Real sets are read from ../shared where they are; synthetic ones
have the paper's shapes.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping

from rich.console import Console

from benchmarks.npsvor_peers import available
from benchmarks.npsvor_sets import names_of, set_of
from benchmarks.npsvor_shape import memory_row, shape_rows
from benchmarks.npsvor_speed import search_row, speed_rows, warm_up
from benchmarks.table import Row, print_rows, write_results

__all__ = ["main"]

ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
SMALL, LARGE = "zipf largemovie", "zipf electronics"


def _sets(args: argparse.Namespace) -> Iterator[Row]:
    names = args.sets or [name for name in names_of(args.quick) if name != LARGE]
    for name in names:
        yield from speed_rows(set_of(name, args.quick))


def _search(args: argparse.Namespace) -> Iterator[Row]:
    yield search_row(set_of("zipf semeval", args.quick))


def _large(args: argparse.Namespace) -> Iterator[Row]:
    small, large = (set_of(name, args.quick) for name in (SMALL, LARGE))
    yield from shape_rows(small, large, 1 if args.quick else 3)
    yield memory_row(large)


SECTIONS: Mapping[str, Callable[[argparse.Namespace], Iterator[Row]]] = {
    "sets": _sets,
    "search": _search,
    "large": _large,
}


def main() -> None:
    """Run the sections, print the tables, write the JSON."""
    args, console, begin = _arguments(), Console(width=140), time.monotonic()
    if any(os.environ.get(name) != value for name, value in ENVIRONMENT.items()):
        command = [sys.executable, "-m", "benchmarks.npsvor", *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, **ENVIRONMENT})
    warm_up()
    rows: list[Row] = []
    for name in args.only or SECTIONS:
        if name == "sets" and not available():
            console.print("sets: skipped, there is no LIBLINEAR: pip install liblinear-official")
            continue
        for row in SECTIONS[name](args):
            rows.append(row)
            beside = f", of {row.peer}: {row.ratio:.3g}" if row.ratio else ""
            line = f"{row.section}: {row.figure}: {row.value:.4g} {row.unit}{beside}"
            console.print(line, highlight=False, style="dim", soft_wrap=True)
    print_rows(console, rows)
    seconds = round(time.monotonic() - begin, 1)
    path = write_results("npsvor", rows, quick=args.quick, seconds=seconds)
    console.print(f"{seconds:.0f} s; {path}", highlight=False, soft_wrap=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.npsvor")
    parser.add_argument("--quick", action="store_true", help="small sets; figures mean little")
    parser.add_argument("--only", nargs="+", choices=tuple(SECTIONS))
    parser.add_argument("--sets", nargs="+", help="names of sets, for the section of that name")
    return parser.parse_args()


if __name__ == "__main__":
    main()
