"""Run directories made up for the tests, written as a job writes them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anabranch.evaluation import scores
from anabranch.protocol import Array

RANKS = 4
SPREAD = {"cooperative": 0.16, "local": 0.30, "pooled": 0.15}
MakeRun = Callable[..., Path]


def counts(draw: np.random.Generator, samples: int, wrong: float) -> Array:
    """Counts of (truth, prediction) where about `wrong` of the predictions are one rank off."""
    truth = draw.integers(0, RANKS, samples)
    off = (draw.random(samples) < wrong) * draw.choice([-1, 1], samples)
    table = np.zeros((RANKS, RANKS), dtype=np.int64)
    np.add.at(table, (truth, np.clip(truth + off, 0, RANKS - 1)), 1)
    return table


class Writer:
    """Makes the rows of a run: errors fall as rounds go by, and differ between nodes."""

    def __init__(self, nodes: int, rounds: int, seed: int, held: bool) -> None:
        self.draw = np.random.default_rng(seed)
        self.names = [f"n{i:0{len(str(nodes - 1))}d}" for i in range(nodes)]
        self.bias = {name: self.draw.uniform(0.6, 1.6) for name in self.names}
        self.rounds, self.held = rounds, held

    def rows(self, learner: str) -> list[dict[str, Any]]:
        """All rows of one learner."""
        pooled = np.zeros((RANKS, RANKS), dtype=np.int64)
        nodes = {name: pooled.copy() for name in self.names}
        found = []
        for k in range(1, self.rounds + 1):
            wrong = SPREAD[learner] + 0.5 / (1 + 0.4 * k)
            for name in self.names:
                block = counts(self.draw, 10, wrong * self.bias[name])
                nodes[name] += block
                pooled += block
                if learner != "pooled":
                    found.append(self.row(k, learner, name, nodes[name], block))
            found.append(self.row(k, learner, None, pooled, block))
        return found

    def row(
        self, k: int, learner: str, node: str | None, total: Array, block: Array
    ) -> dict[str, Any]:
        """One row, as pipelines write it."""
        sent = 4 * k * (len(self.names) if node is None else 1) * (learner == "cooperative")
        apart = node is None and learner != "pooled"
        gap = 1.5 / k if learner == "cooperative" else 2.0
        return {
            "round": k,
            "time": f"2026-01-01T00:{k // 60:02d}:{k % 60:02d}+00:00",
            "learner": learner,
            "node": node,
            "samples": int(total.sum()),
            "scores": scores("ordinal", {"counts": total}),
            "window": scores("ordinal", {"counts": block}),
            "held": scores("ordinal", {"counts": total}) if self.held else None,
            "disagreement": {"max": 2 * gap, "mean": gap} if apart else None,
            "messages": sent,
            "bytes": sent * 1624,
            "confusion": total.tolist() if node is None else None,
        }


def letters() -> list[dict[str, Any]]:
    """Dead letters, some of them hostile to a page."""
    raws = ["1,2,nan,3", "<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>"]
    return [
        {
            "reason": ["not-finite", "missing-field", "label"][i % 3],
            "detail": f"column x{i} is {raws[i % 3]!r}",
            "source": "csv",
            "partition": "part-0.csv",
            "position": 17 * i,
            "raw": raws[i % 3],
        }
        for i in range(14)
    ]


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def write_run(
    path: Path,
    *,
    name: str = "bearings",
    nodes: int = 20,
    rounds: int = 40,
    seed: int = 0,
    learners: tuple[str, ...] = ("cooperative", "local", "pooled"),
    held: bool = False,
    dead: bool = True,
    rename: str = "",
    alpha: float = 0.9,
) -> Path:
    """Write a run directory; `rename` puts a hostile name in place of the first node's."""
    path.mkdir(parents=True)
    writer = Writer(nodes, rounds, seed, held)
    rows = [row for learner in learners for row in writer.rows(learner)]
    for row in rows:
        if rename and row["node"] == writer.names[0]:
            row["node"] = rename
    job = {
        "job": {"name": name, "seed": seed},
        "network": {"nodes": writer.names, "graph": "ring" if nodes > 2 else "path"},
        "learner": {"kind": "dsvor", "ranks": RANKS, "alpha": alpha, "gamma": None},
        "evaluation": {"window": 1000, "companions": [x for x in learners if x != "cooperative"]},
    }
    (path / "job.json").write_text(json.dumps(job))
    (path / "environment.json").write_text(
        json.dumps({"python": "3.11.7", "machine": {"cores": 2}, "libraries": {"numpy": "2.4"}})
    )
    (path / "scores.jsonl").write_text(lines(sorted(rows, key=lambda row: row["round"])))
    found = letters() if dead else []
    (path / "dead_letters.jsonl").write_text(lines(found))
    reasons = {r: sum(x["reason"] == r for x in found) for r in {x["reason"] for x in found}}
    last = {row["learner"]: row for row in rows if row["node"] is None}
    summary = {
        "rounds": rounds,
        "samples": 10 * nodes * rounds,
        "seconds": 12.34,
        "rate": 10 * nodes * rounds / 12.34,
        "nodes": nodes,
        "edges": 2 * nodes,
        "final": last,
        "dead_letters": reasons,
        "partitions": {"part-0.csv": {"records": 10 * nodes * rounds, "last_tick": rounds - 1}},
        "stopped": "end",
    }
    (path / "summary.json").write_text(json.dumps(summary))
    return path


@pytest.fixture(scope="session")
def make_run() -> MakeRun:
    """Write a run directory; see `write_run`."""
    return write_run
