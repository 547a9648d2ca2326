"""`anabranch predict` of models of sets of labels, and margins on request."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anabranch import save
from anabranch.learners import make
from anabranch.synthetic_labels import labelled
from tests.cli.test_predict import call

STREAM = labelled(3, 2, noise=0.0, seed=4)
LABELS = ["calm", 'loud, "very"']


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    learner = make("doml", 3, 0, labels=LABELS, names=STREAM.names, predictor="linear")
    learner.learn(*STREAM.block(0, 400))
    learner.combine(0, {}, {})
    path = tmp_path_factory.mktemp("models") / "n00.npz"
    save(learner, path, {"features": list(STREAM.names)})
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    X, _ = STREAM.block(1000, 6)
    lines = [",".join(map(repr, row)) for row in X.tolist()]
    path = tmp_path / "rows.csv"
    path.write_text(",".join(STREAM.names) + "\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def rows(*words: object) -> list[dict[str, Any]]:
    result = call(*words)
    assert (result.exit_code, result.stderr) == (0, "")
    return list(csv.DictReader(io.StringIO(result.stdout)))


def test_a_set_is_a_list_of_names(model: Path, file: Path) -> None:
    from anabranch import load

    told = rows(model, file)
    assert [row["record"] for row in told] == [str(i) for i in range(6)]
    wanted = load(model).predict(STREAM.block(1000, 6)[0]).astype(bool)
    assert [json.loads(row["prediction"]) for row in told] == [
        [name for name, there in zip(LABELS, row, strict=True) if there] for row in wanted.tolist()
    ]
    assert 0 < wanted.sum() < wanted.size


def test_margins_are_named_and_agree_with_the_prediction(model: Path, file: Path) -> None:
    for row in rows(model, file, "--margins"):
        margins = json.loads(row["margins"])
        assert list(margins) == LABELS
        above = [name for name, value in margins.items() if value > 0]
        assert above == json.loads(row["prediction"])


def test_margins_of_ranks_are_a_list(tmp_path: Path, file: Path) -> None:
    learner = make("dsvor", 3, 4, kernel="linear", scaling="none")
    X, _ = STREAM.block(0, 50)
    learner.learn(X, np.digitize(X[:, 0], [-0.5, 0.0, 0.5]) + 1.0)
    save(learner, tmp_path / "n.npz")
    for row in rows(tmp_path / "n.npz", file, "--margins"):
        margins = json.loads(row["margins"])
        assert len(margins) == 3
        assert int(row["prediction"]) == 1 + sum(value > 0 for value in margins)


def test_a_model_without_margins_says_so(tmp_path: Path, file: Path) -> None:
    learner = make("elastic-net", 3, 0)
    save(learner, tmp_path / "n.npz")
    result = call(tmp_path / "n.npz", file, "--margins")
    assert result.exit_code == 2
    assert "--margins: models of elastic-net have none" in result.stderr


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("mlknn", {}, "tells no label; learner.save_samples = true keeps them"),
        ("doml", {"predictor": "mlknn"}, "it predicts at .5, not by learner.predictor = 'mlknn'"),
        ("mlknn", {"save_samples": True}, ""),
    ],
)
def test_a_model_that_lacks_its_samples_says_so(
    kind: str, options: dict[str, Any], words: str, tmp_path: Path, file: Path
) -> None:
    learner = make(kind, 3, 0, labels=LABELS, names=STREAM.names, **options)
    learner.learn(*STREAM.block(0, 100))
    learner.combine(0, {}, {})
    save(learner, tmp_path / "n00.npz", {"features": list(STREAM.names)})
    result = call(tmp_path / "n00.npz", file)
    assert result.exit_code == 0
    assert words in result.stderr if words else result.stderr == ""
