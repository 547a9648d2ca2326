"""Jobs that are wrong: one sentence each, naming key, value and what is allowed."""

import copy
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anabranch.errors import (
    ConfigurationError,
    DisconnectedGraphError,
    SelfLoopError,
    WeightsError,
)
from pipelines.config import build_job, from_json, load_job
from pipelines.config.decode import SECTIONS, decode
from tests.config.conftest import Tables

TYPES: list[tuple[str, Any, str]] = [
    ("job.name", 3, "job.name is 3; it must be text"),
    ("job.seed", -1, "job.seed is -1; it must be a whole number at least 0"),
    ("job.kind", "steam", 'job.kind is "steam"; it must be one of batch, stream'),
    ("source.kind", "cvs", 'source.kind is "cvs"; it must be one of arff, csv'),
    ("source.paths", "a.csv", 'source.paths is "a.csv"; it must be a list of texts'),
    ("source.paths", [1], r"source.paths is \[1\]; it must be a list of texts"),
    ("source.features", 3, "source.features is 3; it must be a list of texts, or none"),
    ("source.node", "robin", 'source.node is "robin"; it must be one of round-robin, hash, '),
    ("source.follow", 1, "source.follow is 1; it must be true or false"),
    ("source.split_row", -1, "source.split_row is -1; it must be a whole number at least 0"),
    ("source.rows_per_tick", 0, "rows_per_tick is 0; it must be a whole number at least 1"),
    ("source.drift", "slow", 'source.drift is "slow"; it must be one of gradual, sudden'),
    ("network.nodes", 0, "nodes is 0; it must be a whole number at least 1, or a list of texts"),
    ("network.nodes", 2.5, "network.nodes is 2.5; it must be a whole number"),
    ("network.graph", "rnig", 'network.graph is "rnig"; it must be one of .*ring'),
    ("network.degree", -1, "network.degree is -1; it must be a number above 0"),
    ("network.connectivity", 101, "must be a number above 0 and at most 100, or none"),
    ("network.weights", "equal", 'network.weights is "equal"; it must be one of laplacian'),
    ("learner.ranks", 1, "learner.ranks is 1; it must be a whole number at least 2"),
    ("exchange.every", 0, "exchange.every is 0; it must be a whole number at least 1"),
    ("exchange.mode", "sync", 'exchange.mode is "sync"; it must be one of asynchronous, '),
    ("exchange.tolerance", -0.1, "exchange.tolerance is -0.1; it must be a number at least 0"),
    ("exchange.stale_after", 5, "exchange.stale_after is 5; it must be a duration such as"),
    ("exchange.stale_after", "5", 'exchange.stale_after is "5"; it must be a duration such as'),
    ("exchange.transport", "post", 'exchange.transport is "post"; it must be one of kafka, local'),
    ("exchange.rounds_per_tick", 0, "rounds_per_tick is 0; it must be a whole number at least 1"),
    ("evaluation.companions", "local", 'companions is "local"; it must be a list of texts'),
    ("output.on_bad_input", "halt", 'on_bad_input is "halt"; it must be one of continue, stop'),
    ("recovery.snapshot_every", "1d", 'recovery.snapshot_every is "1d"; it must be a duration'),
    ("parallel.workers", 0, "parallel.workers is 0; it must be a whole number at least 1"),
    ("parallel.restarts", True, "parallel.restarts is true; it must be a whole number"),
]

UNKNOWN = [
    ("sorce", "kind", r"the section \[sorce\] is unknown; did you mean 'source'"),
    ("evaluate", "window", r"the section \[evaluate\] is unknown; did you mean 'evaluation'"),
    ("source", "path", "the key source.path is unknown; did you mean 'paths'"),
    ("network", "node", "the key network.node is unknown; did you mean 'nodes'"),
    ("learner", "gama", "the key learner.gama is unknown; did you mean 'gamma'"),
    ("learner", "features", "the key learner.features is unknown"),
    ("exchange", "evry", "the key exchange.evry is unknown; did you mean 'every'"),
    ("recovery", "snapshots", "the key recovery.snapshots is unknown"),
]

