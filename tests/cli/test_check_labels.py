"""`anabranch check` and `describe` tell of labels."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.test_command_line import call

JOB = """
[source]
kind = "{kind}"
paths = ["rows.{kind}"]
{source}
[network]
nodes = 3
graph = "ring"
[learner]
kind = "doml"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    names = [f"l{i}" for i in range(8)]
    rows = ["x1,x2," + ",".join(names), "1,2," + ",".join("01010101")]
    (tmp_path / "rows.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "rows.jsonl").write_text('{"x1": 1, "x2": 2, "y": ["l0"]}\n', encoding="utf-8")
    columns = f"labels = {json.dumps(names)}"
    (tmp_path / "columns.toml").write_text(JOB.format(kind="csv", source=columns))
    (tmp_path / "lists.toml").write_text(JOB.format(kind="jsonl", source="label_list = true"))
    return tmp_path


def facts(*words: str) -> dict[str, str]:
    result = call("check", *words)
    assert result.exit_code == 0, result.output
    return {line[:20].strip(): line[20:] for line in result.stdout.splitlines()}


@pytest.mark.usefixtures("folder")
def test_check_names_the_labels_and_counts_them_in_the_traffic() -> None:
    told = facts("columns.toml")
    assert told["learner"] == "doml"
    assert told["labels"] == "8: l0, l1, l2, l3, l4, l5, ..."
    assert told["features"] == "2"
    traffic = re.fullmatch(r"at most ([\d,]+) \(6 messages of ([\d,]+)\)", told["bytes a round"])
    assert traffic
    P = 3 * 8 * 8  # two features and the bias, eight labels, eight bytes
    assert 2 * P <= int(traffic[2].replace(",", "")) < 2 * P + 300


@pytest.mark.usefixtures("folder")
def test_check_says_what_becomes_of_new_labels() -> None:
    assert facts("lists.toml")["labels"] == "none known yet; new ones are taken up"
    assert facts("lists.toml")["bytes a round"].endswith("more with every new label")
    known = ("--set", 'source.labels=["l0"]')
    assert facts("lists.toml", *known)["labels"] == "1: l0; records with new ones are refused"
    ignored = (*known, "--set", "source.new_labels=ignore")
    assert facts("lists.toml", *ignored)["labels"] == "1: l0; new ones are ignored"


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_label_that_no_field_holds_is_refused_at_once(folder: Path, command: str) -> None:
    result = call(command, "columns.toml", "--set", 'source.labels=["l0","l9"]')
    assert result.exit_code == 2
    assert "'l9'" in result.stderr
    assert not (folder / "runs").exists()


def test_describe_tells_of_labels_and_not_as_an_option() -> None:
    assert (
        "source.labels: a whole number at least 1, or a list" in call("describe", "source").output
    )
    output = call("describe", "learner", "doml").output
    assert "learner.cache: " in output
    assert "learner.labels: " not in output
