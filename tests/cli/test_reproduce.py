"""`anabranch reproduce elastic-net`: values on the terminal and in the page, exit codes."""

import json
import re
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from anabranch.reproduce import elastic_net
from pipelines.cli.app import app


def call(*words: object) -> Result:
    return CliRunner().invoke(app, ["reproduce", *map(str, words)])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, str]:
    """Output and page; the sweeps' longest runs, of thousands of rounds, are left out."""
    out = tmp_path_factory.mktemp("reproduce") / "new" / "page.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elastic_net, "NODES", (5, 20))
        patch.setattr(elastic_net, "RHO", (0.05, 1.0))
        patch.setattr(elastic_net, "PENALTIES", (0.0, 0.5))
        result = call("elastic-net", "--seeds", 2, "--out", out)
    return result, out.read_text(encoding="utf-8")


def cells(page: str, caption: str) -> list[list[str]]:
    """Give the body of the table with this caption, as texts."""
    found = re.search(rf"<caption><span>{re.escape(caption)}.*?<tbody>(.*?)</tbody>", page)
    assert found, caption
    rows = re.findall(r"<tr>(.*?)</tr>", found[1])
    return [
        [unescape(re.sub("<.*?>", "", c)) for c in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for row in rows
    ]


def specs(page: str) -> Mapping[str, Any]:
    found = re.search(r'<script id="charts" type="application/json">(.*?)</script>', page, re.S)
    assert found
    return {spec["target"]: spec for spec in json.loads(found[1])}


def test_the_terminal_tells_it_all(made: tuple[Result, str]) -> None:
    result, _ = made
    assert result.exit_code == 0
    assert "report: " in result.stdout
    for word in ("227", ".998307", "nodes varied", "rho varied", "u1 varied", "u2 varied"):
        assert word in result.stdout


def test_the_page_has_the_statements_and_our_values(made: tuple[Result, str]) -> None:
    rows = {row[0]: row[1:] for row in cells(made[1], "N = 20, rho = 1")}
    paper, ours, _ = rows["synthetic: RMSE"]
    low, high = map(float, ours.split(" to "))
    assert paper == ".03987"
    assert 0.036 <= low <= high <= 0.046
    stop = rows["synthetic, N = 20: round at which the residuals are below 1e-2 and 1e-4"]
    assert stop[0] == "227"
    assert all(150 <= int(number) <= 213 for number in re.findall(r"\d+", stop[1]))
    assert "generator is not printed" in stop[2]
    assert any(row[2] == "not reproduced, with either n" for row in rows.values())


def test_the_page_has_the_sweeps(made: tuple[Result, str]) -> None:
    nodes = cells(made[1], "Number of nodes N")
    assert [row[0] for row in nodes] == ["5", "20"]
    assert [int(row[2]) for row in nodes] == pytest.approx([51, 191], rel=0.05)
    rho = cells(made[1], "Penalty rho")
    assert [int(row[2]) for row in rho] == pytest.approx([15, 191], rel=0.15)
    for caption in ("Weight u1", "Weight u2"):
        light, heavy = (float(row[3]) for row in cells(made[1], caption))
        assert light < heavy


def test_the_page_has_nodes_alone(made: tuple[Result, str]) -> None:
    rows = cells(made[1], "Synthetic sets")
    assert [int(row[0]) for row in rows] == [20, 40, 60, 80]
    assert [float(row[1]) for row in rows] == pytest.approx([0.040] * 4, abs=0.003)
    assert [float(row[2]) for row in rows] == pytest.approx([0.054, 0.078, 0.122, 0.202], rel=0.15)
    (patients,) = cells(made[1], "Diabetes")
    assert patients[0] == "15"
    assert float(patients[1]) < float(patients[2])
    assert float(patients[5]) < 0.0


def test_the_page_has_its_curves_and_asks_for_nothing(made: tuple[Result, str]) -> None:
    page, charts = made[1], specs(made[1])
    curves = {"chart-objective", "chart-gap", "chart-rmse", "chart-adjusted", "chart-alone"}
    assert set(charts) == curves | {f"chart-residuals-{i}" for i in range(3)}
    assert all(f'id="{target}"' in page for target in charts)
    assert len(charts["chart-objective"]["inks"]) == 3
    assert not re.search(r'<(script|link|img)[^>]+(src|href)="(?!data:)', page)


def test_wrong_use_is_refused_before_anything_runs(tmp_path: Path) -> None:
    unknown = call("elastic-nets")
    assert unknown.exit_code == 2
    assert "elastic-net" in unknown.stderr
    assert call("elastic-net", "--seeds", 0).exit_code == 2
    folder = call("elastic-net", "--out", tmp_path)
    assert folder.exit_code == 2
    assert "cannot be written" in folder.stderr
