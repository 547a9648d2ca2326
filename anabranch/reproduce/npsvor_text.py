"""Text as the L2-NPSVOR paper prepares it: stems and pairs of stems, by TF-IDF."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import (
    ENGLISH_STOP_WORDS,
    CountVectorizer,
    TfidfTransformer,
)

from anabranch.errors import ConfigurationError
from anabranch.protocol import Array

__all__ = ["VERSION", "prepared", "terms"]

VERSION = 1
"""Raised when the rows of a text change."""

_WORD = re.compile(r"\w+(?:'\w+)*")
_LEAST_COUNT, _LEAST_ROWS, _LARGEST_SHARE = 3, 2, 0.5


@lru_cache(maxsize=1)
def _stemmer() -> Callable[[str], str]:
    try:
        import snowballstemmer
    except ImportError as error:
        raise ConfigurationError(
            "snowballstemmer is not installed, and the preparation of text needs it; "
            "install it with: pip install 'anabranch[papers]'"
        ) from error
    stem: Callable[[str], str] = snowballstemmer.stemmer("english").stemWord
    return lru_cache(maxsize=None)(stem)


def terms(text: str) -> list[str]:
    """Give the Porter2 stems of all words but stop words, and the pairs that follow each other.

    Words are letters, digits, underscores, and apostrophes between those, in lower case; stop
    words are scikit-learn's.

    Raises
    ------
    ConfigurationError
        snowballstemmer is not installed.

    >>> terms("It wasn't the Actors' acting")
    ["wasn't", 'actor', 'act', "wasn't actor", 'actor act']
    """
    stem = _stemmer()
    words = [stem(word) for word in _WORD.findall(text.lower()) if word not in ENGLISH_STOP_WORDS]
    return words + [f"{one} {two}" for one, two in pairwise(words)]


def prepared(texts: Sequence[str]) -> sparse.csr_array:
    """Give rows (n, terms) of TF-IDF, each of length 1, or 0 where no term is left.

    Terms occur 3 times or more, in 2 texts or more and in half of them or less. A term that
    occurs t times in a text, and in df of n texts, has t (1 + log((1 + n) / (1 + df))), all n
    texts counting: so have the authors' own rows of Treebank, to the last digit.

    Raises
    ------
    ConfigurationError
        snowballstemmer is not installed, or no term is left.

    Examples
    --------
    >>> prepared(["bad plot", "bad bad play", "good plot", "a plot"]).shape
    (4, 1)
    """
    try:
        counts = _counts(texts)
    except ValueError as error:  # which scikit-learn raises where no term is left
        raise _no_terms(len(texts)) from error
    often = np.asarray(counts.sum(axis=0)).reshape(-1) >= _LEAST_COUNT
    if not often.any():
        raise _no_terms(len(texts))
    return sparse.csr_array(TfidfTransformer().fit_transform(counts[:, np.flatnonzero(often)]))


def _counts(texts: Sequence[str]) -> Any:
    counter = CountVectorizer(analyzer=terms, min_df=_LEAST_ROWS, max_df=_LARGEST_SHARE)
    counts: Array = counter.fit_transform(texts)
    return counts


def _no_terms(count: int) -> ConfigurationError:
    return ConfigurationError(
        f"no term is left of {count} texts; allowed: texts with a term that occurs "
        f"{_LEAST_COUNT} times or more, in {_LEAST_ROWS} texts or more, half of them at most"
    )
