"""Durations as text."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.config.durations import Duration

UNITS = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)]


@given(st.integers(0, 10**6), st.sampled_from(UNITS))
def test_text_round_trips(count: int, unit: tuple[str, float]) -> None:
    duration = Duration.parse(f"{count}{unit[0]}")
    assert duration == pytest.approx(count * unit[1])
    assert Duration.parse(str(duration)) == duration
    assert pickle.loads(pickle.dumps(duration)) == duration


@pytest.mark.parametrize("text", ["", "10", "s", "-1s", "1 day", "1e3s", 10, None, "1s2m"])
def test_other_text_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        Duration.parse(text)
