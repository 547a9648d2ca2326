"""The paper's two synthetic sets: python -m benchmarks.synthetic_sets [--seeds N].

Twenty nodes of fifty training rows, a thousand held-back rows, from CSV through
`anabranch run`, at k = 500 and 2000 rounds, beside the values of papers/dsvor.md; and one
job a set against the reference loop, parameter by parameter. Two jobs run at a time.
"""

import argparse
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from anabranch.learners import make
from anabranch.model_file import read
from anabranch.network import build_graph, combination_weights, node_names
from anabranch.protocol import Learner
from anabranch.reproduce.dsvor_paper import SYNTHETIC
from anabranch.simulate import simulate
from anabranch.synthetic import make_stream
from benchmarks.jobs import command
from benchmarks.scored_jobs import BATCH, LEARNERS, ScoredJob, Scores, markdown, run_all, spread
from benchmarks.table import Row, write_results

__all__ = ["LEARNER", "differences", "job_of", "loop", "main", "write_set"]

NODES, SHARD, TEST = 20, 50, 1000
TRAIN = NODES * SHARD
WARM_UP = 20
FEATURES = 7
"""Seed of the random features; sets and graphs have seeds of their own."""
LENGTHS = (500, 2000)
LEARNER: dict[str, dict[str, Any]] = {
    "linear": {"kernel": "linear", "alpha": 0.9},
    "nonlinear": {"kernel": "gaussian", "dimension": 200, "alpha": 0.9},
}
"""Set 1 and set 2, by their names in `anabranch.synthetic`."""

_KNOWN_AS = {"local": "local", "pooled": "centralised"}
"""Learners that are known without a number of rounds, and as what."""


def columns(count: int) -> list[str]:
    """Name the fields."""
    return [f"x{i}" for i in range(count)]


def write_set(folder: Path, name: str, seed: int) -> Path:
    """Write a set as CSV, its test rows last, and beside it their numbers; gives the CSV."""
    X, y = make_stream(name, seed=seed).block(0, TRAIN + TEST)
    file = folder / f"{name}-{seed}.csv"
    header = ",".join([*columns(X.shape[1]), "y"])
    rows = (
        ",".join([*map(repr, x), str(int(rank))]) for x, rank in zip(X.tolist(), y, strict=True)
    )
    file.write_text("\n".join([header, *rows, ""]))
    file.with_suffix(".splits").write_text(",".join(map(str, range(TRAIN, TRAIN + TEST))) + "\n")
    return file


def job_of(folder: Path, name: str, seed: int, ks: tuple[int, ...] = LENGTHS) -> ScoredJob:
    """Write a set and give its batch job, scored k rounds after the warm-up for each k."""
    file = write_set(folder, name, seed)
    settings = {
        "source.split": file.with_suffix(".splits"),
        "source.split_row": 0,
        "job.seed": FEATURES,
        "network.nodes": NODES,
        "network.seed": seed,
        "learner.ranks": 4,
        "exchange.rounds": WARM_UP + max(ks),
        "evaluation.every": WARM_UP,
    }
    learner = {f"learner.{key}": value for key, value in LEARNER[name].items()}
    rounds = tuple(WARM_UP + k for k in ks)
    return ScoredJob(file, BATCH | settings | learner, rounds=rounds)


def main() -> None:
    """Run the sets, print the table, write the JSON."""
    args, begin = _arguments(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="bench-") as place:
        folder = Path(place)
        found = run_all(
            {
                (name, seed): job_of(folder, name, seed)
                for name in LEARNER
                for seed in range(args.seeds)
            }
        )
        equal = {name: differences(folder, name) for name in LEARNER}
    print(_table(_rows(found)))
    for name, count in equal.items():
        print(f"\n{name}: {count} of {NODES} nodes differ from the reference loop")
    seconds = round(time.monotonic() - begin)
    runs = [[*key, asdict(scores)] for key, scores in found.items()]
    path = write_results(
        "synthetic-sets", [*_rows(found)], seconds=seconds, differ=equal, runs=runs
    )
    print(f"\n{seconds} s; {path}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.synthetic_sets")
    parser.add_argument("--seeds", type=int, default=10, help="sets and graphs drawn")
    return parser.parse_args()


def differences(folder: Path, name: str, seed: int = 0, k: int = LENGTHS[0]) -> int:
    """Count the nodes whose parameters from `anabranch run` are not those of `simulate`."""
    job, run_dir = job_of(folder, name, seed, (k,)), folder / f"run-{name}"
    settings = {**job.settings, "output.models": "true", "job.run_dir": run_dir}
    line = command(settings, "--source", str(job.file))
    subprocess.run(line, check=True, capture_output=True, cwd=folder)
    return sum(
        _arrays(read(run_dir / "models" / f"{node}.npz").state) != _arrays(learner.model())
        for node, learner in loop(name, seed, k).items()
    )


def loop(name: str, seed: int, k: int) -> Mapping[str, Learner]:
    """Run the job of `job_of` in the reference loop; gives the nodes' learners."""
    X, y = make_stream(name, seed=seed).block(0, TRAIN)
    graph = build_graph("random", node_names(NODES), degree=4.0, seed=seed)
    options = {**LEARNER[name], "names": columns(X.shape[1]), "seed": FEATURES}
    learners = {node: make("dsvor-batch", X.shape[1], 4, **options) for node in graph.nodes}
    tick = {node: (X[i::NODES], y[i::NODES]) for i, node in enumerate(graph.nodes)}
    simulate(learners, combination_weights(graph), [tick], final_rounds=WARM_UP + k)
    return learners


def _arrays(state: Mapping[str, Any]) -> dict[str, bytes]:
    return {key: value.tobytes() for key, value in state.items() if isinstance(value, np.ndarray)}


def _rows(found: Mapping[tuple[Any, ...], Scores]) -> Iterator[Row]:
    for name, k, learner in product(LEARNER, LENGTHS, LEARNERS):
        group = [s for key, s in found.items() if key[::2] == (name, WARM_UP + k)]
        figure = f"k = {k}, {learner}"
        known = SYNTHETIC[name, _KNOWN_AS.get(learner, str(k))]
        accuracy = spread(scores.accuracy[learner] for scores in group)
        error = spread(scores.error[learner] for scores in group)
        yield Row(name, figure, accuracy.mean, "accuracy", f"± {accuracy.sd:.3f}", known[0])
        yield Row(name, figure, error.mean, "MAE", f"± {error.sd:.3f}", known[1])


def _table(rows: Iterator[Row]) -> str:
    header = ["set", "k and learner", "accuracy", "known", "MAE", "known"]
    lines = (
        [
            accuracy.section,
            accuracy.figure,
            *(
                f"{row.value:.3f} {row.peer}" if own else f"{row.peer_value:.3f}"
                for row in (accuracy, error)
                for own in (True, False)
            ),
        ]
        for accuracy, error in zip(rows, rows, strict=True)
    )
    return markdown(header, lines)


if __name__ == "__main__":
    main()
