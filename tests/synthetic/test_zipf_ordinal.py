"""Synthetic text: its shape, its statistics, and bad shapes."""

import numpy as np
import pytest
from scipy import sparse

from anabranch.errors import ConfigurationError
from anabranch.protocol import Array
from anabranch.sklearn_face import NPSVOR
from anabranch.synthetic_text import SHAPES, TextShape, zipf_ordinal

SMALL = SHAPES["largemovie"].scaled(0.02)


@pytest.fixture(scope="module")
def drawn() -> tuple[sparse.csr_array, Array]:
    return zipf_ordinal(SMALL, seed=3)


def test_a_set_has_its_shape(drawn: tuple[sparse.csr_array, Array]) -> None:
    X, y = drawn
    assert X.shape == (SMALL.rows, SMALL.features)
    assert X.nnz == pytest.approx(SMALL.nonzeros, rel=0.03)
    assert (X.dtype, X.indices.dtype, y.dtype) == (np.float32, np.int32, np.int64)
    assert X.has_canonical_format
    assert np.diff(X.indptr).min() >= 1


def test_ranks_are_equally_frequent_and_follow_the_words() -> None:
    shape = TextShape(2000, 1500, 60_000, 4)
    X, y = zipf_ordinal(shape)
    assert np.bincount(y)[1:].tolist() == [500] * 4
    model = NPSVOR(0.5).fit(X[:1500], y[:1500])
    missed = np.abs(model.predict(X[1500:]) - y[1500:]).mean()
    assert missed < 0.9 * np.abs(np.median(y) - y).mean()


def test_rows_have_unit_length(drawn: tuple[sparse.csr_array, Array]) -> None:
    squares = drawn[0].multiply(drawn[0]).sum(axis=1)
    np.testing.assert_allclose(squares[squares > 0.0], 1.0, rtol=1e-5)


def test_words_follow_the_law_of_zipf(drawn: tuple[sparse.csr_array, Array]) -> None:
    """The rows that hold the words of places 10 to 100, against what the law expects."""
    X = drawn[0]
    counts = np.sort(np.bincount(X.indices, minlength=SMALL.features))[::-1]
    chances = (np.arange(SMALL.features) + 25.0) ** -1.05
    chances /= chances.sum()
    lengths = np.diff(X.indptr).astype(float)
    expected = [(1.0 - (1.0 - chances[j]) ** lengths).sum() for j in range(10, 100)]
    assert counts[10:100].sum() == pytest.approx(sum(expected), rel=0.15)


def test_a_seed_decides_everything() -> None:
    shape = SHAPES["treebank"].scaled(0.05)
    first, again, other = (zipf_ordinal(shape, seed=seed) for seed in (1, 1, 2))
    assert (first[0] != again[0]).nnz == 0
    assert np.array_equal(first[1], again[1])
    assert (first[0] != other[0]).nnz > 0


def test_the_paper_names_a_shape_of_37_million_nonzeros() -> None:
    assert SHAPES["electronics"] == TextShape(409_041, 1_422_181, 37_167_420, 5)


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((0, 50, 100, 3), "rows=0; allowed: 1 and more"),
        ((10, 5, 30, 3), "features=5; allowed: 6 and more"),
        ((10, 50, 100, 0), "ranks=0; allowed: 1 and more"),
        ((10, 50, 29, 3), "nonzeros=29; allowed: 30 to 250"),
        ((10, 50, 251, 3), "nonzeros=251; allowed: 30 to 250"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(shape: tuple[int, int, int, int], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        TextShape(*shape)


def test_a_precision_that_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="dtype='float16'; allowed: float32, float64"):
        zipf_ordinal(SMALL, dtype="float16")
