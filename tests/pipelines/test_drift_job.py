"""Drift on the command line: killed and resumed, nodes do what the reference loop's do."""

from collections import Counter
from pathlib import Path

from pipelines.run_dir import read_lines
from tests.pipelines.jobs import (
    SETTINGS,
    arrays,
    finish,
    kill,
    models,
    reference,
    resolved,
    start,
    wait_for,
    workers,
)

DRIFTING = [
    *SETTINGS,
    "source.kind=drifting",
    "source.rows=18000",
    "source.partitions=6",
    "source.rows_per_tick=6",
    "source.node=partition",
    "source.drift_every=600",
    "source.drift_shift=-0.8",
    "source.drift_sites=[2]",
    "evaluation.companions=[]",
    "drift.detector=page-hinkley",
    "drift.policy=raise-step",
    "drift.every=10",
]


def test_killed_in_the_midst_of_it(tmp_path: Path) -> None:
    settings = [key for key in DRIFTING if key != "source.kind=nonlinear"]
    job = start(tmp_path, "--processes", "2", settings=settings)
    told = tmp_path / "run" / "drift.jsonl"
    wait_for(lambda: told.exists() and told.stat().st_size, 120)
    kill([job.pid, *workers(tmp_path).values()])
    job.communicate(timeout=60)
    wait_for(lambda: not workers(tmp_path))
    finish(start(tmp_path, "--resume", settings=settings))
    run = reference(resolved(settings))
    assert models(tmp_path) == {n: arrays(learner.model()) for n, learner in run.learners.items()}
    rows = list(read_lines(told))
    # No row is lost or told twice, and each says what nodes drift since when.
    assert Counter((r["kind"], r["round"], r["since"], *r["nodes"]) for r in rows) == Counter(
        (d.kind, d.round, d.since, *d.nodes) for d in run.drifts
    )
    first = rows[0]
    assert (first["kind"], first["scope"], first["nodes"]) == ("begin", "node", ["n02"])
    assert abs(first["since"] - 100) <= 3
    assert (first["detector"], first["policy"]) == ("page-hinkley", "raise-step")
    assert first["before"] < first["after"]
