"""Sets of labels and baselines on the page."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.report.labels import EACH
from tests.report.test_page import Page, report

MakeRun = Callable[..., Path]
HOSTILE = "</td><script>alert(1)</script>"


def labelled(run: Path, names: list[str], *, per_label: bool = False) -> Path:
    """Give a run scores of labels, the first the most frequent, and a baseline beside it."""
    lines = [json.loads(line) for line in (run / "scores.jsonl").read_text().splitlines()]
    lines += [line | {"learner": "mlknn"} for line in lines if line["learner"] == "pooled"]
    last = max(line["round"] for line in lines)
    for line in lines:
        if line["node"] is None and line["round"] == last:
            line["labels"] = scores(names, 0.1 if line["learner"] == "mlknn" else 0.0)
    (run / "scores.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    job = json.loads((run / "job.json").read_text())
    job["evaluation"] |= {"per_label": per_label}
    (run / "job.json").write_text(json.dumps(job))
    return run


def scores(names: list[str], more: float) -> dict[str, Any]:
    return {
        name: {"precision": 0.5, "recall": 0.25, "f1": i / len(names) + more, "support": 900 - i}
        for i, name in enumerate(names)
    }


def labels_table(page: Page) -> list[list[str]]:
    return next(table for table in page.tables if table[0][0] == "Label")


@pytest.mark.parametrize("per_label", [False, True])
def test_labels_are_listed_with_their_companions(
    tmp_path: Path, make_run: MakeRun, per_label: bool
) -> None:
    names = [f"l{i:02d}" for i in range(2 * EACH + 5)]
    run = make_run(tmp_path / "r", nodes=2, rounds=3)
    page = report(tmp_path, labelled(run, names, per_label=per_label))
    table = labels_table(page)
    assert table[0][:5] == ["Label", "Samples with it", "Precision", "Recall", "F1"]
    assert table[0][5:] == ["F1, Local-only", "F1, Pooled", "F1, mlknn"]
    assert table[1] == ["l00", "900", "0.5000", "0.2500", *["0.0000"] * 3, "0.1000"]
    # The worst of the less frequent ones are the next ones: F1 grows with the number.
    assert [row[0] for row in table[1:]] == (names if per_label else names[: 2 * EACH])
    assert ("Of 25 labels 20 are listed" in page.text) != per_label


def test_few_labels_are_all_listed_and_none_is_run(tmp_path: Path, make_run: MakeRun) -> None:
    run = labelled(make_run(tmp_path / "r", nodes=2, rounds=3), ["calm", HOSTILE])
    page = report(tmp_path, run)
    assert [row[0] for row in labels_table(page)[1:]] == ["calm", HOSTILE]
    assert page.count("script") == 3
    assert "are listed" not in page.text


def test_runs_without_labels_have_no_such_section(tmp_path: Path, make_run: MakeRun) -> None:
    page = report(tmp_path, make_run(tmp_path / "r", nodes=2, rounds=3))
    assert not [table for table in page.tables if table[0][0] == "Label"]


def test_a_baseline_stands_beside_the_companions(tmp_path: Path, make_run: MakeRun) -> None:
    run = labelled(make_run(tmp_path / "r", nodes=3, rounds=4), ["calm"])
    page = report(tmp_path, run)
    assert [row[0] for row in page.tables[0][1:]][1:5] == [
        "Cooperative", "Local-only", "Pooled", "mlknn"
    ]  # fmt: skip
    chart = next(spec for spec in page.charts if spec["target"] == "chart-metric")
    assert len(chart["switched"]) == 5  # and all nodes as one glyph
    assert set(chart["inks"].values()) >= {"--pooled", "--baseline-0"}
    css = (tmp_path / "deep" / "report.html").read_text(encoding="utf-8")
    assert css.count("--baseline-0:") == 2  # by day and by night
    assert " by mlknn" in page.text


def test_baselines_are_compared_between_runs(tmp_path: Path, make_run: MakeRun) -> None:
    one = labelled(make_run(tmp_path / "a", nodes=2, rounds=3), ["calm"])
    other = make_run(tmp_path / "b", nodes=2, rounds=3)
    head, *rows = report(tmp_path, one, other).tables[0]
    at = head.index("MAE mlknn")
    assert rows[0][at] == rows[0][head.index("MAE pooled")]
    assert rows[1][at] == "\N{EN DASH}"
