"""Mistakes in labels, rounds a tick and companions, and the defaults of jobs without any."""

import copy
from pathlib import Path
from typing import Any

import pytest

from anabranch.errors import ConfigurationError
from pipelines.config import (
    build_job,
    build_stream,
    describe_section,
    from_json,
    load_job,
    to_json,
)
from pipelines.config.baselines import baselines
from pipelines.records import record_format
from tests.config.conftest import Tables
from tests.config.test_mistakes import changed

XML = """<?xml version="1.0"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="calm"></label><label name="sad"></label>
</labels>
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("x1,x2,calm,sad\n1,2,0,1\n", encoding="utf-8")
    (tmp_path / "rows.jsonl").write_text('{"x1": 1, "y": ["sad"]}\n', encoding="utf-8")
    (tmp_path / "labels.xml").write_text(XML, encoding="utf-8")
    (tmp_path / "labels.txt").write_text("calm\nsad\n", encoding="utf-8")
    (tmp_path / "rows.arff").write_text(
        "@relation r\n@attribute x1 numeric\n@attribute calm {0,1}\n@attribute sad {0,1}\n"
        "@data\n1,0,1\n",
        encoding="utf-8",
    )
    return tmp_path


COLUMNS: Tables = {
    "source": {"kind": "csv", "paths": ["rows.csv"], "labels": ["calm", "sad"]},
    "network": {"nodes": 4},
    "learner": {"kind": "doml"},
}
LISTS: Tables = {
    "source": {"kind": "csv", "paths": ["rows.csv"], "label": "moods", "label_list": True},
    "network": {"nodes": 4},
    "learner": {"kind": "doml"},
}
MADE: Tables = {
    "source": {"kind": "labelled", "width": 5, "rows": 50},
    "network": {"nodes": 4},
    "learner": {"kind": "doml"},
}
RANKED: Tables = {
    "source": {"kind": "linear", "rows": 50},
    "network": {"nodes": 4},
    "learner": {"kind": "dsvor"},
}

WRONG = [
    # A learner of sets of labels must be told where they are.
    (COLUMNS, {"source.labels": []}, 'source.labels is empty, but learner.kind "doml" learns sets'),
    (COLUMNS, {"source.kind": "arff", "source.labels": []}, "or source.label_xml a file that does"),
    (COLUMNS, {"source.labels": 2}, 'the labels of "csv" have names; it must be a list of them'),
    (COLUMNS, {"source.labels": ["sad", "sad"]}, 'source.labels has "sad" twice'),
    (COLUMNS, {"source.labels": ["sad", ""]}, 'source.labels has ""; it must be a list of names'),
    (COLUMNS, {"source.labels": "sad"}, 'source.labels is "sad"; it must be a whole number at'),
    (COLUMNS, {"source.label": "sad"}, 'source.label is "sad", but source.labels names the labels'),
    (COLUMNS, {"source.features": ["x1", "sad"]}, 'source.features has "sad", which is in source'),
    (COLUMNS, {"source.node": "field:sad"}, 'source.node has "sad", which is in source.labels'),
    (COLUMNS, {"learner.ranks": 4}, 'learner.ranks is 4, but learner.kind "doml" learns sets of'),
    (COLUMNS, {"learner.labels": 4}, "the key learner.labels is unknown; it is source.labels"),
    (COLUMNS, {"source.label_xml": "no.xml"}, 'label_xml is "no.xml"; there must be a file of'),
    (COLUMNS, {"source.label_xml": "labels.txt"}, "labels.txt"),
    (COLUMNS, {"source.label_xml": "labels.xml", "source.labels": ["sad"]}, "which names others"),
    # Other learners must not be.
    (COLUMNS, {"learner.kind": "elastic-net"}, 'learner.kind "elastic-net" learns numbers; leave'),
    (COLUMNS, {"learner.kind": "dsvor", "learner.ranks": 3}, "learns ranks; leave it out"),
    (LISTS, {"learner.kind": "elastic-net"}, "source.label_list is true, but learner.kind"),
    # Lists of names.
    (
        COLUMNS,
        {"source.new_labels": "grow"},
        'new_labels is "grow", but source.label_list is false',
    ),
    (COLUMNS, {"source.label_separator": "|"}, 'is "|", but source.label_list is false'),
    (LISTS, {"source.label_separator": ""}, 'label_separator is ""; it must be one or more'),
    (LISTS, {"source.new_labels": "refuse"}, 'there would be no label at all; it must be "grow"'),
    (LISTS, {"source.new_labels": "ignore"}, 'new_labels is "ignore", but source.labels is empty'),
    (LISTS, {"source.max_labels": 0}, "max_labels is 0; it must be a whole number at least 1"),
    (COLUMNS, {"source.max_labels": 9}, 'max_labels is 9, but source.new_labels is "refuse"'),
    (LISTS, {"source.new_labels": "add"}, "it must be one of grow, ignore, refuse"),
    (
        LISTS,
        {"source.kind": "arff"},
        "label_list is true, but applies to csv, jsonl and kafka only",
    ),
    (LISTS, {"source.node": "field:moods"}, 'source.node names the label, "moods"'),
    (LISTS, {"source.features": ["moods"]}, 'source.features has "moods", which is source.label'),
    (
        LISTS,
        {"source.kind": "jsonl", "source.paths": ["rows.jsonl"], "source.label_separator": ","},
        "applies to csv only; elsewhere a list of labels is an array",
    ),
    # Generators.
    (MADE, {"source.kind": "wide"}, 'have ranks, but learner.kind "doml" learns sets of labels'),
    (
        MADE,
        {"learner.kind": "dsvor"},
        'samples have sets of labels, but learner.kind "dsvor" learns',
    ),
    (MADE, {"source.label_list": True}, "applies to csv, jsonl and kafka only"),
    (MADE, {"source.label_xml": "labels.xml"}, "applies to csv, jsonl, arff and kafka only"),
    (MADE, {"source.labels": 0}, "source.labels is 0; it must be a whole number at least 1"),
    (RANKED, {"source.labels": ["a"]}, 'but learner.kind "dsvor" learns ranks; leave it out'),
    (RANKED, {"source.labels": 3}, 'source.labels is 3, but learner.kind "dsvor" learns ranks'),
    # Rounds a tick.
    (MADE, {"exchange.rounds_per_tick": 5, "job.kind": "batch"}, "set exchange.rounds instead"),
    # Batch jobs predict nothing before they learn it, so no threshold can be learned.
    (MADE, {"job.kind": "batch"}, "a batch job makes none; it must be one of linear, mlknn"),
    (
        MADE,
        {"job.kind": "batch", "learner.predictor": "per-label", "learner.literal": True},
        'learner.predictor is "per-label", a threshold learned',
    ),
    # Companions.
    (MADE, {"evaluation.companions": ["poled"]}, "has \"poled\"; did you mean 'pooled'"),
    (MADE, {"evaluation.companions": ["river-binary"]}, "did you mean 'river-binary-relevance'"),
    (
        MADE,
        {"evaluation.companions": ["river-binary-relevance", "river-binary-relevance"]},
        "it must name each companion once",
    ),
    (
        RANKED,
        {"evaluation.companions": ["river-binary-relevance"]},
        '"river-binary-relevance", a baseline of sets of labels, but',
    ),
    (RANKED, {"evaluation.companions": ["nothing"]}, "allowed: local, pooled"),
    (RANKED, {"evaluation.companions": ["svorim"]}, 'job.kind must be "batch" with it'),
    (
        RANKED,
        {"job.kind": "batch", "learner.kernel": "cauchy", "evaluation.companions": ["svorex"]},
        'learner.kernel is "cauchy", which "svorex" in evaluation.companions does not know',
    ),
    (
        MADE,
        {
            "evaluation.companions": ["river-binary-relevance"],
            "network.nodes": ["river-binary-relevance", "b", "c", "d", "e"],
        },
        'network.nodes has "river-binary-relevance", the companion\'s name',
    ),
]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("base", "changes", "message"), WRONG)
def test_a_mistake_in_labels_is_told_in_a_sentence(
    base: Tables, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        build_job(changed(base, changes))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("folder")
def test_labels_come_from_mulans_file() -> None:
    tables = changed(COLUMNS, {"source.labels": [], "source.label_xml": "labels.xml"})
    job = build_job(tables)
    assert job.source.labels == ("calm", "sad")
    assert from_json(to_json(job)) == job
    assert build_job({**tables, "source": {**tables["source"], "labels": ["calm", "sad"]}}) == job
    arff = {"source.kind": "arff", "source.paths": ["rows.arff"]}
    assert build_job(changed(tables, arff)).source.label_names == ("calm", "sad")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("known", "given", "policy"),
    [([], None, "grow"), (["sad"], None, "refuse"), (["sad"], "grow", "grow")],
)
def test_new_labels_are_taken_up_where_none_is_known(
    known: list[str], given: str | None, policy: str
) -> None:
    tables = copy.deepcopy(LISTS)
    tables["source"] |= {"labels": known} | ({"new_labels": given} if given else {})
    job = build_job(tables)
    assert (job.source.new_labels, job.source.label_names) == (policy, tuple(known))


@pytest.mark.usefixtures("folder")
def test_the_bound_of_new_labels_is_the_records() -> None:
    form = record_format(build_job(changed(LISTS, {"source.max_labels": 3})))
    assert (form.new_labels, form.max_labels) == ("grow", 3)


def test_the_labelled_generator_says_how_many_labels_there_are() -> None:
    assert build_job(MADE).source.label_names == ("y1", "y2", "y3", "y4", "y5", "y6")
    job = build_job(changed(MADE, {"source.labels": 2}))
    X, y = build_stream(job.source).block(0, 4)
    assert (X.shape, y.shape) == ((4, 5), (4, 2))
    assert from_json(to_json(job)) == job
    named = build_job(changed(MADE, {"source.labels": ["a", "b", "c"]}))
    assert named.source.label_names == ("a", "b", "c")
    assert build_stream(named.source).block(0, 1)[1].shape == (1, 3)


def test_a_feature_may_be_called_as_the_label_is_by_default(folder: Path) -> None:
    (folder / "rows.csv").write_text("y,calm,sad\n1,0,1\n", encoding="utf-8")
    assert build_job(changed(COLUMNS, {"source.features": ["y"]})).source.features == ("y",)


def test_rounds_a_tick_and_baselines_are_taken() -> None:
    settings = ["learner.kind=doml", "exchange.rounds_per_tick=5", "source.rows=60"]
    settings += ['evaluation.companions=["local","river-binary-relevance","mlknn","pooled"]']
    job = load_job(None, settings, source="labelled")
    assert job.exchange.rounds_per_tick == 5
    assert job.evaluation.companions == ("local", "river-binary-relevance", "mlknn", "pooled")


def test_every_baseline_is_described() -> None:
    (key,) = [k for k in describe_section("evaluation") if k.name == "evaluation.companions"]
    assert all(name in key.meaning for name in baselines())


@pytest.mark.parametrize("option", [{"predictor": "linear"}, {"literal": True}])
def test_a_batch_job_may_have_a_fixed_threshold(option: dict[str, Any]) -> None:
    tables = changed(MADE, {"job.kind": "batch"})
    learner = {"kind": "doml", "cache": 0, **option}
    assert build_job({**tables, "learner": learner}).job.kind == "batch"
    with pytest.raises(
        ConfigurationError, match=r"learner\.cache is 500, but a batch job fits all"
    ):
        build_job({**tables, "learner": learner | {"cache": 500}})


def test_a_tick_is_a_row_a_node_and_the_warm_up_is_as_many_samples() -> None:
    """However many rounds a tick has; what the job states stands."""
    job = build_job(changed(MADE, {"network.nodes": 7, "exchange.rounds_per_tick": 5}))
    assert job.source.rows_per_tick == 7
    assert job.learner.options["warm_up"] == 100
    stated = changed(MADE, {"exchange.rounds_per_tick": 5, "learner.warm_up": 30})
    assert build_job(stated).learner.options["warm_up"] == 30
