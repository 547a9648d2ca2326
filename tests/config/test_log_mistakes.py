"""Mistakes in [logs] are told with the key, the value and what is allowed."""

import pytest

from anabranch.errors import ConfigurationError
from pipelines.config import load_job
from pipelines.resume import changed_keys


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("logs.format=xml", ["logs.format", '"xml"', "text", "json"]),
        ("logs.level=loud", ["logs.level", '"loud"', "debug", "info", "warning", "error"]),
        ('logs.levels={exchang="debug"}', ["logs.levels", '"exchang"', "exchange", "recovery"]),
        ('logs.levels={http="loud"}', ["logs.levels", 'http = "loud"', "warning"]),
        ("logs.levels=3", ["logs.levels", "3", "a table"]),
        ("logs.repeat_after=60", ["logs.repeat_after", "60", '"10s"']),
    ],
)
def test_mistakes(setting: str, words: list[str]) -> None:
    with pytest.raises(ConfigurationError) as raised:
        load_job(None, [setting])
    assert all(word in str(raised.value) for word in words)


def test_a_resumed_job_may_log_in_another_way() -> None:
    other = load_job(None, ["logs.format=json", 'logs.levels={run="error"}', "logs.level=debug"])
    assert not changed_keys(load_job(None, []), other)
