"""The compiled reading of numbers agrees with Python's, bit for bit."""

import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.numbers import UNSETTLED, read_number
from connectors.values import BadRecord, number

digits = st.text("0123456789", max_size=21)
decimals = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(["", "-", "+"]),
    digits,
    st.sampled_from(["", "."]),
    digits,
    st.one_of(st.just(""), st.builds("e{}".format, st.integers(-400, 400))),
)
junk = st.text("0123456789.eE+-_xXnNaAiIfF \t", max_size=12)
floats = st.floats(allow_nan=False, allow_infinity=False).map(repr)


def read(text: str, grammar: bool = False) -> tuple[int, float]:
    data = text.encode()
    return read_number(np.frombuffer(data, np.uint8), 0, len(data), grammar)


def bits(value: float) -> bytes:
    return struct.pack("d", value)


@settings(max_examples=1500)
@given(st.one_of(decimals, floats, junk))
def test_a_number_taken_is_the_float_of_its_text(text: str) -> None:
    at, value = read(text)
    if at == len(text):
        assert bits(value) == bits(float(text))
        assert bits(number(text, "x")) == bits(value)


@settings(max_examples=1500)
@given(st.one_of(decimals, floats, junk))
def test_a_json_number_taken_is_the_float_of_its_text(text: str) -> None:
    at, value = read(text, True)
    if at == len(text):
        assert bits(value) == bits(json.loads(text, parse_int=float))


@settings(max_examples=500)
@given(st.integers(1 << 53, (1 << 54) - 1), st.integers(-22, 22), st.sampled_from([1, 5, 25, 625]))
def test_halves_between_two_doubles_round_to_even(m: int, power: int, factor: int) -> None:
    text = f"{(m | 1) * factor}e{power}"
    at, value = read(text)
    assert at in (UNSETTLED, len(text))
    assert at == UNSETTLED or bits(value) == bits(float(text))


@given(st.floats(1e-250, 1e250).map(repr))
def test_ordinary_floats_are_settled_here(text: str) -> None:
    assert read(text) == (len(text), float(text))


@pytest.mark.parametrize("text", ["1_000", "0x1p3", "nan", "inf", "", ".", "e5", "--1", "1e", "५"])
def test_what_is_no_number_is_refused_on_both_paths(text: str) -> None:
    at, _ = read(text)
    assert at != len(text.encode())
    with pytest.raises(BadRecord):
        number(text, "x")
