"""The page draws what learners tell of themselves, round by round."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anabranch.learners import LEARNERS, make
from anabranch.protocol import Measured
from pipelines.config.measures import measures_of
from pipelines.report.measures import measures_part
from pipelines.report.runs import read_run

MakeRun = Callable[..., Path]


def tell(run: Path, told: Callable[[dict[str, Any]], Any]) -> Path:
    """Put measures into the rows of a run."""
    rows = [json.loads(line) for line in (run / "scores.jsonl").read_text().splitlines()]
    lines = (json.dumps(row | {"measures": told(row)}) + "\n" for row in rows)
    (run / "scores.jsonl").write_text("".join(lines))
    return run


def spread(largest: float, mean: float) -> dict[str, float]:
    return {"max": largest, "mean": mean}


def network_measures(row: dict[str, Any]) -> Any:
    """The objective falls to that of the pooled companion, residuals and gap towards 0."""
    k = row["round"]
    if row["node"] is not None:
        return {"primal": 2.0**-k}
    if row["learner"] == "pooled":
        return {"objective": spread(0.5, 0.5)}
    if row["learner"] != "cooperative":
        return None
    return {
        "zeal": spread(-1.0, -2.0),
        "dual": spread(4.0**-k, 4.0**-k),
        "primal": spread(2.0**-k, 2.0**-k / 2),
        "objective": spread(0.5 + 2.0**-k, 0.5 + 2.0**-k),
        "gap": spread(3.0**-k if k < 6 else 0.0, 3.0**-k),
    }


def charts_of(run: Path) -> tuple[str, dict[str, dict[str, Any]]]:
    html, charts = measures_part(read_run(run))
    return html, {chart.figure.name: chart.spec() for chart in charts}


def test_a_run_without_measures_has_no_section(tmp_path: Path, make_run: MakeRun) -> None:
    assert measures_part(read_run(make_run(tmp_path / "r", rounds=3))) == ("", [])


def test_known_measures_are_drawn_first_against_rounds(tmp_path: Path, make_run: MakeRun) -> None:
    run = tell(make_run(tmp_path / "r", nodes=3, rounds=8), network_measures)
    html, charts = charts_of(run)
    titles = ["Objective", "Duality gap", "Primal residual", "Dual residual", "Zeal"]
    assert list(charts) == titles
    places = [html.index(f'id="chart-measure-{i}"') for i in range(5)]
    assert places == sorted(places)
    item = json.dumps(charts["Primal residual"]["item"])
    assert '"axis_label": "round"' in item
    assert "LogScale" in item
    assert "LogScale" not in json.dumps(charts["Zeal"]["item"])
    pooled = charts["Objective"]["inks"].values()
    assert sorted(pooled) == ["--cooperative", "--pooled"]
    assert list(charts["Duality gap"]["inks"].values()) == ["--cooperative"]


def test_the_table_holds_the_last_values(tmp_path: Path, make_run: MakeRun) -> None:
    run = tell(make_run(tmp_path / "r", nodes=3, rounds=8), network_measures)
    html, _ = charts_of(run)
    row = '<th scope="row">Primal residual</th><td>Cooperative</td><td>0.003906</td><td>0.001953'
    assert row in html
    assert '<th scope="row">Objective</th><td>Pooled</td><td>0.500000</td>' in html
    assert '<th scope="row">Zeal</th><td>Cooperative</td><td>-1.000000</td>' in html


@pytest.mark.parametrize("kind", LEARNERS)
def test_every_measure_of_a_learner_has_a_sentence(kind: str) -> None:
    learner = make(kind, 2, 3)
    told = learner.measures() if isinstance(learner, Measured) else {}
    assert told.keys() <= measures_of(kind).keys()


def test_measures_are_explained_where_they_are_shown(tmp_path: Path, make_run: MakeRun) -> None:
    measures = {"rows_waiting": spread(3.0, 1.0), "reach": spread(0.0, 0.0), "zeal": spread(1, 1)}
    run = tell(
        make_run(tmp_path / "r", nodes=3, rounds=8),
        lambda row: measures if row["learner"] == "cooperative" and row["node"] is None else None,
    )
    html, charts = charts_of(run)
    assert list(charts) == ["Rows waiting", "Zeal"]
    waiting = "Samples that changed something and are in no message yet."
    assert f"Rows waiting, the largest of the nodes. {waiting}</figcaption>" in html
    assert "Zeal, the largest of the nodes.</figcaption>" in html
    # nothing is drawn of what is always 0
    assert '<p class="note">Reach: Longest time a change took to arrive' in html
    assert '<th scope="row">Rows waiting</th><td>Cooperative</td><td>3' in html
    assert "Rows_waiting" not in html
