"""Mistakes in texts, sparse records and columns, and what a job makes of good ones."""

import re
from pathlib import Path
from typing import Any

import pytest

from anabranch.errors import ConfigurationError
from pipelines.config import build_job, build_stream, describe_section, from_json, load_job, to_json
from pipelines.config.baselines import baselines
from pipelines.config.sparse import DENSE_MOST, dense_only, sparse_rows
from pipelines.records import record_format, record_settings
from pipelines.sources import build_source
from tests.config.conftest import Tables
from tests.config.test_mistakes import changed

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("y,title,body,n\n1,a,good film,n00\n", encoding="utf-8")
    (tmp_path / "rows.tsv").write_text("1\ta\tgood film\tn00\n", encoding="utf-8")
    (tmp_path / "rows.svm").write_text("1 1:0.5\n2 3:1\n", encoding="utf-8")
    (tmp_path / "rows.jsonl").write_text('{"indices": [3], "values": [0.5], "y": 1}\n')
    return tmp_path


NETWORK: dict[str, Any] = {"network": {"nodes": 4}}
TEXT: Tables = {
    "source": {"kind": "csv", "paths": ["rows.csv"], "text": ["title", "body"]},
    "learner": {"kind": "npsvor", "ranks": 3},
    **NETWORK,
}
TABS: Tables = {
    "source": {
        "kind": "csv", "paths": ["rows.tsv"], "text": ["body"], "header": False,
        "separator": "\t", "columns": ["y", "title", "body", "n"],
    },
    "learner": {"kind": "npsvor", "ranks": 3},
    **NETWORK,
}  # fmt: skip
SVM: Tables = {
    "source": {"kind": "svmlight", "paths": ["rows.svm"], "sparse_width": 20_000},
    "learner": {"kind": "npsvor", "ranks": 3},
    **NETWORK,
}
PAIRS: Tables = {
    "source": {"kind": "jsonl", "paths": ["rows.jsonl"], "sparse_width": 20_000},
    "learner": {"kind": "npsvor", "ranks": 3},
    **NETWORK,
}
TOPIC: Tables = {
    "source": {"kind": "kafka", "topics": ["t"], "text": ["body"], "until_end": True},
    "kafka": {"brokers": ["localhost:9092"]},
    "learner": {"kind": "npsvor", "ranks": 3},
    **NETWORK,
}
MADE: Tables = {
    "source": {"kind": "reviews", "rows": 50, "text_bits": 12},
    "learner": {"kind": "npsvor"},
    **NETWORK,
}

WRONG: list[tuple[Tables, dict[str, Any], str]] = [
    # Texts.
    (TEXT, {"source.text": ["a", "a"]}, 'source.text has "a" twice; each field must be named once'),
    (TEXT, {"source.text": ["y"]}, 'source.label has "y", which is in source.text; it must be an'),
    (TEXT, {"source.node": "field:body"}, 'source.node has "body", which is in source.text'),
    (TEXT, {"source.features": ["n"]}, 'features is ["n"], but source.text is ["title", "body"]'),
    (TEXT, {"source.text_bits": 32}, "text_bits is 32; it must be a whole number at least 1 and"),
    (TEXT, {"source.ngrams": 0}, "source.ngrams is 0; it must be a whole number at least 1"),
    (TEXT, {"source.text": [], "source.text_bits": 9}, "text_bits is 9, but source.text is empty"),
    (TEXT, {"source.kind": "arff"}, "text is [\"title\", \"body\"], but applies to csv, jsonl and"),
    (TEXT, {"source.kind": "linear", "source.paths": []}, "applies to csv, jsonl and kafka only"),
    (TEXT, {"signal.window": 5}, "signal.window is 5, but windows are cut from samples of named"),
    # Columns of csv.
    (TEXT, {"source.separator": ":"}, 'source.separator is ":"; it must be one of ",", ";", "|"'),
    (TEXT, {"source.separator": r"\t"}, "source.separator is a backslash and a t; a tab must be"),
    (TEXT, {"source.columns": ["y"]}, "but the files have a header; source.header must be false"),
    (TABS, {"source.columns": ["y", "y"]}, 'source.columns has "y" twice'),
    (TABS, {"source.text": ["note"]}, 'source.text has "note", which is not in source.columns'),
    (TABS, {"source.label": "z"}, 'source.label has "z", which is not in source.columns'),
    (TABS, {"source.node": "field:z"}, 'source.node has "z", which is not in source.columns'),
    (TABS, {"source.columns": None, "source.text": []}, "but nothing names the columns"),
    (TEXT, {"source.kind": "jsonl", "source.separator": ";"}, "applies to csv and kafka only"),
    (TEXT, {"source.kind": "jsonl", "source.header": False}, "applies to csv only; source.kind is"),
    (TOPIC, {"source.separator": ";"}, 'applies to csv only; source.format is "json"'),
    (TOPIC, {"source.header": False}, "source.header is false, but applies to csv only"),
    # svmlight.
    (SVM, {"source.sparse_width": None}, "not tell the number of features: it must be the highest"),
    (SVM, {"source.sparse_width": 0}, "sparse_width is 0; it must be a whole number at least 1"),
    (SVM, {"source.index_base": 2}, "source.index_base is 2; it must be a whole number at least 0"),
    (SVM, {"source.node": "field:n"}, "but svmlight records have no fields; it must be one of"),
    (SVM, {"source.label": "stars"}, 'applies to csv, jsonl, arff and kafka only; source.kind is'),
    (SVM, {"source.text": ["a"]}, "applies to csv, jsonl and kafka only"),
    (TEXT, {"source.index_base": 0}, "source.index_base is 0, but applies to svmlight only"),
    (TEXT, {"source.sparse_width": 5}, "applies to jsonl, svmlight and kafka only; source.kind"),
    (PAIRS, {"learner.kind": "dsvor"}, "allowed: source.sparse_width up to 10,000, or in its"),
    (SVM, {"learner.kind": "doml", "learner.ranks": 2}, "source.labels is empty"),
    # More than memory holds.
    (TEXT, {"source.text_bits": 31}, "source.text_bits is 31 and learner.ranks 3, and features"),
    (TEXT, {"learner.ranks": 10**6}, "source.text_bits up to 11, or learner.ranks up to 8,192"),
    (SVM, {"source.sparse_width": 2**31}, "source.sparse_width up to 715,827,882"),
    # What takes arrays only.
    (
        TEXT,
        {"learner.kind": "dsvor"},
        'learner.kind "dsvor" takes no sparse rows, and 262,144 columns are too many without; '
        "allowed: source.text_bits up to 13, or in its place npsvor",
    ),
    (SVM, {"learner.kind": "dsvor"}, "allowed: source.sparse_width up to 10,000, or in its place"),
    (MADE, {"learner.kind": "dsvor", "source.text_bits": 14}, "16,384 columns are too many"),
    (MADE, {"learner.ranks": 3}, "learner.ranks is 3; source.kind \"reviews\" has labels up to 5"),
    (MADE, {"source.node": "field:n"}, "generated samples have no fields"),
]  # fmt: skip


