"""Raw vibration to severity and alarms, run as a user runs it, killed, and continued."""

import json
from pathlib import Path

import numpy as np
import pytest

from anabranch.alarms import AlarmWatch
from anabranch.stream import Predictions
from anabranch.synthetic_vibration import vibration
from pipelines.config import Job
from pipelines.run_dir import RunDirectory, read_lines
from pipelines.signal import alarm_rule
from tests.pipelines.jobs import (
    arrays,
    finish,
    kill,
    models,
    read_job,
    reference,
    round_of,
    start,
    wait_for,
    workers,
)

SENSORS, WINDOW = 4, 250
LEVELS = {1: 1, 4: 2}
"""Rank of each severity."""
SETTINGS = [
    "source.kind=csv",
    "source.label=level",
    f"source.rows_per_tick={WINDOW // 2}",
    f"signal.window={WINDOW}",
    "signal.trials=4",
    "learner.ranks=2",
    "learner.warm_up=2",
    "learner.dimension=40",
    f"network.nodes={SENSORS}",
    "network.graph=ring",
    "exchange.ticks_ahead=4",
    "alarm.rise=1",
    "alarm.stay=2",
    "evaluation.companions=[]",
    "recovery.snapshot_every=200ms",
    "output.report=false",
]


def write(folder: Path) -> list[str]:
    """Write a file a sensor: severities by turns, of about 13 windows each, three times."""
    paths = []
    for sensor in range(SENSORS):
        parts = [
            (rank, vibration(level, 13 * WINDOW + 71, seed=SENSORS * turn + sensor))
            for turn in range(3)
            for level, rank in LEVELS.items()
        ]
        lines = [f"{x:.5g},{rank}\n" for rank, signal in parts for x in signal.tolist()]
        lines[5000] = "broken\n"
        file = folder / f"sensor{sensor}.csv"
        file.write_text("".join(["vibration,level\n", *lines]))
        paths.append(str(file))
    return paths


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job of two workers, killed in mid-stream and restarted from its snapshots."""
    folder = tmp_path_factory.mktemp("bearings")
    settings = [
        *SETTINGS, f"source.paths={json.dumps(write(folder))}",
        f"output.predictions={folder / 'predictions.jsonl'}",
    ]  # fmt: skip
    job = start(folder, "--workers", "2", settings=settings)
    wait_for(lambda: round_of(folder) >= 10, seconds=200)
    kill(list(workers(folder).values()))
    assert "restart" in finish(job, timeout=200)
    return folder


def test_models_are_those_of_the_reference_loop(run: Path) -> None:
    job = read_job(run)
    assert job.source.node == "partition"
    truth = reference(job)
    assert models(run) == {n: arrays(m.model()) for n, m in truth.learners.items()}


def test_every_window_is_predicted_once_and_worse_bearings_are_told_apart(run: Path) -> None:
    rows = list(read_lines(run / "predictions.jsonl"))
    places = [(row["partition"], row["position"]) for row in rows]
    count = (6 * (13 * WINDOW + 71) - 5001) // WINDOW + 5000 // WINDOW
    assert len(places) == len(set(places)) == SENSORS * count
    assert not any(at - WINDOW < 5000 <= at for _, at in places)
    late = [row for row in rows if row["position"] > 12_000]
    assert np.mean([abs(row["predicted"] - row["y"]) for row in late]) < 0.3
    letters = RunDirectory(run / "run").count_dead_letters(read_job(run))
    assert sum(letters.values()) == SENSORS


def test_alarms_are_those_of_the_predictions(run: Path) -> None:
    job = read_job(run)
    assert job.output.alarms == str(run / "run" / "alarms.jsonl")
    found = list(read_lines(Path(job.output.alarms)))
    assert {alarm["kind"] for alarm in found} == {"raised", "cleared"}
    summary = json.loads((run / "run" / "summary.json").read_bytes())
    assert summary["alarms"] == sum(alarm["kind"] == "raised" for alarm in found) > 0
    for node in job.network.names:
        told = [alarm for alarm in found if alarm["node"] == node]
        assert told == [json.loads(json.dumps(alarm)) for alarm in _alarms(run, job, node)]


def _alarms(run: Path, job: Job, node: str) -> list[dict[str, object]]:
    rule = alarm_rule(job)
    assert rule is not None
    watch = AlarmWatch(rule, node)
    rows = [row for row in read_lines(run / "predictions.jsonl") if row["node"] == node]
    places, ranks = (np.array([row[key] for row in rows]) for key in ("position", "predicted"))
    item = Predictions(node, 0, rows[0]["partition"], places, ranks, ranks)
    return [{name: getattr(alarm, name) for name in alarm.__slots__} for alarm in watch.take(item)]
