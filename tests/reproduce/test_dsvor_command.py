"""`anabranch reproduce dsvor`: parts, bearings found and missing, terminal, page and JSON."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from anabranch.reproduce import dsvor_bearings, dsvor_experiments
from anabranch.reproduce.bearings import KINDS, PAPER, BearingRow
from anabranch.reproduce.bearings_data import Split, split_case
from anabranch.reproduce.dsvor import PARTS, Extent
from anabranch.reproduce.dsvor_experiments import (
    BEARING_SPARSITY,
    EXPERIMENTS,
    Experiment,
    perform,
    runs_of,
)
from anabranch.reproduce.dsvor_findings import findings
from anabranch.reproduce.dsvor_run import Setting, run
from pipelines.bearing_files import FEATURES, read_bearings
from pipelines.cli.app import app

ROUNDS, SEEDS = 50, 2


def call(*words: object) -> Result:
    return CliRunner().invoke(app, ["reproduce", "dsvor", *map(str, words)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Features of one recording with four levels; the others are missing."""
    at = tmp_path_factory.mktemp("bearings")
    rng = np.random.default_rng(3)
    lines = [f"level,segment,start,{','.join(FEATURES)}"]
    for level in range(1, 5):
        for i in range(310):
            values = rng.normal(level, 0.4, len(FEATURES)).round(4)
            lines.append(f"{level},{i},{2400 * i},{','.join(map(str, values))}")
    (at / "feat_IR_0.csv").write_text("\n".join(lines) + "\n")
    return at


def lesser(whole: Experiment) -> Experiment:
    """Give the same with few random features."""
    small = {label: replace(one, dimension=20) for label, one in whole.settings.items()}
    return replace(whole, settings=small)


def made_up(files: Any, cases: Sequence[str], split: Split, seeds: int) -> Iterator[BearingRow]:
    """Give rows without learning anything."""
    for case in cases:
        split_case(case, files, split)
        scores = {kind: np.full(seeds, 0.9 - 0.05 * i) for i, kind in enumerate(KINDS)}
        yield BearingRow(case, split, scores, scores)


@pytest.fixture(scope="module")
def made(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, str, Any]:
    """Output, page and JSON of few rounds; most experiments have few features."""
    out = tmp_path_factory.mktemp("dsvor") / "page.html"
    small = Extent(PARTS, SEEDS, ROUNDS, ("IR 0", "B 0"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Extent, "quick", classmethod(lambda cls, parts, seeds: small))
        for name, experiment in EXPERIMENTS.items():
            if name != "rounds":
                patch.setitem(EXPERIMENTS, name, lesser(experiment))  # type: ignore[arg-type]
        patch.setattr(dsvor_bearings, "BEARING_SPARSITY", lesser(BEARING_SPARSITY))
        patch.setattr(dsvor_bearings, "bearings", made_up)
        result = call("--data", folder, "--quick", "--out", out)
    page = out.read_text(encoding="utf-8")
    return result, page, json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))


def test_all_parts_are_told_everywhere(made: tuple[Result, str, Any]) -> None:
    result, page, values = made
    assert result.exit_code == 0, result.output
    keys = [table["key"] for table in values["tables"]]
    assert keys == [
        "findings",
        *EXPERIMENTS,
        "bearings random",
        "bearings time",
        "bearing sparsity",
    ]
    for table in values["tables"]:
        assert len({len(row) for row in table["rows"]} | {len(table["columns"])}) == 1
        assert f"<span>{escape(table['caption'])}" in page
    targets = set(re.findall(r'class="chart" id="(.*?)"', page))
    assert targets == {"chart-rounds-linear", "chart-rounds-nonlinear", "chart-nodes"} | {
        "chart-dimension", "chart-alpha"
    }  # fmt: skip
    assert not re.search(r'<(script|link|img)[^>]+(src|href)="(?!data:)', page)
    assert "bearings without feat_B_0.csv" in result.stderr


def test_findings_tell_where_values_differ() -> None:
    def piece(ours: Sequence[float]) -> dict[str, Any]:
        return {"accuracy": {kind: [one] * 3 for kind, one in zip(KINDS, ours, strict=True)}}

    table = findings({"bearings random B 2": piece((0.826, 0.9, 0.82))})
    assert [row[1] for row in table.rows] == list(PAPER["B 2"])
    assert [row[-1] == "no" for row in table.rows] == [True, False, True]
    assert [row[3] for row in table.rows] == pytest.approx([0.0, 0.318, 0.002])


def test_a_split_that_leaks_is_labelled(made: tuple[Result, str, Any]) -> None:
    tables = {table["key"]: table for table in made[2]["tables"]}
    assert "leaks" in tables["bearings random"]["caption"]
    assert any("leaks" in note for note in tables["bearings random"]["notes"])
    assert "without a leak" in tables["bearings time"]["caption"]
    assert tables["bearings random"]["rows"][0][:4] == ["IR 0", 0.885, 0.747, 0.884]
    assert tables["bearings time"]["rows"][0][1:4] == [None, None, None]


def test_known_values_stand_beside_ours(made: tuple[Result, str, Any]) -> None:
    rows = {table["key"]: table["rows"] for table in made[2]["tables"]}["rounds"]
    local = next(row for row in rows if row[:2] == ["set 2, nonlinear", "local-only"])
    mean = float(local[2].split()[0])
    assert local[3] == 0.803
    assert local[4] == pytest.approx(mean - 0.803, abs=1e-3)


def test_an_experiment_scores_each_seed_after_each_of_the_rounds() -> None:
    setting = Setting(rounds=(10, 40, 2000), dimension=20)
    found = perform(Experiment({"a": setting}), seeds=2, most=50)
    assert found["rounds"] == {"a": [10, 40]}
    (again, _) = run(Setting(rounds=(10, 40), dimension=20), seed=1)
    assert runs_of(found, "a", 10)[1] == again


def test_the_even_ring_of_the_paper_is_no_better_than_chance() -> None:
    ring = dsvor_experiments.EXPERIMENTS["readings"].settings
    wrong = run(ring["ring, 1/max, literal order"], seed=0)[-1]
    right = run(ring["ring"], seed=0)[-1]
    assert wrong.accuracy < 0.35 < 0.85 < right.accuracy


def test_the_path_of_the_paper_is_slow() -> None:
    path = dsvor_experiments.EXPERIMENTS["readings"].settings["path, 1/max, literal order"]
    early, late = run(replace(path, rounds=(500, 1000)), seed=0)
    assert early.accuracy < 0.6 < 0.75 < late.accuracy


def test_wrong_use_is_refused(folder: Path, tmp_path: Path) -> None:
    unknown = call("--only", "round")
    assert unknown.exit_code == 2
    assert "did you mean 'rounds'" in unknown.stderr
    assert call("--data", "/nowhere", "--only", "bearings").exit_code == 2
    (tmp_path / "feat_IR_0.csv").write_text("level,start\n1,2\n")
    broken = call("--data", tmp_path, "--only", "bearings")
    assert broken.exit_code == 2
    assert "pe_imf1" in broken.stderr
    assert read_bearings(folder, ["feat_IR_0.csv", "feat_B_0.csv"]).keys() == {"feat_IR_0.csv"}
