"""The preparation of text for the L2-NPSVOR paper, against a plain program."""

import sys
from collections import Counter
from math import log, sqrt

import numpy as np
import pytest

from anabranch.errors import ConfigurationError
from anabranch.reproduce import npsvor_text
from anabranch.reproduce.npsvor_text import prepared, terms

WORDS = ["plot", "play", "actor", "bore", "fun", "love", "hate", "scene", "song", "ghost"]


def drawn(rows: int = 40) -> list[str]:
    """Texts of a few words, some of them everywhere, some only once."""
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice(WORDS, rng.integers(3, 9))) for _ in range(rows)]
    return [f"film {text} only{i}" for i, text in enumerate(texts)]


def plain(texts: list[str]) -> list[dict[str, float]]:
    """TF-IDF by the formulas: one dict a text."""
    counts = [Counter(terms(text)) for text in texts]
    totals, seen = Counter[str](), Counter[str]()
    for one in counts:
        totals.update(one)
        seen.update(one.keys())
    n = len(texts)
    kept = {t for t in totals if totals[t] >= 3 and seen[t] >= 2 and seen[t] <= n / 2}
    rows = []
    for one in counts:
        row = {t: c * (1 + log((1 + n) / (1 + seen[t]))) for t, c in one.items() if t in kept}
        length = sqrt(sum(value * value for value in row.values())) or 1.0
        rows.append({term: value / length for term, value in row.items()})
    return rows


def test_terms_are_stems_and_pairs_of_them() -> None:
    assert terms("The running Dogs, and THE cats' 2 tails!") == [
        "run", "dog", "cat", "2", "tail", "run dog", "dog cat", "cat 2", "2 tail",
    ]  # fmt: skip
    assert terms("Relational, conditional: generously") == [
        "relat", "condit", "generous", "relat condit", "condit generous",
    ]  # fmt: skip
    assert terms("the of and !?") == []


def test_rows_are_those_of_a_plain_program() -> None:
    texts = drawn()
    rows, expected = prepared(texts), plain(texts)
    assert rows.shape == (len(texts), len({term for row in expected for term in row}))
    for i, row in enumerate(expected):
        found = np.sort(rows.data[rows.indptr[i] : rows.indptr[i + 1]])
        assert found == pytest.approx(sorted(row.values()), rel=1e-12)
    dense = rows.toarray()
    products = [[sum(a[t] * b.get(t, 0.0) for t in a) for b in expected] for a in expected]
    assert dense @ dense.T == pytest.approx(np.array(products), abs=1e-12)


def test_a_text_without_terms_is_a_row_of_zeros() -> None:
    rows = prepared([*drawn(), "unheard of"])
    assert rows.indptr[-1] == rows.indptr[-2]


@pytest.mark.parametrize("texts", [["a b", "c d"], ["the", "of"], ["one two", "one two"]])
def test_texts_of_which_nothing_is_left_are_refused(texts: list[str]) -> None:
    with pytest.raises(ConfigurationError, match="no term is left of 2 texts; allowed: "):
        prepared(texts)


def test_the_stemmer_is_asked_for_by_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    npsvor_text._stemmer.cache_clear()
    monkeypatch.setitem(sys.modules, "snowballstemmer", None)
    with pytest.raises(ConfigurationError, match=r"anabranch\[papers\]"):
        terms("any")
    npsvor_text._stemmer.cache_clear()
