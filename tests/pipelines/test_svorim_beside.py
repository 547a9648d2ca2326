"""SVORIM and SVOREX beside batch dSVOR: a job's companions are the solvers with its settings."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anabranch.baselines import BASELINES
from anabranch.errors import ConfigurationError
from anabranch.protocol import Array
from anabranch.sklearn_face import SVOREX, SVORIM
from pipelines.config import load_job
from pipelines.flow import build_plan
from pipelines.run_dir import read_lines
from pipelines.sources import build_source
from tests.pipelines.jobs import finish, start

SETTINGS = [
    "job.kind=batch",
    "source.kind=csv",
    "network.nodes=4",
    "network.graph=complete",
    "learner.ranks=3",
    "learner.gamma=0.4",
    "learner.lam=0.004",
    "learner.dimension=60",
    "learner.alpha=0",
    "exchange.rounds=60",
    'evaluation.companions=["pooled","svorim","svorex"]',
    "output.report=false",
]


def table(folder: Path) -> tuple[Path, Array, Array]:
    rng = np.random.default_rng(0)
    X = 3.0 + rng.normal(size=(120, 2)) * [1.0, 20.0]
    y = 1 + np.digitize(X[:, 0] + X[:, 1] / 20.0 + 0.5 * rng.normal(size=120), [2.3, 4.0])
    file = folder / "rows.csv"
    lines = [f"{a!r},{b!r},{rank}" for (a, b), rank in zip(X.tolist(), y.tolist(), strict=True)]
    file.write_text("a,b,y\n" + "\n".join(lines) + "\n")
    return file, X, y


def test_a_batch_job_runs_both_with_the_learners_settings(tmp_path: Path) -> None:
    file, X, y = table(tmp_path)
    finish(start(tmp_path, settings=[*SETTINGS, f'source.paths=["{file}"]']))
    final = {row["learner"]: row for row in read_lines(tmp_path / "run/scores.jsonl")}
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for name, kind in (("svorim", SVORIM), ("svorex", SVOREX)):
        solver = kind(1.0 / (0.004 * 120), gamma=0.4).fit(Z, y)
        error = float(np.abs(solver.predict(Z) - y).mean())
        assert np.isclose(final[name]["scores"]["MAE"], error, atol=1e-9), name
        assert abs(final["cooperative"]["scores"]["MAE"] - error) < 0.1


def test_a_companion_takes_what_the_learner_shares_with_it(tmp_path: Path) -> None:
    job = load_job(None, ["source.rows=", *SETTINGS, f'source.paths=["{table(tmp_path)[0]}"]'])
    plan = build_plan(job, build_source(job))
    made: Any = plan.lone["svorex"].make("svorex")
    assert isinstance(made, BASELINES["svorex"])
    assert (made.gamma, made.lam, made.kernel, made.scaling) == (
        0.4,
        0.004,
        "gaussian",
        "consensus",
    )


@pytest.mark.parametrize("name", ["svorim", "svorex"])
def test_no_companion_divides_by_a_penalty_of_0(tmp_path: Path, name: str) -> None:
    given = [*SETTINGS, f'source.paths=["{table(tmp_path)[0]}"]', "learner.lam=0"]
    with pytest.raises(ConfigurationError, match=f'learner.lam is 0.*"{name}".*above 0'):
        load_job(None, ["source.rows=", *given, f'evaluation.companions=["{name}"]'])
