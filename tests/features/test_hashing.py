"""Hashed texts: the documented hash in plain Python, both paths, and what every row must be."""

import json
import math
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import HashingVectorizer

from anabranch.errors import ConfigurationError, SampleError
from anabranch.features.hashing import TextHasher, words_of

MASK = (1 << 64) - 1
ascii_texts = st.text(st.characters(max_codepoint=127), max_size=60)
texts = st.one_of(
    ascii_texts,
    st.text(max_size=30),
    st.lists(
        st.sampled_from(
            ["good", "Bad", "NOT", "a", "x_1", "été", "Straße", "İ", "ΟΔΟΣ", "日本", "K"]
        )
    ).map(" ".join),
)


def mix(value: int) -> int:
    value = (value + 0x9E3779B97F4A7C15) & MASK
    value = ((value ^ value >> 30) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ value >> 27) * 0x94D049BB133111EB) & MASK
    return value ^ value >> 31


def word_hash(word: str) -> int:
    value = 0xCBF29CE484222325
    for byte in word.encode():
        value = ((value ^ byte) * 0x100000001B3) & MASK
    return value


def plain_row(text: str, bits: int, ngrams: int) -> dict[int, float]:
    """Hash a text as the docstring says."""
    words = [word_hash(word) for word in re.findall(r"\w\w+", text.lower())]
    found: Counter[int] = Counter()
    for first in range(len(words)):
        value = 0
        for size, word in enumerate(words[first : first + ngrams]):
            value = word if size == 0 else mix(value) ^ word
            found[mix(value) >> (64 - bits)] += 1
    values = {column: 1.0 + math.log(times) for column, times in found.items()}
    length = math.sqrt(sum(value * value for value in values.values()))
    return {column: value / length for column, value in sorted(values.items())}


@settings(max_examples=150)
@given(some=st.lists(texts, max_size=5), bits=st.integers(1, 31), ngrams=st.integers(1, 8))
@example(some=["so so so so good so so so so"], bits=18, ngrams=2)
@example(some=["It's " + "not good, " * 300], bits=4, ngrams=3)
def test_rows_are_what_the_documentation_says(some: list[str], bits: int, ngrams: int) -> None:
    rows = TextHasher(bits, ngrams).rows(some)
    assert rows.shape == (len(some), 1 << bits)
    for row, text in enumerate(some):
        part = rows[row : row + 1]
        expected = plain_row(text, bits, ngrams)
        assert part.indices.tolist() == list(expected)
        assert np.allclose(part.values, list(expected.values()), rtol=1e-14, atol=0)


@settings(max_examples=150)
@given(text=ascii_texts)
def test_both_paths_agree_on_ascii(text: str) -> None:
    hasher = TextHasher(12, 3)
    words = " ".join(words_of(text))
    # a dash beyond ASCII, in no word, sends the text down the careful path
    left, middle, right = (hasher.rows([one]) for one in (text, words, text + " \u2014"))
    for other in (middle, right):
        assert left.indices.tolist() == other.indices.tolist()
        assert left.values.tobytes() == other.values.tobytes()


@settings(max_examples=150)
@given(parts=st.lists(st.tuples(texts, texts), min_size=1, max_size=4), escapes=st.booleans())
def test_texts_in_a_buffer_are_the_same_texts(parts: list[tuple[str, str]], escapes: bool) -> None:
    hasher, data, spans = TextHasher(10), b"\xff\xfe", []
    for pair in parts:
        for one in pair:
            text = json.dumps(one)[1:-1].encode() if escapes else one.encode(errors="ignore")
            spans.append((len(data), len(data) + len(text)))
            data += text + b"\\\xff"
    places = np.array(spans).reshape(-1, 2, 2)
    found = hasher.spans(data, places, escapes=escapes)
    joined = [f"{one} {other}" for one, other in parts]
    expected = hasher.rows(joined)
    assert found.indptr.tolist() == expected.indptr.tolist()
    assert found.indices.tolist() == expected.indices.tolist()
    assert found.values.tobytes() == expected.values.tobytes()
    places[0] = 0
    again = hasher.spans(data, places, {0: joined[0]}, escapes=escapes)
    assert again.values.tobytes() == expected.values.tobytes()


def test_a_row_depends_on_its_text_alone() -> None:
    some = ["not good at all", "", "Ünicode hier", "good good good"]
    whole = TextHasher(16).rows(some)
    for row, text in enumerate(some):
        alone = TextHasher(16).rows([text])
        part = whole[row : row + 1]
        assert part.indices.tobytes() == alone.indices.tobytes()
        assert part.values.tobytes() == alone.values.tobytes()


def test_these_columns_stay_for_ever() -> None:
    rows = TextHasher(18, 2).rows(["Not good", "größer", "a b c"])
    assert rows[:1].indices.tolist() == [58678, 72766, 103204]
    assert rows[1:2].indices.tolist() == [14802]
    assert rows[2:].indices.tolist() == []


def test_words_and_lengths_are_those_of_the_vectoriser() -> None:
    some = ["The film isn't BAD at all; not_bad 2 b", "naïve café", "x", "to be or not to be"]
    theirs = HashingVectorizer(
        n_features=1 << 20, ngram_range=(1, 2), alternate_sign=False, norm=None
    ).transform(some)
    ours = TextHasher(20).rows(some)
    assert np.diff(ours.indptr).tolist() == np.diff(theirs.indptr).tolist()
    lengths = np.add.reduceat(ours.values**2, ours.indptr[:-1][np.diff(ours.indptr) > 0])
    assert np.allclose(lengths, 1.0, rtol=1e-15)
    # tf of 1 and 2 are told apart by their logarithms
    row = ours[3:]
    repeated = np.unique(np.round(row.values / row.values.min(), 12))
    assert np.allclose(repeated, [1.0, 1 + math.log(2)])


def test_long_texts_are_counted_as_short_ones() -> None:
    words = [f"w{i % 997}" for i in range(5000)]
    text = " ".join(words)
    row = TextHasher(14, 2).rows([text])
    expected = plain_row(text, 14, 2)
    assert row.indices.tolist() == list(expected)
    assert np.allclose(row.values, list(expected.values()), rtol=1e-13, atol=0)
    many = TextHasher(3, 1).rows(["word " * 1000])
    assert many.values.tolist() == [1.0]


@pytest.mark.parametrize(("bad", "name"), [(b"x", "bytes"), (None, "NoneType"), (3, "int")])
def test_what_is_no_text_is_refused(bad: object, name: str) -> None:
    with pytest.raises(SampleError, match=rf"texts\[1\] is .*, of type {name}; allowed: str"):
        TextHasher().rows(["good", bad])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bits": 0}, "bits is 0; allowed: whole numbers 1..31"),
        ({"bits": 32}, "bits is 32"),
        ({"bits": 2.0}, "bits is 2.0"),
        ({"ngrams": 0}, "ngrams is 0; allowed: whole numbers 1..8"),
        ({"ngrams": True}, "ngrams is True"),
    ],
)
def test_sizes_out_of_range_are_refused(options: dict[str, int], words: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(words)):
        TextHasher(**options)
