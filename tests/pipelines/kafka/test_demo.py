"""The demonstration, on a real set: one command, from a file through a broker to predictions."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", ["SWD"])
def test_a_real_set_through_a_broker(tmp_path: Path, shared: Path, name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.kafka_demo", str(shared / f"data/ordinal/{name}.csv")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1,000 predictions for 1,000 records" in done.stdout
    assert "the topic gave what the file gave" in done.stdout
