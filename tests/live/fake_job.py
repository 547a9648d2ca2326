"""A run directory that changes as a running job's does, and the server of its pages."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

import msgspec
import numpy as np
from prometheus_client.registry import Collector

from pipelines.config import Job, load_job
from pipelines.health import Verdict
from pipelines.http import serve
from pipelines.live.job import LiveJob
from pipelines.live.pages import LivePages
from pipelines.live.records import EdgeNow, Letter, NodeNow, Now
from pipelines.port import listen
from pipelines.report.networks import read_network
from pipelines.run_dir import RunDirectory, write_whole

HOSTILE = "<b>a/b%2f..\"'&"
"""A node's name that must be shown as it is."""
RED = Verdict("red", ("partition p:1 stands at offset 7 for 21 s", "site <i>west</i> is silent"))


@dataclass
class FakeJob:
    """Writes what a job's processes write; `step` lets it go on by some rounds.

    Parameters
    ----------
    path : the run directory
    names : of the nodes, on a ring
    """

    path: Path
    names: list[str]
    graph: str = "ring"
    verdict: Verdict = field(default_factory=lambda: Verdict("green"))
    silent: float = 0.1
    round: int = 0

    def __post_init__(self) -> None:
        settings = {
            "job": {"name": "fake", "run_dir": str(self.path)},
            "source": {"kind": "nonlinear"},
            "network": {"nodes": self.names, "graph": self.graph},
            "evaluation": {"companions": ["local", "pooled"]},
        }
        self.path.mkdir(parents=True, exist_ok=True)
        file = self.path / "job.toml"
        file.write_text(_toml(settings), encoding="utf-8")
        self.job: Job = load_job(file, [])
        self.run_dir = RunDirectory(self.path)
        drawing = read_network(self.run_dir.networks, self.job.network)
        assert drawing is not None
        self.drawing = drawing
        self.bias = np.random.default_rng(0).uniform(0.8, 1.5, len(self.names))
        self.live = LiveJob(self.job, self.run_dir)

    @property
    def samples(self) -> int:
        """Samples that the network has learned."""
        return 10 * self.round * len(self.names)

    def score(self, i: int) -> dict[str, float]:
        """Scores of a node: errors fall as rounds go by."""
        error = float(self.bias[i] * (0.2 + 1.0 / (1 + self.round)))
        return {"MAE": error, "Accuracy": 1.0 - error / 3}

    def step(self, rounds: int = 1) -> None:
        """Write everything some rounds later, and tell it to the pages."""
        self.round += rounds
        self._write_now()
        self._write_scores()
        status = self._status()
        write_whole(self.run_dir.status_of(0), json.dumps(status))
        self.live.update([status], self.verdict)

    def drift(self, kind: str, nodes: list[str], scope: str = "node") -> None:
        """Write that a drift begins, spreads or ends now."""
        row = {
            "time": "2026-01-01T00:00:00+00:00",
            "round": self.round,
            "since": max(0, self.round - 2),
            "scope": scope,
            "nodes": nodes,
            "kind": kind,
            "detector": "adwin",
            "policy": "log",
            "before": 0.2,
            "after": 0.5,
        }
        with self.run_dir.drift.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def _write_now(self) -> None:
        sent = 4 * self.round
        nodes = {
            name: NodeNow(
                self.round, 10 * self.round, sent, 900 * sent, self.score(i), {"step": 0.5}, 0.2
            )
            for i, name in enumerate(self.drawing.names)
        }
        ways = [(a, b) for a, b in self.drawing.edges] + [(b, a) for a, b in self.drawing.edges]
        edges = [
            EdgeNow(self.drawing.names[a], self.drawing.names[b],
                    self.silent if b == 0 else 0.1, self.round, 900 * self.round * (1 + a % 3))
            for a, b in ways
        ]  # fmt: skip
        letters = [Letter(f"label is <script>alert({i})</script>", "wear", "2", i) for i in (5, 9)]
        now = Now(
            0,
            time.time(),
            nodes,
            edges,
            {"bad_label": 4, "unknown_node": 1},
            {"bad_label": letters},
            {},
            1,
        )
        write_whole(self.run_dir.now_of(0), msgspec.json.encode(now).decode())

    def _write_scores(self) -> None:
        with self.run_dir.scores.open("a", encoding="utf-8") as file:
            for learner, factor in (("cooperative", 1.0), ("local", 1.6), ("pooled", 0.9)):
                error = factor * (0.25 + 1.0 / (1 + self.round))
                row = {
                    "round": self.round,
                    "learner": learner,
                    "node": None,
                    "samples": self.samples,
                    "scores": {"MAE": error, "Accuracy": 1 - error / 3},
                    "window": {"MAE": error, "Accuracy": 1 - error / 3},
                    "disagreement": None if learner == "pooled" else {"mean": 3.0 / self.round},
                }
                file.write(json.dumps(row, separators=(",", ":")) + "\n")

    def _status(self) -> dict[str, object]:
        lag = 5000 - 10 * self.round
        parts = {
            f"wear:{i}": {"offset": self.round, "lag": lag, "age": 0.5, "error": None}
            for i in range(2)
        }
        return {
            "process": 0,
            "time": time.time(),
            "samples": self.samples,
            "rate": 1000.0 + self.round,
            "dead": 5,
            "memory": 250_000_000,
            "partitions": parts,
        }

    @contextmanager
    def served(self, boot: str = "one", port: int = 0) -> Iterator[int]:
        """Serve the pages while the context lasts; gives the port."""
        pages = LivePages(self.job, self.live, boot)
        with (
            listen(("127.0.0.1", port)) as listening,
            serve(listening, _Nothing(), lambda: self.verdict, pages),
        ):
            try:
                yield listening.getsockname()[1]
            finally:
                self.live.close()

    @contextmanager
    def going_on(self, every: float = 0.25) -> Iterator[None]:
        """Let the job go on by itself while the context lasts."""
        stop = Event()

        def go() -> None:
            while not stop.wait(every):
                self.step()

        thread = Thread(target=go, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


class _Nothing(Collector):
    def collect(self) -> Iterator[object]:  # type: ignore[override]
        """Give nothing."""
        return iter(())


def _toml(sections: dict[str, dict[str, object]]) -> str:
    return "\n".join(
        f"[{section}]\n" + "\n".join(f"{key} = {json.dumps(value)}" for key, value in keys.items())
        for section, keys in sections.items()
    )
