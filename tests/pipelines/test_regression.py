"""A regression job from a file, in both of the elastic net's shapes."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet
from sklearn.preprocessing import StandardScaler

from anabranch import load
from anabranch.errors import ConfigurationError
from pipelines.config import build_job
from pipelines.report.measures import measures_part
from pipelines.report.runs import read_run
from pipelines.run_dir import RunDirectory
from tests.pipelines.jobs import arrays, finish, models, reference, start

ROWS = 4000


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(4)
    X = rng.normal([5.0, -1.0, 0.0], [2.0, 0.1, 30.0], size=(ROWS, 3))
    y = X @ [1.5, -20.0, 0.0] + 7.0 + rng.normal(0, 0.5, ROWS)
    path = tmp_path_factory.mktemp("regression") / "data.csv"
    lines = (",".join(map(repr, [*x, t])) for x, t in zip(X.tolist(), y.tolist(), strict=True))
    path.write_text("a,b,c,y\n" + "\n".join(lines) + "\n")
    return path


def settings(file: Path, shape: str) -> list[str]:
    graph = {"server": "star", "graph": "ring"}[shape]
    return [
        "source.kind=csv",
        f'source.paths=["{file}"]',
        "source.rows_per_tick=40",
        "network.nodes=5",
        f"network.graph={graph}",
        "network.degree=",
        "learner.kind=elastic-net",
        f"learner.shape={shape}",
        "exchange.final_rounds=60",
        "evaluation.companions=[]",
        "evaluation.window=200",
        "output.report=false",
    ]


@pytest.mark.parametrize("shape", ["server", "graph"])
def test_every_node_ends_near_the_optimum_of_all_rows(
    tmp_path: Path, file: Path, shape: str
) -> None:
    finish(start(tmp_path, settings=settings(file, shape)))
    table = np.loadtxt(file, delimiter=",", skiprows=1)
    X, y = table[:, :3], table[:, 3]
    scaler = StandardScaler().fit(X)
    best = ElasticNet(alpha=0.02, l1_ratio=0.5).fit(scaler.transform(X), (y - y.mean()) / y.std())
    wanted = best.predict(scaler.transform(X)) * y.std() + y.mean()
    for model in (tmp_path / "run/models").glob("*.npz"):
        assert np.abs(load(model).predict(X) - wanted).max() < 0.05 * y.std()
    row = RunDirectory(tmp_path / "run").final_rows()["cooperative"]
    assert row["samples"] == ROWS
    # Over the whole stream stand the errors of predictions before anything was learned.
    assert row["window"]["RMSE"] < 0.6
    assert row["window"]["AdjustedR2"] < row["window"]["R2"] < 1
    told = row["measures"]
    assert set(told) == {"objective", "gap", "primal", "dual", "loss"}
    assert 0.0 <= told["gap"]["max"] < 0.01
    assert told["objective"]["max"] == pytest.approx(optimum(scaler.transform(X), y), rel=0.1)
    assert RunDirectory(tmp_path / "run").read_summary()["final"]["cooperative"]["measures"] == told
    (status,) = RunDirectory(tmp_path / "run").read_statuses()
    assert status["measures"]["gap"]["nodes"] == 1
    assert status["measures"]["primal"]["nodes"] == 5
    html, charts = measures_part(read_run(tmp_path / "run"))
    assert len(charts) == 5
    assert "Duality gap" in html


def optimum(X: np.ndarray, y: np.ndarray) -> float:
    """The least objective on z-scores."""
    v = (y - y.mean()) / y.std()
    best = ElasticNet(alpha=0.02, l1_ratio=0.5).fit(X, v)
    w = best.coef_
    error = best.predict(X) - v
    return float(0.5 * np.mean(error**2) + 0.01 * np.abs(w).sum() + 0.005 * w @ w)


def test_two_processes_give_what_the_loop_gives(tmp_path: Path, file: Path) -> None:
    job = settings(file, "server")
    finish(start(tmp_path, "--processes", "2", settings=job))
    run = reference(build(job))
    assert models(tmp_path) == {n: arrays(learner.model()) for n, learner in run.learners.items()}


def build(job: list[str]) -> object:
    from tests.pipelines.jobs import resolved

    return resolved(["source.rows=", *job])


def test_a_server_needs_a_star(file: Path) -> None:
    tables = {
        "source": {"kind": "csv", "paths": [str(file)]},
        "network": {"nodes": 5, "graph": "ring"},
        "learner": {"kind": "elastic-net"},
    }
    with pytest.raises(ConfigurationError, match=r'"server", which needs a star, but .* is "ring"'):
        build_job(tables)
