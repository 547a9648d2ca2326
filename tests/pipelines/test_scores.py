"""Scores of a job are River's, and skewed placements end too."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import evaluate, metrics, utils

from anabranch.evaluation import QuadraticKappa
from anabranch.river_face import DSVORClassifier
from anabranch.synthetic import nonlinear
from pipelines.run_dir import read_lines
from tests.pipelines.jobs import finish, start

ROWS = 2000


def write_csv(path: Path, nodes: list[str] | None = None, rows: int = ROWS) -> Path:
    """Write rows of the nonlinear stream, with a node name each if given."""
    X, y = nonlinear(seed=3).block(0, rows)
    lines = ["x1,x2,y" + (",site" if nodes else "")]
    for i in range(rows):
        site = f",{nodes[i]}" if nodes else ""
        lines.append(f"{X[i, 0]!r},{X[i, 1]!r},{int(y[i])}{site}".replace("np.float64", ""))
    path.write_text("\n".join(lines).replace("(", "").replace(")", "") + "\n")
    return path


def final_row(folder: Path, learner: str = "cooperative", node: str | None = None) -> Any:
    """Give the last row of scores of the network or a node."""
    rows = [r for r in read_lines(folder / "run" / "scores.jsonl") if r["final"]]
    (row,) = [r for r in rows if r["learner"] == learner and r["node"] == node]
    return row


def settings(path: Path, *more: str) -> list[str]:
    """Give the settings of a job that reads a CSV file."""
    return [
        "source.kind=csv",
        f'source.paths=["{path}"]',
        "learner.ranks=4",
        "learner.dimension=30",
        "output.report=false",
        *more,
    ]


def test_one_node_scores_as_river_does(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "rows.csv")
    more = ["network.nodes=1", "learner.scaling=none", "learner.seed=0", "evaluation.window=300"]
    finish(start(tmp_path, settings=settings(path, *more, "source.rows_per_tick=70")))
    X, y = nonlinear(seed=3).block(0, ROWS)
    stream = [({"x1": a, "x2": b}, int(label)) for (a, b), label in zip(X.tolist(), y, strict=True)]
    model = DSVORClassifier(ranks=[1, 2, 3, 4], gamma=0.5, dimension=30, standardise=False)
    steps = evaluate.iter_progressive_val_score(
        stream, model, metrics.Accuracy(), step=1, yield_predictions=True
    )
    predicted = [step["Prediction"] for step in steps]
    row = final_row(tmp_path)
    for metric in (metrics.MAE, metrics.MSE, metrics.Accuracy, QuadraticKappa):
        whole, window = metric(), utils.Rolling(metric, window_size=300)
        for (_, label), guess in zip(stream, predicted, strict=True):
            whole.update(label, guess)
            window.update(label, guess)
        name = metric.__name__
        assert row["scores"][name] == pytest.approx(whole.get(), abs=1e-12), name
        assert row["window"][name] == pytest.approx(window.get(), abs=1e-12), name


def names(count: int) -> list[str]:
    """Name sites."""
    return [f"site{i}" for i in range(count)]


@pytest.mark.parametrize(
    "sites",
    [
        ["site1"] * ROWS,
        sorted(names(5)[i % 5] for i in range(ROWS)),
        [names(4)[i % 4] for i in range(ROWS)],
    ],
    ids=["everything on one node", "sorted by node", "a node without samples"],
)
def test_skewed_placements_end(tmp_path: Path, sites: list[str]) -> None:
    path = write_csv(tmp_path / "rows.csv", sites)
    more = [f"network.nodes={names(5)}".replace("'", '"'), "source.node=field:site"]
    more += ["network.graph=ring", "source.rows_per_tick=100", "exchange.ticks_ahead=2"]
    finish(start(tmp_path, "--workers", "2", settings=settings(path, *more)))
    for name in names(5):
        assert final_row(tmp_path, node=name)["samples"] == sites.count(name)
    assert final_row(tmp_path)["samples"] == ROWS
    assert final_row(tmp_path)["scores"]["MAE"] < 1.0


def test_predictions_hold_every_row_once(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "rows.csv", rows=300)
    out = tmp_path / "predictions.jsonl"
    finish(start(tmp_path, settings=settings(path, f"output.predictions={out}")))
    rows = list(read_lines(out))
    assert sorted(row["position"] for row in rows) == list(range(300))
    hits = np.mean([abs(row["predicted"] - row["y"]) for row in rows])
    assert final_row(tmp_path)["scores"]["MAE"] == pytest.approx(hits)
