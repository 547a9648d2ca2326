"""`anabranch reproduce npsvor`: sets found and missing, values on terminal, page and JSON."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from anabranch.errors import ConfigurationError
from anabranch.reproduce import npsvor
from anabranch.reproduce.npsvor import Extent
from anabranch.reproduce.npsvor_methods import METHODS
from anabranch.reproduce.npsvor_traces import SOLVERS
from pipelines.cli.app import app
from pipelines.text_sets import FILES, find_text_sets

RANKS = 5


def call(*words: object) -> Result:
    return CliRunner().invoke(app, ["reproduce", "npsvor", *map(str, words)])


def texts(rows: int) -> str:
    """Lines whose words follow their label: 1 to 5, an author, the text."""
    rng = np.random.default_rng(1)
    lines = []
    for i in range(rows):
        label = i % RANKS
        near = np.clip(label * 4 + rng.integers(-4, 8, 12), 0, 23)
        lines.append(f"{label + 1}\tany\t{' '.join(f'word{word}x' for word in near)}")
    return "\n".join(lines) + "\n"


def svmlight(rows: int, seed: int) -> str:
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(rows):
        label = i % RANKS
        values = {int(j) for j in np.clip(label * 4 + rng.integers(-2, 6, 6), 0, 23)}
        lines.append(f"{label + 1} " + " ".join(f"{j + 1}:0.5" for j in sorted(values)))
    return "\n".join(lines) + "\n"


def pack(path: Path, content: str) -> None:
    path.write_bytes(gzip.compress(content.encode()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Treebank as rows, moviereview as text; the others are missing."""
    at = tmp_path_factory.mktemp("texts")
    for seed, name in enumerate(FILES["treebank"]):
        pack(at / name, svmlight(100 - 50 * seed, seed))
    pack(at / FILES["moviereview"][0], texts(150))
    return at


@pytest.fixture(scope="module")
def made(folder: Path) -> tuple[Result, Path]:
    out = folder / "new" / "page.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Extent, "quick", lambda self: Extent(self.seeds, (0.5, 2.0), 2))
        result = call("--data", folder, "--quick", "--seeds", 2, "--out", out)
    return result, out


def values(out: Path) -> Any:
    return json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))


def test_the_terminal_has_every_table(made: tuple[Result, Path]) -> None:
    result, out = made
    assert result.exit_code == 0, result.stderr
    assert f"report: {out}" in result.stdout
    assert "treebank, L1-SVC" in result.stderr
    for told in ("Table 2", "Mean ranks", "expected", "TRON, warm start", *METHODS):
        assert told in result.stdout


def test_the_page_has_sections_charts_and_asks_for_nothing(made: tuple[Result, Path]) -> None:
    page = made[1].read_text(encoding="utf-8")
    for title in ("Errors", "Objective against time", "Times", "Error against C", "How it was run"):
        assert f"<h2>{title}</h2>" in page
    found = re.search(r'<script id="charts" type="application/json">(.*?)</script>', page, re.S)
    assert found
    specs = {spec["target"]: spec for spec in json.loads(found[1])}
    assert set(specs) == {f"chart-{kind}-{i}" for kind in ("fall", "cost") for i in range(2)}
    assert all(f'id="{target}"' in page for target in specs)
    assert len(specs["chart-fall-0"]["inks"]) == len(SOLVERS)
    assert len(specs["chart-cost-1"]["inks"]) == 4
    assert not re.search(r'<(script|link|img)[^>]+(src|href)="(?!data:)', page)


def test_the_numbers_hold_what_the_charts_show(made: tuple[Result, Path]) -> None:
    found = values(made[1])
    assert found["sets"] == {"run": ["treebank", "moviereview"], "missing": {}}
    assert found["sizes"]["treebank"]["share"] is None
    splits = {(one["set"], one["method"]): one["splits"] for one in found["runs"]}
    assert {len(splits["treebank", method]) for method in METHODS} == {1}
    assert {len(splits["moviereview", method]) for method in METHODS} == {2}
    assert all(run["absolute"] < 1.2 for runs in splits.values() for run in runs)
    assert set(found["traces"]["moviereview"]["solvers"]) == set(SOLVERS)
    assert {"errors", "ranks", "agreement", "times", "solvers", "chosen", "spans", "sets"} == {
        table["key"] for table in found["tables"]
    }


def test_a_second_run_takes_what_the_first_has_found(
    made: tuple[Result, Path], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = values(made[1])
    monkeypatch.setattr(Extent, "quick", lambda self: Extent(self.seeds, (0.5, 2.0), 2))
    for name in ("searched", "fitted", "traced"):
        monkeypatch.setattr(npsvor, name, None)
    monkeypatch.setattr("pipelines.text_sets.prepared", None)
    words = ("--sets", "moviereview,treebank", "--quick", "--seeds", 2, "--out", made[1])
    again = call("--data", folder, *words)
    assert again.exit_code == 0, again.stderr
    assert values(made[1]) == before


def test_kept_rows_that_are_damaged_are_made_again(folder: Path, tmp_path: Path) -> None:
    read = find_text_sets(folder, ["moviereview"], tmp_path).sets["moviereview"]
    first = read()
    (kept,) = tmp_path.glob("*.npz")
    kept.write_bytes(kept.read_bytes()[:100])
    assert (read().X != first.X).nnz == 0
    assert (read().X != first.X).nnz == 0


def test_sets_that_are_not_there_are_named(folder: Path, tmp_path: Path) -> None:
    found = find_text_sets(folder, ["semeval", "treebank"], tmp_path)
    assert list(found.sets) == ["treebank"]
    assert found.missing == {"semeval": "semeval_tweets5.tsv.gz"}
    none = call("--data", folder, "--sets", "semeval", "--out", tmp_path / "page.html")
    assert none.exit_code == 2
    assert "has none of semeval" in none.stderr


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"no gzip", "allowed: gzip"),
        (gzip.compress(b"1\t\xff\n", mtime=0), "allowed: UTF-8"),
        (gzip.compress(b"good\tno label\n", mtime=0), "line 1, has no label"),
    ],
    ids=["no gzip", "no text", "no label"],
)
def test_damaged_files_are_named(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / FILES["amazon4"][0]).write_bytes(content)
    read = find_text_sets(tmp_path, ["amazon4"], tmp_path).sets["amazon4"]
    with pytest.raises(ConfigurationError, match=told):
        read()


def test_rows_that_are_not_svmlight_are_named(tmp_path: Path) -> None:
    for name in FILES["treebank"]:
        pack(tmp_path / name, "1 nothing\n")
    read = find_text_sets(tmp_path, ["treebank"], tmp_path).sets["treebank"]
    with pytest.raises(ConfigurationError, match="no svmlight file"):
        read()


def test_wrong_use_is_refused(folder: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "page.html")
    for words, told in (
        ((), "--data is missing"),
        (("--data", folder / "none"), "which is no folder"),
        (("--data", folder, "--sets", "treebanks"), "treebank"),
    ):
        refused = call(*words, *out)
        assert refused.exit_code == 2
        assert told in refused.stderr
