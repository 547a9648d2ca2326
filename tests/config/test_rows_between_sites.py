"""Messages that would name a sample's features are made of several samples between sites."""

from typing import Any

import pytest

from pipelines.config import build_job
from tests.config.test_kafka_mistakes import KAFKA, SITES


@pytest.mark.parametrize(
    ("transport", "own", "rows"),
    [("local", {}, 1), ("kafka", {}, 10), ("kafka", {"batch_rows": 3}, 3)],
)
def test_messages_between_sites_are_of_ten_samples_unless_told_otherwise(
    transport: str, own: dict[str, int], rows: int
) -> None:
    tables: dict[str, Any] = {**KAFKA, "learner": {"kind": "npsvor", "ranks": 3, **own}}
    if transport == "kafka":
        tables |= {"exchange": {"transport": "kafka"}, "sites": SITES}
    assert build_job(tables).learner.options["batch_rows"] == rows
