"""Sensors too short for a window: `check` and `run` say so."""

import re
from pathlib import Path

import pytest

from tests.cli.test_command_line import call

JOB = """
[source]
kind = "csv"
paths = ["short.csv"]
[signal]
window = 100
[network]
nodes = 2
[learner]
kind = "dsvor"
ranks = 2
[evaluation]
companions = []
"""


def test_a_short_sensor_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.toml").write_text(JOB, encoding="utf-8")
    rows = "".join(f"{i % 7},{i % 2 + 1}\n" for i in range(40))
    (tmp_path / "short.csv").write_text(f"x,y\n{rows}", encoding="utf-8")
    wanted = "warning: short.csv has no whole window: 40 samples, signal.window is 100"
    assert wanted in call("check", "job.toml").stderr
    result = call("run", "job.toml")
    assert result.exit_code == 0
    said = re.sub(r"\s+", " ", result.stdout + result.stderr)
    assert "no window of signal.window = 100 samples was complete" in said
    assert "short.csv gave no window: 40 samples are left, signal.window is 100" in said
    assert "learner.warm_up" not in said
