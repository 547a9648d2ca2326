"""Jobs that are right: defaults, derived defaults, round trips."""

from pathlib import Path
from typing import Any

import pytest

from anabranch.errors import ConfigurationError
from pipelines.config import (
    Duration,
    build_job,
    build_stream,
    build_weights,
    describe_learner,
    from_json,
    load_job,
    to_json,
)
from pipelines.config.decode import SECTIONS, encode
from pipelines.config.derive import DERIVED
from pipelines.resume import changed_keys
from tests.config.conftest import Tables
from tests.conftest import ROOT


def test_every_default_is_filled(tables: Tables) -> None:
    job = build_job(tables)
    assert job.job.run_dir == "runs/job"
    assert job.output.dead_letters == str(Path("runs/job/dead_letters.jsonl"))
    assert job.source.rows_per_tick == 40
    assert job.exchange.mode == "synchronous"
    assert job.exchange.stale_after == 5.0
    assert job.learner.ranks == 3
    assert job.learner.options["alpha"] == 0.9
    assert "features" not in job.learner.options


def test_one_seed_seeds_everything(tables: Tables) -> None:
    job = build_job({**tables, "job": {"seed": 11}})
    seeds = (job.source.seed, job.network.seed, job.learner.options["seed"])
    assert seeds == (11, 11, 11)
    own = build_job({**tables, "job": {"seed": 11}, "network": {"nodes": 4, "seed": 3}})
    assert (own.network.seed, own.source.seed) == (3, 11)


def test_ticks_give_ten_rows_a_node_over_all_partitions(tables: Tables, tmp_path: Path) -> None:
    for number in range(8):
        (tmp_path / f"part{number}.csv").write_text("x,y\n1,1\n", encoding="utf-8")
    tables["source"]["paths"] = [str(tmp_path / "part*.csv")]
    job = build_job(tables)
    assert [Path(path).name for path in job.source.paths] == [f"part{i}.csv" for i in range(8)]
    assert job.source.rows_per_tick == 5


def test_endless_sources_are_asynchronous(tables: Tables) -> None:
    tables["source"]["follow"] = True
    assert build_job(tables).exchange.mode == "asynchronous"
    tables["exchange"] = {"mode": "synchronous"}
    assert build_job(tables).exchange.mode == "synchronous"


def test_generators_know_their_ranks() -> None:
    endless = build_job({"source": {"kind": "linear"}})
    assert endless.learner.ranks >= 3
    assert endless.exchange.mode == "asynchronous"
    assert build_job({"source": {"kind": "linear", "rows": 9}}).exchange.mode == "synchronous"


def test_generators_take_their_options() -> None:
    wide = build_job({"source": {"kind": "wide", "width": 31, "noise": 0.0}})
    assert build_stream(wide.source).features == 31
    drift = {"kind": "drifting", "drift": "gradual", "drift_every": 50, "drift_over": 9}
    stream: Any = build_stream(build_job({"source": drift}).source)
    assert (stream.period, stream.ramp, stream.shift) == (50, 9, 0.8)


def test_an_edge_list_names_the_nodes(tables: Tables, tmp_path: Path) -> None:
    edges = tmp_path / "edges.txt"
    edges.write_text("south north\nsouth east\n", encoding="utf-8")
    tables["network"] = {"edges": str(edges)}
    job = build_job(tables)
    assert job.network.graph == "edges"
    assert job.network.names == ("east", "north", "south")
    assert build_weights(job.network).graph.edges == (("east", "south"), ("north", "south"))


def test_a_batch_job_takes_the_batch_form_of_its_learner(tables: Tables) -> None:
    tables["job"] = {"kind": "batch"}
    assert build_job(tables).learner.kind == "dsvor-batch"


def test_json_round_trips(tables: Tables) -> None:
    tables["recovery"] = {"dir": "state", "snapshot_every": "1500ms"}
    tables["evaluation"] = {"companions": ["local", "pooled"]}
    job = build_job(tables)
    again = from_json(to_json(job))
    assert again == job
    assert isinstance(again.recovery.snapshot_every, Duration)
    assert encode(job)["learner"]["kernel"] == "gaussian"
    assert build_job(encode(job)) == job


