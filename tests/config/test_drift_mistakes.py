"""[drift] and drifting sources: what they come to, and the sentences where they cannot be."""

from typing import Any

import pytest

from anabranch.errors import ConfigurationError
from pipelines.config import build_job, describe_section, from_json, to_json
from pipelines.drift import drift_rule
from tests.config.conftest import Tables
from tests.config.test_signal_mistakes import changed

ON = {"drift.detector": "adwin"}


def test_off_unless_asked_for(tables: Tables) -> None:
    assert drift_rule(build_job(tables), 3) is None


def test_a_rule_of_all_keys(tables: Tables) -> None:
    keys = {"policy": "raise-step", "every": 7, "delta": 0.01, "rise": 0.2, "warm_up": 12,
            "settle": 9, "most": 0.4}  # fmt: skip
    job = build_job(changed(tables, ON | {f"drift.{key}": value for key, value in keys.items()}))
    rule = drift_rule(job, 4)
    assert rule is not None
    assert {key: getattr(rule, key) for key in keys} == keys
    assert (rule.detector, rule.share) == ("adwin", 0.0025)
    assert from_json(to_json(job)) == job


def test_defaults_are_the_rules_own(tables: Tables) -> None:
    from anabranch.drift import DriftRule

    assert drift_rule(build_job(changed(tables, ON)), 5) == DriftRule("adwin", nodes=5)


def test_every_key_is_described() -> None:
    assert all(key.meaning for key in describe_section("drift"))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"drift.policy": "raise-step"}, r'drift.policy is "raise-step", but drift.detector is'),
        ({"drift.every": 5}, "drift.every is 5, but drift.detector is none"),
        (ON | {"job.kind": "batch", "source.rows": 100}, "a batch job predicts nothing"),
        (ON | {"drift.policy": "refit"}, 'drift.policy is "refit", .* one of log, raise-step$'),
        (ON | {"drift.policy": "shrink-window"}, 'learner.kind "dsvor" with these options has not'),
        (ON | {"drift.warm_up": 60}, "drift.warm_up is 60; it must be"),
        ({"drift.detector": "ddm"}, 'drift.detector is "ddm"; it must be one of'),
        ({"source.drift_sites": [0]}, "source.drift_sites is .* applies to drifting only"),
        ({"source.kind": "drifting", "source.drift_sites": [1, 4], "source.partitions": 3},
         "source.drift_sites has 4; source.partitions is 3"),
    ],
)  # fmt: skip
def test_mistakes(tables: Tables, keys: dict[str, Any], message: str) -> None:
    raw = changed(tables, keys)
    if keys.get("job.kind") == "batch" or "source.drift_sites" in keys:
        raw["learner"]["ranks"] = 4
        raw["source"] = {"kind": "nonlinear", "rows": 100} | {
            key.split(".")[1]: value for key, value in keys.items() if key.startswith("source.")
        }
    with pytest.raises(ConfigurationError, match=message):
        build_job(raw)


def test_a_cache_can_be_fitted(tables: Tables) -> None:
    build_job(changed(tables, ON | {"drift.policy": "refit", "learner.cache": 20}))
