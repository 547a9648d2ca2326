"""The section [monitor]."""

import pytest
from msgspec.structs import replace

from anabranch.errors import ConfigurationError
from pipelines.config import default_job, load_job
from pipelines.resume import changed_keys


@pytest.mark.parametrize("interval", ["50ms", "6s", "0s"])
def test_words_come_neither_too_often_nor_too_seldom(interval: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^monitor.interval is .*; it must be from 100ms"):
        load_job(None, [f"monitor.interval={interval}"])


def test_a_number_of_nodes_cannot_be_negative() -> None:
    with pytest.raises(ConfigurationError, match=r"^monitor.worst is -1; it must be"):
        load_job(None, ["monitor.worst=-1"])


def test_a_resumed_job_may_be_watched_otherwise() -> None:
    job = default_job()
    other = replace(job, monitor=replace(job.monitor, worst=3))
    assert other != job
    assert changed_keys(job, other) == {}
