"""`anabranch reproduce doml`: sets found and missing, values on terminal, page and JSON."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from anabranch.reproduce.doml import Extent
from pipelines.cli.app import app
from pipelines.label_sets import read_sets

LABELS = ("calm", "sad", "angry")
FIELDS = 4


def call(*words: object) -> Result:
    return CliRunner().invoke(app, ["reproduce", "doml", *map(str, words)])


def arff(rows: int, seed: int, *, sparse: bool = False) -> str:
    """Give a file of rows whose labels follow their fields."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, FIELDS)).round(3)
    y = (X[:, : len(LABELS)] + 0.3 * rng.normal(size=(rows, len(LABELS))) > 0.2).astype(int)
    lines = ["@relation r", *(f"@attribute f{i} numeric" for i in range(FIELDS))]
    lines += [f"@attribute {label} {{0,1}}" for label in LABELS] + ["@data"]
    for row in np.column_stack([X, y]):
        pairs = ", ".join(f"{i} {value:g}" for i, value in enumerate(row) if value)
        lines.append(f"{{{pairs}}}" if sparse else ",".join(f"{value:g}" for value in row))
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Emotions as packed files, scene as sparse ones, CAL500 as one; the others are missing."""
    at = tmp_path_factory.mktemp("sets")
    names = "".join(f'<label name="{label}"></label>' for label in LABELS)
    for name in ("emotions", "scene", "cal500"):
        (at / f"{name}.xml").write_text(f"<labels>{names}</labels>")
    for i, part in enumerate(("train", "test")):
        (at / f"emotions-{part}.arff.gz").write_bytes(gzip.compress(arff(40, i).encode()))
        (at / f"scene-{part}-sparse.arff").write_text(arff(30, i, sparse=True))
    (at / "cal500.arff").write_text(arff(402, 3))
    return at


@pytest.fixture(scope="module")
def made(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, str, Any]:
    """Output, page and JSON of a run over two small sets and one that is missing."""
    out = tmp_path_factory.mktemp("doml") / "page.html"
    words = ("--data", folder, "--quick", "--out", out)
    sets = ("--only", "emotions", "--only", "SCENE", "--only", "enron")
    with pytest.MonkeyPatch.context() as patch:
        small = Extent(1, (4, 100), 20, ("ring",), (1,))
        patch.setattr(Extent, "quick", classmethod(lambda cls: small))
        result = call(*words, *sets)
    page = out.read_text(encoding="utf-8")
    return result, page, json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))


def test_sets_are_found_by_their_usual_names(folder: Path) -> None:
    found = read_sets(folder, ("CAL500", "emotions", "scene", "yeast", "Corel5k"))
    shapes = {name: (len(split.X), *split.truth.shape) for name, split in found.splits.items()}
    assert shapes == {"CAL500": (400, 2, 3), "emotions": (40, 40, 3), "scene": (30, 30, 3)}
    assert found.missing == {"yeast": "yeast.xml", "Corel5k": "Corel5k.xml"}


def test_a_missing_set_is_said_and_left_out(made: tuple[Result, str, Any]) -> None:
    result, page, values = made
    assert result.exit_code == 0, result.output
    assert "enron is left out: enron.xml is not in" in result.stderr
    assert "left out, since not there: enron" in page
    assert values["sets"] == {"run": ["emotions", "scene"], "missing": {"enron": "enron.xml"}}


def test_terminal_page_and_numbers_have_the_same_tables(made: tuple[Result, str, Any]) -> None:
    result, page, values = made
    keys = [table["key"] for table in values["tables"]]
    assert keys == [
        "knn", "tables 3 and 4", "nodes", "practical", "class-sorted scene", "graphs", "delay",
        "loss", "bytes",
    ]  # fmt: skip
    for table in values["tables"]:
        assert len({len(row) for row in table["rows"]} | {len(table["columns"])}) == 1
        assert f"<span>{table['caption']}</span>" in page
    assert "Tables 3 and 4" in result.stdout
    assert not re.search(r'<(script|link|img)[^>]+(src|href)="(?!data:)', page)


def test_the_papers_values_stand_beside_ours(made: tuple[Result, str, Any]) -> None:
    tables = {table["key"]: table for table in made[2]["tables"]}
    literal = tables["tables 3 and 4"]
    assert literal["columns"][2:4] == ["paper: Hamming loss", "ours: Hamming loss"]
    emotions = literal["rows"][0]
    assert emotions[:3] == ["emotions", "literal", 0.2851]
    assert 0.0 < emotions[3] < 0.5
    assert "0.2851" in made[1]
    assert all(note in made[1] for note in ("sample 0 again", "cannot be matched"))


def test_without_data_a_sentence_says_where_it_is() -> None:
    for words in ((), ("--data", "/nowhere")):
        result = call(*words)
        assert result.exit_code == 2
        assert "github.com/tsoumakas/mulan" in result.stderr


def test_wrong_use_is_refused(folder: Path, tmp_path: Path) -> None:
    unknown = call("--data", folder, "--only", "emotion")
    assert unknown.exit_code == 2
    assert "emotions" in unknown.stderr
    empty = call("--data", tmp_path)
    assert empty.exit_code == 2
    assert "none of emotions" in empty.stderr
    seeds = call("--data", folder, "--seeds", 3)
    assert seeds.exit_code == 2
    assert "--seeds" in seeds.stderr
    other = CliRunner().invoke(app, ["reproduce", "elastic-net", "--quick"])
    assert other.exit_code == 2
    assert "--quick" in other.stderr