CROSS: list[tuple[dict[str, Any], str]] = [
    ({"job.name": ""}, 'job.name is ""; it must be usable as the name of a folder'),
    ({"job.name": "a/b"}, 'job.name is "a/b"; it must be usable'),
    ({"job.run_dir": "{nme}"}, "job.run_dir is .*; it may hold {name} and {time}"),
    ({"job.run_dir": "{name.x}"}, "job.run_dir is .*; it may hold {name} and {time}"),
    ({"recovery.dir": "{time}"}, "recovery.dir is .*; it may hold {name} and {run_dir}"),
    ({"source.paths": []}, "source.paths is empty; it must name one or more files"),
    ({"source.paths": ["no.csv"]}, 'paths has "no.csv"; there must be a file of that name'),
    ({"source.paths": ["no*.csv"]}, 'source.paths has "no\\*.csv", which no file matches'),
    ({"source.rows": 5}, "source.rows is 5, but applies to generators only; source.kind is"),
    ({"source.partitions": 2}, "source.partitions is 2, but applies to generators only"),
    ({"source.kind": "linear"}, "source.paths is .* applies to csv, jsonl, arff and svmlight only"),
    ({"source.width": 9}, "source.width is 9, but applies to wide and labelled only; source.kind"),
    ({"source.features": []}, "source.features is .*; it must name each feature once"),
    ({"source.features": ["a", "a"]}, "source.features is .*; it must name each feature once"),
    ({"source.features": ["x1", "y"]}, 'source.features has "y", which is source.label'),
    ({"source.node": "field:y"}, 'source.node names the label, "y"'),
    ({"source.node": "field:x1", "source.features": ["x1"]}, '"x1", which is source.node'),
    ({"source.split_row": 0}, "source.split_row is 0, but source.split names no file"),
    ({"source.split": "s.csv"}, "source.split needs source.split_row"),
    ({"source.split": "no.csv", "source.split_row": 0}, 'source.split is "no.csv"; there must be'),
    ({"source.follow": True, "source.shuffle": True}, "source.follow and source.shuffle exclude"),
    ({"source.linger": "1s"}, "files that do not grow are not waited for; it applies with source"),
    ({"source.follow": True, "job.kind": "batch"}, "source.follow must be false"),
    ({"network.nodes": ["a", "a"]}, "a"),
    ({"network.graph": "edges"}, "network.edges"),
    ({"network.edges": "no.txt"}, 'network.edges is "no.txt", which cannot be read'),
    ({"network.graph": "ring", "network.degree": 3}, "degree is 3, but applies to random graphs"),
    ({"network.graph": "ring", "network.connectivity": 9}, "connectivity is 9, but applies to"),
    ({"network.degree": 3, "network.connectivity": 80}, "degree and network.connectivity exclude"),
    ({"network.degree": 9}, "degree"),
    ({"learner.ranks": None}, "learner.ranks is none; it must be a whole number"),
    ({"learner.kind": "dsvr"}, 'learner.kind is "dsvr"; did you mean \'dsvor'),
    ({"learner.kind": "dsvor-batch"}, 'it must be "dsvor", or job.kind must be "batch"'),
    ({"learner.alpha": "much"}, 'learner.alpha is "much"; it must be a number'),
    ({"learner.cache": 1.5}, "learner.cache is 1.5; it must be a whole number"),
    ({"learner.alpha": 2.0}, "alpha"),
    ({"learner.kernel": "cubic"}, "kernel"),
    (
        {"learner.kind": "elastic-net", "exchange.policy": "event"},
        'exchange.policy is "event", but an elastic net',
    ),
    ({"exchange.stale_after": "0s"}, 'exchange.stale_after is "0s"; it must be longer than 0s'),
    ({"evaluation.companions": ["local", "local"]}, "it must name each companion once"),
    ({"output.predictions": "d", "output.dead_letters": "./d"}, "must be a place of its own"),
]


def changed(tables: Tables, changes: dict[str, Any]) -> Tables:
    tables = copy.deepcopy(tables)
    for place, value in changes.items():
        section, _, key = place.partition(".")
        tables.setdefault(section, {})[key] = value
    return tables


