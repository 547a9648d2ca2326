"""Reading run directories: tolerant of runs that were killed or still go on."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from anabranch.errors import ConfigurationError
from pipelines.report.choose import Choice, choose_nodes
from pipelines.report.drift import Drift, read_drift
from pipelines.report.rows import LEARNERS, Row, metric_names

__all__ = ["DeadLetters", "Run", "read_run"]

_EXAMPLES = 3


@dataclass
class DeadLetters:
    """How many records could not be used, by reason, with the first few of each."""

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


@dataclass
class Run:
    """What one run directory holds.

    Attributes
    ----------
    network : learner -> its rows over all nodes, in order
    nodes : learner -> node -> its last row
    curves : node -> its rows, for the nodes that are drawn, of the main learner
    choice : which nodes are drawn
    damaged : lines of the scores that could not be read
    drifts : the newest drifts found
    """

    path: Path
    name: str
    job: dict[str, Any]
    environment: dict[str, Any]
    summary: dict[str, Any]
    network: dict[str, list[Row]]
    nodes: dict[str, dict[str, Row]]
    dead: DeadLetters
    curves: dict[str, list[Row]] = field(default_factory=dict)
    choice: Choice = field(default_factory=Choice)
    damaged: int = 0
    drifts: list[Drift] = field(default_factory=list)

    @property
    def main(self) -> str:
        """The learner whose curve and confusion matrix stand for the run."""
        found = [name for name in LEARNERS if name in self.network]
        return next(iter([*found, *self.network]), "cooperative")

    @property
    def is_batch(self) -> bool:
        """Whether the nodes learned shards in rounds, rather than a stream."""
        section = self.job.get("job")
        return isinstance(section, dict) and section.get("kind") == "batch"

    @property
    def metrics(self) -> list[str]:
        """The metrics of the run, the headline one first."""
        last = [rows[-1] for rows in self.network.values() if rows]
        return metric_names(last or [row for rows in self.nodes.values() for row in rows.values()])

    def last(self, learner: str) -> Row | None:
        """The last row of a learner over all nodes."""
        rows = self.network.get(learner)
        return rows[-1] if rows else None


def read_run(path: Path) -> Run:
    """Read a run directory.

    Raises
    ------
    ConfigurationError
        It is no run directory.
    """
    if not (path / "job.json").is_file() and not (path / "scores.jsonl").is_file():
        raise ConfigurationError(
            f"run directory = {str(path)!r} holds neither job.json nor scores.jsonl; "
            "allowed: the run_dir of a job that has run"
        )
    job = _table(path / "job.json")
    section = job.get("job")
    name = section.get("name") if isinstance(section, dict) else None
    run = Run(
        path,
        str(name or path.resolve().name),
        job,
        _table(path / "environment.json"),
        _table(path / "summary.json"),
        *_last_rows(path / "scores.jsonl"),
        DeadLetters(),
    )
    run.dead = _dead_letters(path / "dead_letters.jsonl", run.summary.get("dead_letters"))
    run.drifts = read_drift(path / "drift.jsonl")
    _draw(run)
    return run


def _draw(run: Run) -> None:
    """Read the scores once more, for the curves of the nodes worth drawing."""
    last = run.nodes.get(run.main, {})
    run.choice = choose_nodes(last, run.metrics)
    run.curves = {node: [] for node in run.choice.nodes}
    for row in _rows(run.path / "scores.jsonl"):
        if row is None:
            run.damaged += 1
        elif row.learner == run.main and row.node in run.curves:
            run.curves[row.node].append(row)


def _table(path: Path) -> dict[str, Any]:
    """Read a JSON object; one that is missing or damaged counts as empty."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _rows(path: Path) -> Iterator[Row | None]:
    """Give the rows of a file, and None for a line that cannot be read."""
    decoder = msgspec.json.Decoder(Row)
    if not path.is_file():
        return
    with path.open("rb") as lines:
        for line in lines:
            try:
                yield decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                yield None


def _last_rows(path: Path) -> tuple[dict[str, list[Row]], dict[str, dict[str, Row]]]:
    """Keep all rows of the network and the last one of each node: memory stays small."""
    network: dict[str, list[Row]] = {}
    nodes: dict[str, dict[str, Row]] = {}
    for row in _rows(path):
        if row is None:
            continue
        if row.node is None:
            network.setdefault(row.learner, []).append(row)
        else:
            nodes.setdefault(row.learner, {})[row.node] = row
    return network, nodes


def _dead_letters(path: Path, counted: Any) -> DeadLetters:
    """Count by reason, by the summary where there is one, and keep some examples."""
    dead = DeadLetters()
    lines = path.open("rb") if path.is_file() else None
    if lines is not None:
        with lines:
            for line in lines:
                _keep(dead, line)
    if isinstance(counted, dict):
        dead.counts = {str(reason): int(count) for reason, count in counted.items()}
    return dead


def _keep(dead: DeadLetters, line: bytes) -> None:
    try:
        letter = msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return
    reason = str(letter.get("reason", "unknown"))
    dead.counts[reason] = dead.counts.get(reason, 0) + 1
    examples = dead.examples.setdefault(reason, [])
    if len(examples) < _EXAMPLES:
        examples.append(letter)