@pytest.mark.parametrize(("tables", "changes", "message"), WRONG)
def test_a_mistake_is_told_in_a_sentence(
    tables: Tables, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)) as caught:
        build_job(changed(tables, changes))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("tables", [TEXT, TABS, SVM, PAIRS, TOPIC, MADE])
def test_a_good_job_is_the_same_after_a_round_trip(tables: Tables) -> None:
    job = build_job(tables)
    assert from_json(to_json(job)) == job
    assert sparse_rows(job)
    wanted = 20_000 if tables in (SVM, PAIRS) else 4096 if tables is MADE else 1 << 18
    assert job.source.columns_in_all == wanted
    if job.source.kind != "kafka":
        source = build_source(job)
        assert (source.features, source.width) == ((), wanted)


def test_the_record_format_has_what_the_job_says() -> None:
    job = build_job(changed(TABS, {"source.text_bits": 10, "source.ngrams": 3}))
    form = record_format(job)
    assert (form.separator, form.header, form.columns) == ("\t", False, ("y", "title", "body", "n"))
    assert (form.text, form.hasher.bits, form.hasher.ngrams, form.sparse) == (
        ("body",),
        10,
        3,
        True,
    )
    settings = record_settings(job)
    assert settings is not None
    assert (settings["text"], settings["text_bits"]) == (("body",), 10)
    made = record_settings(build_job(MADE))
    assert made is not None
    assert (made["text"], made["text_bits"]) == (("text",), 12)
    other = changed(TEXT, {"source.text": [], "learner.kind": "dsvor", "source.label": "n"})
    assert record_settings(build_job(other)) is None


def test_few_columns_become_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    bits = DENSE_MOST.bit_length() - 1
    assert 2**bits <= DENSE_MOST < 2 ** (bits + 1)
    job = build_job(changed(TEXT, {"learner.kind": "dsvor", "source.text_bits": bits}))
    assert not sparse_rows(job)
    assert dense_only(job) is not None
    name = "river-logistic-one-vs-rest"
    monkeypatch.setattr(baselines()[name], "sparse", False, raising=False)
    companions = {"evaluation.companions": ["pooled", name], "source.text_bits": 8}
    assert not record_format(build_job(changed(TEXT, companions))).sparse
    with pytest.raises(ConfigurationError, match=f'companions "{name}" takes no sparse rows, and'):
        build_job(changed(TEXT, {**companions, "source.text_bits": 18}))
    messages = changed(TOPIC, {"source.text": [], "source.sparse_width": 10**6})
    messages["learner"] = {"kind": "dsvor", "ranks": 3}
    assert not sparse_rows(build_job(messages))


def test_names_that_no_file_has_are_told_when_it_is_opened() -> None:
    job = build_job(changed(TEXT, {"source.text": ["bdy"]}))
    with pytest.raises(ConfigurationError, match=r"source\.text names 'bdy', which the header of"):
        build_source(job)


def test_files_and_generators_are_known_by_their_names(folder: Path) -> None:
    sets = ["learner.kind=npsvor", "learner.ranks=3", "source.sparse_width=9"]
    job = load_job(None, sets, source="rows.svm")
    assert (job.source.kind, job.source.paths) == ("svmlight", ("rows.svm",))
    assert load_job(None, ["learner.kind=npsvor"], source="reviews").learner.ranks == 5


def test_every_key_is_described() -> None:
    keys = {key.name: key for key in describe_section("source")}
    for name in ("text", "text_bits", "ngrams", "separator", "header", "index_base", "columns"):
        assert len(keys[f"source.{name}"].meaning) > 20
    assert "svmlight" in keys["source.kind"].allowed
    assert keys["source.text_bits"].allowed == "a whole number at least 1 and at most 31"


def test_the_example_is_a_job() -> None:
    job = load_job(ROOT / "examples/text.toml")
    stream = build_stream(job.source)
    X, y = stream.block(0, 50)
    assert (job.learner.kind, X.shape, set(y.tolist())) == (
        "npsvor",
        (50, 1 << 16),
        {1, 2, 3, 4, 5},
    )