@pytest.mark.parametrize(("place", "value", "message"), TYPES)
def test_wrong_type_or_range(tables: Tables, place: str, value: object, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        build_job(changed(tables, {place: value}))
    assert place in str(caught.value)


@pytest.mark.parametrize(("section", "key", "message"), UNKNOWN)
def test_unknown_name(tables: Tables, section: str, key: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build_job(changed(tables, {f"{section}.{key}": 1}))


@pytest.mark.parametrize(("changes", "message"), CROSS)
def test_contradiction(tables: Tables, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        build_job(changed(tables, changes))
    assert "\n" not in str(caught.value)


def test_missing_keys(tables: Tables) -> None:
    with pytest.raises(
        ConfigurationError, match=r"source\.kind is missing; it must be one of arff"
    ):
        build_job({})
    del tables["learner"]["ranks"]
    with pytest.raises(ConfigurationError, match=r"learner\.ranks is missing"):
        build_job(tables)


def test_a_section_that_is_no_table() -> None:
    raw: dict[str, Any] = {"source": 3}
    with pytest.raises(ConfigurationError, match=r"source = 3 must be a table, \[source\]"):
        decode(raw)


def test_the_same_file_twice(tables: Tables, data: Path) -> None:
    twice = [str(data), str(data.parent / "." / ".." / data.parent.name / data.name)]
    with pytest.raises(ConfigurationError, match="twice; each file must be named once"):
        build_job(changed(tables, {"source.paths": twice}))


def test_split_rows_are_counted(tables: Tables, tmp_path: Path, data: Path) -> None:
    split = tmp_path / "splits.csv"
    split.write_text("0\n1\n", encoding="utf-8")
    change = {"source.split": str(split), "source.split_row": 2}
    with pytest.raises(ConfigurationError, match=r"split_row is 2; .* has 2 lines, so it must be"):
        build_job(changed(tables, change))
    other = tmp_path / "other.csv"
    other.write_bytes(data.read_bytes())
    change |= {"source.split_row": 1, "source.paths": [str(data), str(other)]}
    with pytest.raises(ConfigurationError, match=r"needs one file; source\.paths names 2"):
        build_job(changed(tables, change))


def test_a_packed_file_cannot_be_followed(tables: Tables, tmp_path: Path) -> None:
    packed = tmp_path / "data.csv.gz"
    packed.write_bytes(b"")
    change = {"source.paths": [str(packed)], "source.follow": True}
    with pytest.raises(ConfigurationError, match="a packed file does not grow"):
        build_job(changed(tables, change))


def test_a_batch_job_of_an_endless_generator() -> None:
    raw: Tables = {"job": {"kind": "batch"}, "source": {"kind": "linear"}}
    with pytest.raises(ConfigurationError, match=r"needs a source that ends; source\.rows must be"):
        build_job(raw)
    with pytest.raises(ConfigurationError, match=r"source\.drift is .* applies to drifting only"):
        build_job({"source": {"kind": "wide", "drift": "gradual"}})
    with pytest.raises(ConfigurationError, match=r"learner\.ranks is 3; .* labels up to 4"):
        build_job({"source": {"kind": "linear"}, "learner": {"ranks": 3}})
    with pytest.raises(ConfigurationError, match="generated samples have no fields"):
        build_job({"source": {"kind": "linear", "rows": 5, "node": "field:a"}})


def test_networks_are_checked(tables: Tables, tmp_path: Path) -> None:
    edges = tmp_path / "edges.txt"
    for text, error in (("a b\nc d\n", DisconnectedGraphError), ("a a\n", SelfLoopError)):
        edges.write_text(text, encoding="utf-8")
        tables["network"] = {"edges": str(edges)}
        with pytest.raises(error):
            build_job(tables)
    tables["network"] = {"nodes": 4, "graph": "ring", "weights": "metropolis"}
    with pytest.raises(WeightsError):
        build_job(tables)


def test_files_that_are_no_job(tmp_path: Path) -> None:
    path = tmp_path / "job.toml"
    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        load_job(path)
    path.write_text("[source\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="cannot be read: "):
        load_job(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        load_job(path)
    with pytest.raises(ConfigurationError, match="is not JSON"):
        from_json("{")


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.text(), max_size=2)
)
places = st.sampled_from(
    [(name, key) for name, shape in SECTIONS.items() for key in shape.__struct_fields__]  # type: ignore[attr-defined]
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=places, value=scalars)
def test_any_value_is_taken_or_refused_with_our_own_error(
    tables: Tables, place: tuple[str, str], value: object
) -> None:
    with suppress(ConfigurationError):
        decode(changed(tables, {".".join(place): value}))


def test_a_node_may_not_be_called_as_the_companion_is() -> None:
    with pytest.raises(ConfigurationError, match=r'network.nodes has "pooled".*any other name'):
        load_job(None, ['network.nodes=["pooled","a","b"]', "network.graph=ring"])
