"""Settings given as SECTION.KEY=VALUE."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import ConfigurationError
from pipelines.config.overrides import apply_overrides, parse_value


@given(st.one_of(st.integers(-(2**60), 2**60), st.booleans()))
def test_numbers_and_booleans_are_read_as_such(value: int | bool) -> None:
    assert parse_value(str(value).lower() if isinstance(value, bool) else str(value)) == value


@given(st.text(alphabet="abcdef_/.-", min_size=1).filter(lambda text: text not in ("inf", "nan")))
def test_bare_words_are_strings(text: str) -> None:
    assert parse_value(text) == text or isinstance(parse_value(text), float)


def test_a_line_break_adds_no_key() -> None:
    assert parse_value("1\nother = 2") == "1\nother = 2"


def test_the_last_setting_wins_and_an_empty_value_restores_the_default() -> None:
    raw = {"network": {"nodes": 5, "seed": 1}}
    settings = ["network.nodes=6", "network.nodes=7", "network.seed="]
    assert apply_overrides(raw, settings) == {"network": {"nodes": 7}}
    assert raw == {"network": {"nodes": 5, "seed": 1}}


@pytest.mark.parametrize("setting", ["network", "network.nodes", "=3", ".nodes=3", "a.b.c=3"])
def test_other_forms_are_refused(setting: str) -> None:
    with pytest.raises(ConfigurationError, match=r"not of the form SECTION\.KEY=VALUE"):
        apply_overrides({}, [setting])
