"""`run --from`: nodes begin with saved models, and which models those are."""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from anabranch import load, save
from anabranch.errors import ConfigurationError
from anabranch.learners import make
from anabranch.synthetic import nonlinear
from pipelines.cli.app import app
from pipelines.config import Job
from pipelines.run_dir import RunDirectory
from pipelines.sources import build_source
from pipelines.start_models import StartModels, find_start_models
from tests.pipelines.jobs import (
    arrays,
    finish,
    kill,
    models,
    read_job,
    reference,
    resolved,
    round_of,
    start,
    wait_for,
    workers,
)

SETTINGS = [
    "source.kind=nonlinear",
    "source.rows=1200",
    "source.rows_per_tick=6",
    'network.nodes=["ann/1", "bo", "cy"]',
    "network.graph=complete",
    "learner.kernel=linear",
    "evaluation.companions=[]",
    "exchange.rounds_per_tick=3",
    "recovery.snapshot_every=100ms",
    "output.report=false",
]
FILES = {"ann/1": "ann%2F1.npz", "bo": "bo.npz", "cy": "cy.npz", "pooled": "pooled.npz"}


def put(folder: Path, *nodes: str, kind: str = "dsvor", features: int = 2, ranks: int = 4) -> Path:
    """Write models of nodes that have learned something each, if it is the job's own learner."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"x{number}" for number in range(1, features + 1)]
    own = {"kernel": "linear"} if kind == "dsvor" else {}
    for number, node in enumerate(nodes):
        learner = make(kind, features, ranks, names=names, **own)
        X, y = nonlinear(seed=number).block(0, 50)
        if features == 2 and ranks == 4:
            learner.learn(X, y)
            learner.combine(0, {}, {})
        save(learner, folder / FILES[node])
    return folder


def find(folder: Path, *more: str) -> StartModels:
    job = resolved([*SETTINGS, *more])
    return find_start_models(job, build_source(job), folder)


def test_nodes_go_on_from_their_models_whatever_happens(tmp_path: Path) -> None:
    given = put(tmp_path / "given", "ann/1", "bo", "cy")
    running = start(tmp_path, "--from", str(given), settings=SETTINGS)
    wait_for(lambda: round_of(tmp_path) >= 60)
    shutil.rmtree(given)
    kill(list(workers(tmp_path).values()))
    finish(running)  # it restarts by itself
    truth = reference(read_job(tmp_path))
    assert models(tmp_path) == {
        FILES[node].removesuffix(".npz"): arrays(learner.model())
        for node, learner in truth.learners.items()
    }
    (tmp_path / "run/start" / FILES["bo"]).unlink()
    cold = reference(read_job(tmp_path)).learners["bo"]
    assert arrays(cold.model()) != arrays(truth.learners["bo"].model())


def test_each_node_has_its_own_model_and_the_rest_the_pooled_one(tmp_path: Path) -> None:
    found = find(put(tmp_path, "bo", "pooled"), 'evaluation.companions=["pooled"]')
    assert found.files == {
        "ann/1": tmp_path / "pooled.npz",
        "bo": tmp_path / "bo.npz",
        "cy": tmp_path / "pooled.npz",
        "pooled": tmp_path / "pooled.npz",
    }
    assert found.notices == (
        f"ann/1, cy: no model of their own, started from {tmp_path / 'pooled.npz'}",
    )


def test_of_several_models_none_is_anybodys(tmp_path: Path) -> None:
    found = find(put(tmp_path, "ann/1", "bo"), 'evaluation.companions=["pooled"]')
    assert set(found.files) == {"ann/1", "bo"}
    assert found.notices == ("cy, pooled: no model, started from nothing",)
    alone = find(put(tmp_path / "alone", "bo"))
    assert {node: path.name for node, path in alone.files.items()} == dict.fromkeys(
        ("ann/1", "bo", "cy"), "bo.npz"
    )


def test_moments_of_samples_are_not_counted_several_times(tmp_path: Path) -> None:
    (tmp_path / "numbers.csv").write_text("x1,x2,y\n1,2,3\n")
    put(tmp_path, "bo", "pooled", kind="elastic-net", ranks=0)
    job = resolved(
        [
            "source.kind=csv",
            "source.rows=",
            f'source.paths=["{tmp_path / "numbers.csv"}"]',
            "source.label=y",
            "learner.kind=elastic-net",
            'network.nodes=["ann/1", "bo", "cy"]',
            "network.graph=star",
            "evaluation.companions=[]",
        ]
    )
    found = find_start_models(job, build_source(job), tmp_path)
    assert set(found.files) == {"bo"}
    assert found.notices == ("ann/1, cy: no model, started from nothing",)


def test_the_directory_of_a_run_will_do(tmp_path: Path) -> None:
    put(tmp_path / "models", "ann/1", "bo")
    put(tmp_path / "companions", "pooled")
    found = find(tmp_path)
    assert found.files["ann/1"] == tmp_path / "models/ann%2F1.npz"
    assert found.files["cy"] == tmp_path / "companions/pooled.npz"


def test_models_may_be_those_of_the_run_that_is_replaced(tmp_path: Path) -> None:
    job: Job = resolved([*SETTINGS, f"job.run_dir={tmp_path / 'run'}"])
    run = RunDirectory.of(job)
    run.prepare(job)
    put(run.models, "ann/1", "bo", "cy")
    before = {node: arrays(load(run.models / FILES[node]).model()) for node in ("ann/1", "cy")}
    found = find_start_models(job, build_source(job), run.path)
    run.prepare(job, overwrite=True, start=found.stage(run))
    assert not list(run.models.iterdir())
    assert {path.name for path in run.start.iterdir()} == {FILES[n] for n in ("ann/1", "bo", "cy")}
    assert not list(run.path.glob(".start-*"))
    for node, known in before.items():
        assert arrays(load(run.start / FILES[node]).model()) == known
    run.prepare(job, overwrite=True)
    assert not list(run.start.iterdir())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"ranks": 5}, r"bo\.npz: the model has ranks = 5, and the learner has 4"),
        ({"features": 3}, r"bo\.npz: the model has features = 3, and the learner has 2"),
        ({"kind": "npsvor"}, r"bo\.npz: the model is of kind 'npsvor', and the learner of 'dsvor'"),
    ],
)
def test_a_model_of_something_else_is_refused(
    tmp_path: Path, options: dict[str, int], told: str
) -> None:
    put(tmp_path, "ann/1", "cy")
    put(tmp_path, "bo", **options)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=f"--from cannot be used: .*{told}"):
        find(tmp_path)


def test_what_is_no_model_or_nobodys_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="holds no models; allowed: a folder of"):
        find(tmp_path)
    (tmp_path / "bo.npz").write_bytes(b"no model")
    with pytest.raises(ConfigurationError, match=r"cannot be used: .*bo\.npz is no model file"):
        find(tmp_path)
    put(tmp_path / "others", "bo", "cy")
    for name in ("bo", "cy"):
        (tmp_path / f"others/{name}.npz").rename(tmp_path / f"others/x-{name}.npz")
    with pytest.raises(ConfigurationError, match=r"of no node of this job \(ann/1, bo, cy\)"):
        find(tmp_path / "others")


def test_models_and_snapshots_exclude_each_other(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["run", "--resume", "--from", str(tmp_path)])
    assert result.exit_code == 2
    assert "--from starts from models and --resume continues from a snapshot" in result.output
