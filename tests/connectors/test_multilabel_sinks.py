"""Predictions of sets of labels as records: lists of names."""

import json

import numpy as np
import pytest

from anabranch.protocol import Array
from anabranch.stream import Predictions
from connectors.kafka.encode import prediction_records
from connectors.sinks import encode_predictions

NAMES = ("calm", 'q"%s', "é")
Y = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [np.nan] * 3])
PREDICTED = np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
MARGINS = PREDICTED - 0.25
BY_NAME = [list(zip(NAMES, row, strict=True)) for row in MARGINS.tolist()]


def item(
    y: Array = Y, predicted: Array = PREDICTED, labels: tuple[str, ...] | None = NAMES
) -> Predictions:
    positions, margins = np.arange(7, 7 + len(y)), predicted - 0.25
    return Predictions("n0", 2, "t:3", positions, y, predicted, margins=margins, labels=labels)


def test_a_line_holds_the_names_of_what_is_true_and_predicted() -> None:
    rows = [json.loads(line) for line in encode_predictions(item()).splitlines()]
    assert [row["y"] for row in rows] == [["calm", "é"], [], None]
    assert [row["predicted"] for row in rows] == [['q"%s'], list(NAMES), []]
    assert [list(row["margins"].items()) for row in rows] == BY_NAME


def test_a_record_holds_the_names_of_what_is_true_and_predicted() -> None:
    records = prediction_records(item())
    rows = [json.loads(record.value) for record in records]
    assert [row["y"] for row in rows] == [["calm", "é"], [], None]
    assert [row["prediction"] for row in rows] == [['q"%s'], list(NAMES), []]
    assert [list(row["margins"].items()) for row in rows] == BY_NAME
    assert [row["offset"] for row in rows] == [7, 8, 9]


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("labels", [(), None])
def test_no_label_is_known_yet(rows: int, labels: tuple[str, ...] | None) -> None:
    none = item(np.empty((rows, 0)), np.empty((rows, 0)), labels)
    lines = [json.loads(line) for line in encode_predictions(none).splitlines()]
    values = [json.loads(record.value) for record in prediction_records(none)]
    for key, found in (("predicted", lines), ("prediction", values), ("y", lines), ("y", values)):
        assert [row[key] for row in found] == [[]] * rows


def test_columns_without_names_are_numbers() -> None:
    plain = item(Y[:2], PREDICTED[:2], None)
    lines = [json.loads(line) for line in encode_predictions(plain).splitlines()]
    assert [row["y"] for row in lines] == Y[:2].tolist()
    values = [json.loads(record.value) for record in prediction_records(plain)]
    assert [row["prediction"] for row in values] == PREDICTED[:2].tolist()
