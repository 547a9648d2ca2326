"""Jobs for the tables of papers: run through `anabranch run`, read back as mean errors."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any, Literal

from benchmarks.jobs import command
from pipelines.run_dir import RunDirectory, read_lines

__all__ = ["BATCH", "LEARNERS", "ScoredJob", "Scores", "Spread", "markdown", "run_all", "spread"]

LEARNERS = ("cooperative", "local", "pooled")
BATCH: dict[str, Any] = {
    "job.kind": "batch",
    "evaluation.every": 1_000_000,
    "evaluation.companions": '["local", "pooled"]',
    "output.report": "false",
    "output.models": "false",
}
"""What all batch jobs share; no scores before the last round."""
_AT_ONCE = 2
"""Jobs at a time: each is one process on one core."""


@dataclass(frozen=True, slots=True)
class ScoredJob:
    """A job that reads a file: its settings, and which scores count.

    `scored` is "held" for rows held back, "scores" for all rows, each before it was learned.
    `rounds` are numbers of rounds after which the job is scored; only at its end unless given.
    """

    file: Path
    settings: Mapping[str, Any]
    scored: Literal["held", "scores"] = "held"
    rounds: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Scores:
    """What one job came to: mean absolute error and accuracy of each learner, by its name."""

    error: dict[str, float]
    accuracy: dict[str, float]
    seconds: float


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and standard deviation of one figure over several jobs."""

    mean: float
    sd: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.sd:.3f}"


def spread(values: Iterable[float]) -> Spread:
    """Give mean and standard deviation (0 of a single value).

    >>> print(spread([0.1, 0.3]))
    0.200 ± 0.141
    """
    values = list(values)
    return Spread(mean(values), stdev(values) if len(values) > 1 else 0.0)


def run_all(jobs: Mapping[tuple[Any, ...], ScoredJob]) -> dict[tuple[Any, ...], Scores]:
    """Run jobs, two at a time, and tell each one's end on the error stream.

    A job's `rounds` are added to its key, one result each.

    Raises
    ------
    RuntimeError
        A run fails; the message is what it printed.
    """

    def run(key: tuple[Any, ...]) -> dict[tuple[Any, ...], Scores]:
        found = {(*key, *more): scores for more, scores in _run(jobs[key]).items()}
        for whole, scores in found.items():
            print(json.dumps([*whole, asdict(scores)]), file=sys.stderr, flush=True)
        return found

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return {key: scores for found in pool.map(run, jobs) for key, scores in found.items()}


def _run(job: ScoredJob) -> dict[tuple[int, ...], Scores]:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        run_dir = RunDirectory(Path(folder) / "run")
        line = command({**job.settings, "job.run_dir": run_dir.path}, "--source", str(job.file))
        done = subprocess.run(line, capture_output=True, text=True, cwd=folder, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(line)}\n{done.stdout}{done.stderr}")
        rows = [row for row in read_lines(run_dir.scores) if row["node"] is None]
        seconds = round((run_dir.read_summary() or {})["seconds"], 1)
    final = [row for row in rows if row["final"]]
    if not job.rounds:
        return {(): _scores(final, job.scored, seconds)}
    after = {(n,): [row for row in rows if row["round"] + 1 == n] for n in job.rounds}
    return {n: _scores(found, job.scored, seconds) for n, found in after.items()}


def _scores(rows: Iterable[Mapping[str, Any]], scored: str, seconds: float) -> Scores:
    found = {str(row["learner"]): row[scored] for row in rows}
    errors, accuracies = ({n: found[n][m] for n in LEARNERS} for m in ("MAE", "Accuracy"))
    return Scores(errors, accuracies, seconds)


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table.

    >>> print(markdown(["set", "MAE"], [["toy", 0.07]]))
    | set | MAE |
    |---|---|
    | toy | 0.07 |
    """
    lines = [header, *rows]
    text = [f"| {' | '.join(map(str, line))} |" for line in lines]
    return "\n".join([text[0], "|---" * len(header) + "|", *text[1:]])
