"""`anabranch reproduce ordinal`: sets found and missing, values on terminal, page and JSON."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from anabranch.errors import ConfigurationError
from anabranch.reproduce.ordinal_data import score
from anabranch.reproduce.ordinal_methods import METHODS, missing
from anabranch.reproduce.ordinal_paper import KNOWN
from pipelines.cli.app import app
from pipelines.ordinal_sets import find_sets, read_holdouts

USED = [method for method in METHODS if method.package not in missing()]


def call(*words: object) -> Result:
    return CliRunner().invoke(app, ["reproduce", "ordinal", *map(str, words)])


def write_set(folder: Path, name: str, rows: int = 60, holdouts: int = 2) -> None:
    """Write a set of three ranks that follow its first field, and its holdouts."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(rows, 2)).round(3)
    y = 1 + np.digitize(X[:, 0] + 0.4 * rng.normal(size=rows), [-0.5, 0.5])
    lines = ["x1,x2,y", *(f"{a},{b},{rank}" for (a, b), rank in zip(X, y, strict=True))]
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    tested = [",".join(map(str, range(15 * k, 15 * k + 15))) for k in range(holdouts)]
    (folder / f"{name}.splits.csv").write_text("\n".join(tested) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("sets")
    write_set(at, "toy")
    write_set(at, "SWD", holdouts=5)
    return at


@pytest.fixture(scope="module")
def made(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, str, Any]:
    """Output, page and JSON of a run over one holdout of two sets, a third one missing."""
    out = tmp_path_factory.mktemp("ordinal") / "page.html"
    sets = ("--only", "toy", "--only", "swd", "--only", "ERA")
    result = call("--data", folder, "--seeds", 1, *sets, "--out", out)
    page = out.read_text(encoding="utf-8")
    return result, page, json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))


def test_sets_are_read_as_they_were_written(folder: Path) -> None:
    found = find_sets(folder, ("toy", "ERA"))
    assert found.missing == {"ERA": "ERA.csv"}
    first, second = found.holdouts["toy"]()
    assert first.ranks == 3
    assert first.X.shape == (45, 2)
    assert len(second.truth) == 15
    raw = np.loadtxt(folder / "toy.csv", delimiter=",", skiprows=1)
    assert np.array_equal(first.truth, raw[:15, 2])
    assert np.array_equal(second.y, np.delete(raw, np.s_[15:30], axis=0)[:, 2])
    assert len(find_sets(folder, ["SWD"], 3).holdouts["SWD"]()) == 3


def test_a_missing_set_is_said_and_left_out(made: tuple[Result, str, Any]) -> None:
    result, page, values = made
    assert result.exit_code == 0, result.output
    assert "ERA is left out: ERA.csv is not in" in result.stderr
    assert "left out, since not there: ERA" in page
    assert values["sets"] == {"run": ["toy", "SWD"], "missing": {"ERA": "ERA.csv"}}


def test_page_and_numbers_have_all_columns(made: tuple[Result, str, Any]) -> None:
    result, page, values = made
    tables = {table["key"]: table for table in values["tables"]}
    assert list(tables) == [
        "error",
        "accuracy",
        "macro",
        "kappa",
        "gate",
        "known",
        "troubles",
        "sets",
    ]
    headings = ["set", *(method.heading for method in USED)]
    for key in ("error", "accuracy", "macro", "kappa"):
        assert tables[key]["columns"] == headings
        assert [row[0] for row in tables[key]["rows"]] == ["toy", "SWD", "mean rank"]
        places = [float(cell) for cell in tables[key]["rows"][-1][1:]]
        assert sum(places) == pytest.approx(len(USED) * (len(USED) + 1) / 2)
    assert all(f"<span>{table['caption']}" in page for table in values["tables"])
    assert not re.search(r'<(script|link|img)[^>]+(src|href)="(?!data:)', page)
    assert "Mean ranks over 2 of 2 sets" in result.stdout


def test_scores_are_those_of_the_models(made: tuple[Result, str, Any], folder: Path) -> None:
    kept = {(one["set"], one["model"]): one["holdouts"] for one in made[2]["scores"]}
    holdouts = find_sets(folder, ["toy"], 1).holdouts["toy"]()
    svorim = next(method for method in METHODS if method.key == "svorim")
    for number, split in enumerate(holdouts):
        (predicted,), _ = svorim.run(split, number)
        assert kept["toy", "svorim"][number] == pytest.approx(score(split.truth, predicted, 3))
    known = [row for table in made[2]["tables"] if table["key"] == "known" for row in table["rows"]]
    ours = next(row for row in known if row[:2] == ["toy", "SVORIM"])
    assert ours[2] == KNOWN["toy"].svorim
    assert ours[3] == pytest.approx(np.mean(kept["toy", "svorim"], axis=0)[0])
    assert ours[4] == pytest.approx(ours[3] - ours[2])


def test_wrong_use_is_refused(folder: Path, tmp_path: Path) -> None:
    for words in ((), ("--data", "/nowhere"), ("--data", tmp_path)):
        result = call(*words)
        assert result.exit_code == 2
        assert "NAME.splits.csv" in result.stderr
    unknown = call("--data", folder, "--only", "toys")
    assert unknown.exit_code == 2
    assert "did you mean 'toy'" in unknown.stderr
    broken = tmp_path / "toy.csv"
    broken.write_text("x,y\n1,one\n")
    (tmp_path / "toy.splits.csv").write_text("0\n")
    with pytest.raises(ConfigurationError, match=r"toy\.csv"):
        read_holdouts(broken, tmp_path / "toy.splits.csv")
