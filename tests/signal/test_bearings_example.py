"""The example of bearings: its data are made and its job file is sound."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from pipelines.config import load_job
from pipelines.sources import build_source

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def make(monkeypatch: pytest.MonkeyPatch, folder: Path, *options: str) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["bearings_data.py", *options])
    runpy.run_path(str(EXAMPLES / "bearings_data.py"), run_name="__main__")


def test_the_job_reads_synthetic_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make(monkeypatch, tmp_path, "--samples", "100", "--cycles", "1")
    job = load_job(EXAMPLES / "bearings.toml")
    source = build_source(job)
    assert len(source.partitions) == len(job.network.names) == 20
    assert source.features == tuple(f"mode{number}" for number in range(1, 6))
    rows = np.loadtxt(tmp_path / "data/bearings/sensor01.csv", delimiter=",", skiprows=1)
    assert rows.shape == (400, 2)
    assert rows[::100, 1].tolist() == [2, 3, 4, 1]


def test_sensors_share_no_recorded_sample(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counts = np.arange(2000, dtype=np.int16)
    arrays = {f"w{width}": counts + 5000 * i for i, width in enumerate(("007", "014"))}
    scales = {f"scale{width}": 0.5 for width in ("007", "014")}
    np.savez(tmp_path / "signal_IR_0.npz", **arrays, **scales)  # type: ignore[arg-type]
    make(monkeypatch, tmp_path, "--cwru", str(tmp_path), "--out", "out")
    files = sorted((tmp_path / "out").glob("*.csv"))
    rows = np.concatenate([np.loadtxt(file, delimiter=",", skiprows=1) for file in files])
    assert len(np.unique(rows[:, 0])) == len(rows) == 4000
    assert (rows[:, 1] == 1 + (rows[:, 0] >= 2500)).all()