def test_a_job_json_can_be_run_again(tables: Tables, tmp_path: Path) -> None:
    job = build_job(tables)
    (tmp_path / "job.json").write_text(to_json(job), encoding="utf-8")
    assert load_job(tmp_path / "job.json") == job


def test_a_job_file_with_settings(tmp_path: Path, data: Path) -> None:
    path = tmp_path / "job.toml"
    path.write_text(
        f"""
        [job]
        name = "trial"
        [source]
        kind = "csv"
        paths = ['{data}']
        [learner]
        ranks = 3
        kernel = "linear"
        """,
        encoding="utf-8",
    )
    job = load_job(path, ["network.nodes=6", "learner.kernel=gaussian", "learner.alpha=1"])
    assert (job.job.name, len(job.network.names)) == ("trial", 6)
    assert (job.learner.options["kernel"], job.learner.options["alpha"]) == ("gaussian", 1.0)


def test_the_default_job_is_the_synthetic_network() -> None:
    job = load_job()
    assert (job.source.kind, job.learner.kind) == ("nonlinear", "dsvor")
    assert len(job.network.names) == 20
    assert job.evaluation.companions == ("local", "pooled")
    assert job.source.bounded


def test_a_source_given_by_path_replaces_the_default_one(data: Path) -> None:
    job = load_job(None, ["learner.ranks=3"], source=str(data))
    assert (job.source.kind, job.source.paths, job.source.rows) == ("csv", (str(data),), None)
    assert load_job(None, source="drifting").source.kind == "drifting"
    with pytest.raises(ConfigurationError, match=r"--source is 'data\.parquet'; it must be"):
        load_job(None, source="data.parquet")


def test_time_in_the_run_directory(tables: Tables) -> None:
    tables["job"] = {"name": "a", "run_dir": "out/{name}-{time}"}
    name = Path(build_job(tables).job.run_dir).name
    assert name.startswith("a-2")
    assert len(name) == len("a-20260101-000000")


def test_a_job_is_called_like_its_file(tmp_path: Path) -> None:
    path = tmp_path / "bearings.toml"
    path.write_text('[source]\nkind = "linear"\n', encoding="utf-8")
    job = load_job(path, ["recovery.dir=state/{name}"])
    assert (job.job.name, job.job.run_dir) == ("bearings", "runs/bearings")
    assert job.recovery.dir == "state/bearings"
    assert load_job(path, ["job.name=other"]).job.name == "other"
    inside = load_job(path, ["recovery.dir={run_dir}/state"])
    assert inside.recovery.dir == "runs/bearings/state"


def test_a_meaning_on_one_line_is_described() -> None:
    class OneLine:
        """A learner.

        Parameters
        ----------
        step : share of the way to the new value
        size : int
        seed : int, optional
            Of the draws.
        """

        def __init__(self, step: float = 0.5, size: int = 3, seed: int = 0) -> None: ...

    keys = {key.name: key.meaning for key in describe_learner("one", {"one": OneLine})}
    assert keys == {
        "learner.step": "share of the way to the new value",
        "learner.size": "",
        "learner.seed": "Of the draws.",
    }


def test_derived_defaults_are_keys() -> None:
    keys: set[str] = set()
    for section, shape in SECTIONS.items():
        struct: Any = shape
        keys |= {f"{section}.{key}" for key in struct.__struct_fields__}
    assert set(DERIVED) <= keys


def test_the_quickstart_is_the_default_job() -> None:
    quickstart, default = load_job(ROOT / "examples/quickstart.toml"), load_job()
    assert changed_keys(quickstart, default) == {}


def test_the_job_in_the_readme_is_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("temperature,load,site,wear\n", encoding="utf-8")
    (tmp_path / "sites.txt").write_text("north south\n", encoding="utf-8")
    text = (ROOT / "README.md").read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    (tmp_path / "job.toml").write_text(text, encoding="utf-8")
    job = load_job(tmp_path / "job.toml")
    assert job.network.names == ("north", "south")


def test_the_python_in_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    names: dict[str, Any] = {}
    exec(compile(text, "README.md", "exec"), names)
    assert len(names["ranks"]) == 3
    assert names["run"].rounds == 502
