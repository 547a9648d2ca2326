"""The sink of final models."""

from pathlib import Path

import numpy as np
import pytest

from anabranch.learners import make
from anabranch.model_file import load
from operators.items import Final
from pipelines.models import ModelSink


def test_a_diverged_model_is_left_out_and_the_others_are_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    learner = make("dsvor", 2, 3, kernel="linear")
    fit, diverged = learner.model(), learner.model()
    diverged["w"] = np.full_like(diverged["w"], np.inf)
    sink = ModelSink(tmp_path, "dsvor", {}).build("models", 0, 1)
    sink.write_batch([Final("lost", "cooperative", diverged), Final("found", "cooperative", fit)])
    assert [path.name for path in tmp_path.iterdir()] == ["found.npz"]
    assert load(tmp_path / "found.npz").kind == "dsvor"
    assert "no model file of node 'lost'" in caplog.text
