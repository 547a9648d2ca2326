"""[signal] and [alarm]: what follows from them, and the sentences where they cannot be."""

import copy
from pathlib import Path
from typing import Any

import pytest

from anabranch.errors import ConfigurationError
from pipelines.config import build_job, describe_section, from_json, to_json
from pipelines.signal import alarm_rule, window_plan
from pipelines.sources import build_source
from tests.config.conftest import Tables

WINDOW = {"signal.window": 100}


def changed(tables: Tables, keys: dict[str, Any]) -> Tables:
    made = copy.deepcopy(tables)
    for key, value in keys.items():
        section, name = key.split(".")
        made.setdefault(section, {})[name] = value
    return made


def test_defaults_that_follow(tables: Tables) -> None:
    job = build_job(changed(tables, {**WINDOW, "signal.hop": 30, "alarm.rise": 1}))
    assert (job.source.node, job.source.rows_per_tick) == ("partition", 30)
    assert job.output.alarms == str(Path(job.job.run_dir) / "alarms.jsonl")
    plan, rule = window_plan(job), alarm_rule(job)
    assert plan is not None
    assert (plan.window, plan.hop, plan.features.modes) == (100, 30, 5)
    assert rule is not None
    assert (rule.rise, rule.stay) == (1, 5)
    assert build_source(job).features == tuple(f"x{i}.mode{m}" for i in (1, 2) for m in range(1, 6))
    assert from_json(to_json(job)) == job


def test_records_of_many_samples(tables: Tables) -> None:
    job = build_job(changed(tables, {**WINDOW, "signal.samples": 25}))
    assert job.source.features is not None
    assert job.source.features[::24] == ("s00", "s24")
    assert job.source.rows_per_tick == 4


def test_without_them_nothing_changes(tables: Tables) -> None:
    job = build_job(tables)
    assert window_plan(job) is alarm_rule(job) is None
    assert (job.source.node, job.output.alarms) == ("round-robin", None)


def test_they_are_described() -> None:
    keys = {key.name: key for name in ("signal", "alarm") for key in describe_section(name)}
    assert keys["signal.hop"].default == "signal.window"
    assert keys["signal.trials"].default == "100"
    assert all(key.meaning for key in keys.values())


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"signal.hop": 10}, "signal.hop is 10, but signal.window is none"),
        ({"signal.window": 40}, "signal.window is 40, too few .* at least 64"),
        (
            {**WINDOW, "signal.delay": 30},
            "signal.delay is 30, too long .* order 5 in signal.window = 100 .* at most 24",
        ),
        ({**WINDOW, "signal.delay": 10**30}, "at most 24|whole number"),
        ({**WINDOW, "signal.modes": 10**5}, "signal.modes is 100000; .* at least 1 and at most 20"),
        ({**WINDOW, "signal.modes": 20}, "signal.window is 100, .* at least 2097152"),
        ({**WINDOW, "signal.noise": -1}, "signal.noise is -1; .* at least 0"),
        ({**WINDOW, "signal.noise": float("inf")}, "signal.noise is inf; it must be finite"),
        ({**WINDOW, "signal.noise": float("nan")}, "signal.noise is nan; it must be"),
        ({**WINDOW, "source.node": "hash"}, 'source.node is "hash", which .* partition, key'),
        ({**WINDOW, "source.shuffle": True}, "source.shuffle is true"),
        ({**WINDOW, "source.text": ["x1"]}, "signal.window is 100, but windows are cut"),
        (
            {**WINDOW, "signal.samples": 3, "source.features": ["x1", "x2"]},
            "signal.samples is 3, but source.features names 2 fields",
        ),
        (
            {**WINDOW, "source.kind": "linear", "source.paths": [], "learner.ranks": 4},
            'signal.window is 100, but source.kind "linear" generates',
        ),
        ({"alarm.stay": 3}, "alarm.stay is 3, but alarm.rise is none"),
        ({"output.alarms": "a.jsonl"}, 'output.alarms is "a.jsonl", but alarm.rise is none'),
        ({"alarm.rise": 3}, "alarm.rise is 3; learner.ranks is 3, so it must be below that"),
        ({"alarm.rise": 1, "job.kind": "batch"}, "alarm.rise is 1, but a batch job"),
        ({"alarm.rise": 1, "output.alarms": "kafka:a"}, "kafka.brokers is empty"),
        (
            {"alarm.rise": 1, "output.alarms": "a", "output.predictions": "a"},
            'output.alarms is "a"; it must be a place of its own',
        ),
    ],
)
def test_mistakes(tables: Tables, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build_job(changed(tables, keys))


def test_numbers_have_no_alarms_and_sets_no_windows(tables: Tables) -> None:
    del tables["learner"]["ranks"]
    numbers = changed(
        tables, {"learner.kind": "elastic-net", "network.graph": "star", "alarm.rise": 1}
    )
    with pytest.raises(ConfigurationError, match='"elastic-net" learns no ranks'):
        build_job(numbers)
    sets = changed(tables, {"learner.kind": "mlknn", "source.labels": ["y"], **WINDOW})
    with pytest.raises(ConfigurationError, match='"mlknn" learns sets of labels'):
        build_job(sets)
