"""Real ordinal sets: python -m benchmarks.ordinal_sets [--splits N] [--sets A B].

Thirteen small sets on twenty nodes, from CSV through `anabranch run`: as batch jobs over the
given holdouts (Gaussian and linear), beside the values known for the same sets and holdouts,
and once as a stream, every row predicted by its node before it is learned. Two jobs run at
a time.
"""

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from anabranch.reproduce.ordinal_paper import KNOWN
from benchmarks.scored_jobs import (
    BATCH,
    LEARNERS,
    ScoredJob,
    Scores,
    Spread,
    markdown,
    run_all,
    spread,
)
from benchmarks.table import Row, write_results

__all__ = ["batch_job", "main", "stream_job"]

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "ordinal"
NODES, ROUNDS = 20, 2000

KERNELS: dict[str, dict[str, Any]] = {
    "gaussian": {"learner.kernel": "gaussian", "learner.dimension": 200, "learner.alpha": 0.9},
    "linear": {"learner.kernel": "linear", "learner.alpha": 0},
}


def batch_job(data: Path, name: str, split: int, kernel: str) -> ScoredJob:
    """Give the batch job of one holdout.

    All rows come in one tick, so that the nodes agree on their scales over whole shards.
    """
    settings = {
        "source.split": data / f"{name}.splits.csv",
        "source.split_row": split,
        "learner.lam": 1e-3,
        "exchange.rounds": ROUNDS,
    }
    return ScoredJob(data / f"{name}.csv", _shared(name) | KERNELS[kernel] | settings)


def stream_job(data: Path, name: str) -> ScoredJob:
    """Give the stream job over a whole set, in random order."""
    settings = {
        "job.kind": "stream",
        "source.shuffle": "true",
        "source.rows_per_tick": NODES,
    }
    file = data / f"{name}.csv"
    return ScoredJob(file, _shared(name) | KERNELS["gaussian"] | settings, "scores")


def _shared(name: str) -> dict[str, Any]:
    return {**BATCH, "network.nodes": NODES, "learner.ranks": KNOWN[name].ranks}


def main() -> None:
    """Run the sets, print the tables, write the JSON."""
    args, begin = _arguments(), time.monotonic()
    batch = run_all(
        {
            (name, kernel, split): batch_job(args.data, name, split, kernel)
            for name in args.sets
            for kernel in KERNELS
            for split in range(min(args.splits, _holdouts(args.data, name)))
        }
    )
    streams = run_all({(name, "stream"): stream_job(args.data, name) for name in args.sets})
    print(batch_table(batch), stream_table(streams), sep="\n\n")
    runs = [[*key, asdict(found)] for key, found in (batch | streams).items()]
    seconds = round(time.monotonic() - begin)
    rows = [*_batch_rows(batch), *_stream_rows(streams)]
    path = write_results("ordinal-sets", rows, seconds=seconds, splits=args.splits, runs=runs)
    print(f"\n{seconds} s; {path}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ordinal_sets")
    parser.add_argument("--splits", type=int, default=3, help="holdouts of each set")
    parser.add_argument("--sets", nargs="+", choices=list(KNOWN), default=list(KNOWN))
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the sets")
    return parser.parse_args()


def _holdouts(data: Path, name: str) -> int:
    return len((data / f"{name}.splits.csv").read_text().split())


def _over_splits(
    batch: Mapping[tuple[Any, ...], Scores], name: str, kernel: str, learner: str
) -> Spread:
    return spread(found.error[learner] for key, found in batch.items() if key[:2] == (name, kernel))


def _sets(found: Mapping[tuple[Any, ...], Scores]) -> list[str]:
    return list(dict.fromkeys(key[0] for key in found))


def batch_table(batch: Mapping[tuple[Any, ...], Scores]) -> str:
    """Write our batch values beside the known ones, these in brackets."""
    header = ["set", "splits", "dSVOR", "local", "pooled (SVORIM)", "linear", "its local", "pooled"]

    def cells(name: str) -> Iterator[object]:
        known = KNOWN[name]
        yield name
        yield sum(key[:2] == (name, "gaussian") for key in batch)
        beside = [known.dsvor, known.local, known.svorim, known.linear, None, None]
        places = [(kernel, learner) for kernel in KERNELS for learner in LEARNERS]
        for place, value in zip(places, beside, strict=True):
            note = "" if value is None else f" ({value:.3f})"
            yield f"{_over_splits(batch, name, *place)}{note}"

    return markdown(header, ([*cells(name)] for name in _sets(batch)))


def stream_table(streams: Mapping[tuple[Any, ...], Scores]) -> str:
    """Write the prequential values of the streams."""
    rows: list[Sequence[object]] = [
        [name, KNOWN[name].rows, *(f"{found.error[learner]:.3f}" for learner in LEARNERS)]
        for (name, _), found in streams.items()
    ]
    return markdown(["stream of", "rows", *LEARNERS], rows)


def _batch_rows(batch: Mapping[tuple[Any, ...], Scores]) -> Iterator[Row]:
    for name in _sets(batch):
        known = KNOWN[name]
        for kernel, learner, peer, value in (
            ("gaussian", "cooperative", "dSVOR", known.dsvor),
            ("gaussian", "local", "local-only", known.local),
            ("gaussian", "pooled", "SVORIM", known.svorim),
            ("linear", "cooperative", "dSVOR linear", known.linear),
        ):
            error = _over_splits(batch, name, kernel, learner).mean
            yield Row(name, f"{kernel} {learner}", error, "MAE", peer, value)


def _stream_rows(streams: Mapping[tuple[Any, ...], Scores]) -> Iterator[Row]:
    for (name, _), found in streams.items():
        for learner in LEARNERS:
            yield Row(name, f"stream {learner}", found.error[learner], "MAE")


if __name__ == "__main__":
    main()
