"""Drift on the command line: killed and resumed, nodes do what the reference loop's do."""

from dataclasses import asdict
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
    "source.rows=10800",
    "source.partitions=6",
    "source.rows_per_tick=6",
    "source.node=partition",
    "source.drift_every=600",
    "source.drift_shift=-0.8",
    "source.drift_sites=[1,2,4]",
    "evaluation.companions=[]",
    "drift.detector=page-hinkley",
    "drift.policy=raise-step",
    "drift.every=10",
    "drift.delta=0.05",
    "drift.settle=20",
]
KEYS = ("round", "since", "scope", "kind", "before", "after")


def test_killed_in_the_midst_of_it(tmp_path: Path) -> None:
    settings = [key for key in DRIFTING if key != "source.kind=nonlinear"]
    job = start(tmp_path, "--processes", "2", settings=settings)
    told = tmp_path / "run" / "drift.jsonl"
    wait_for(lambda: told.exists() and told.stat().st_size, 120)
    kill([job.pid, *workers(tmp_path).values()])
    job.communicate(timeout=60)
    wait_for(lambda: not workers(tmp_path))
    finish(start(tmp_path, "--resume", "--processes", "2", settings=settings))
    run = reference(resolved(settings))
    assert models(tmp_path) == {n: arrays(learner.model()) for n, learner in run.learners.items()}
    rows = list(read_lines(told))
    # No row is lost or told twice, and they come in order, whoever of the processes is ahead.
    assert [(*(row[key] for key in KEYS), tuple(row["nodes"])) for row in rows] == [
        (*(asdict(drift)[key] for key in KEYS), drift.nodes) for drift in run.drifts
    ]
    begun = [row for row in rows if row["kind"] == "begin" and abs(row["since"] - 200) <= 3]
    assert len(begun) >= 2
    assert {"n01", "n02", "n04"} >= {node for row in begun for node in row["nodes"]}
    assert all(row["before"] < row["after"] for row in begun)
    assert {(row["detector"], row["policy"]) for row in rows} == {("page-hinkley", "raise-step")}
