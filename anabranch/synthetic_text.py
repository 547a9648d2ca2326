"""Synthetic text with ordered labels: sparse rows whose statistics are those of real text.

Words follow a law of Zipf with an offset, lengths are lognormal, values are TF-IDF, and ranks are
quantiles of a linear score. `SHAPES` are those of the sets in the L2-NPSVOR paper; the
numbers of rows with the 1st, 10th, ..., 100,000th most frequent word are within a quarter of
LargeMovie's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from scipy import sparse

from anabranch.errors import ConfigurationError
from anabranch.protocol import Array

__all__ = ["SHAPES", "TextShape", "zipf_ordinal"]

_OFFSET, _POWER = 25.0, 1.05
_SPREAD = 0.7
"""Standard deviation of a length's logarithm."""
_SHORTEST = 3
_TELLING = 0.2
"""Share of the words that say something of the rank."""
_NOISE = 0.5
"""In standard deviations of the score."""
_CHUNK = 1 << 15


@dataclass(frozen=True, slots=True)
class TextShape:
    """How large a set is: rows, features, nonzeros of all rows, ranks.

    Raises
    ------
    ConfigurationError
        A number is too small, or there are fewer than three nonzeros a row, or more than features.

    Examples
    --------
    >>> TextShape(100, 500, 2000, 4).length
    20.0
    """

    rows: int
    features: int
    nonzeros: int
    ranks: int

    def __post_init__(self) -> None:
        for name, least in (("rows", 1), ("features", 2 * _SHORTEST), ("ranks", 1)):
            if getattr(self, name) < least:
                value = getattr(self, name)
                raise ConfigurationError(f"out of range: {name}={value}; allowed: {least} and more")
        if not _SHORTEST * self.rows <= self.nonzeros <= self.rows * self.features // 2:
            low, high = _SHORTEST * self.rows, self.rows * self.features // 2
            raise ConfigurationError(
                f"out of range: nonzeros={self.nonzeros}; allowed: {low} to {high}"
            )

    @property
    def length(self) -> float:
        """Mean number of nonzeros of a row."""
        return self.nonzeros / self.rows

    def scaled(self, factor: float) -> "TextShape":
        """Give a set of so many times the rows, features and nonzeros.

        >>> SHAPES["largemovie"].scaled(0.01).rows
        500
        """
        rows, features, nonzeros = (
            round(factor * size) for size in (self.rows, self.features, self.nonzeros)
        )
        return TextShape(rows, features, nonzeros, self.ranks)


SHAPES: Mapping[str, TextShape] = MappingProxyType(
    {
        "treebank": TextShape(11_855, 8_569, 98_883, 5),
        "moviereview": TextShape(5_006, 60_160, 1_014_373, 4),
        "amazon4": TextShape(8_000, 33_616, 511_759, 4),
        "semeval": TextShape(43_011, 29_385, 569_954, 5),
        "largemovie": TextShape(50_000, 343_138, 7_010_914, 8),
        "electronics": TextShape(409_041, 1_422_181, 37_167_420, 5),
    }
)
"""Sets of the paper, after its preparation of text."""


def zipf_ordinal(
    shape: TextShape, *, seed: int = 0, dtype: str = "float32"
) -> tuple[sparse.csr_array, Array]:
    """Make a set of a shape: rows (n, features) of length 1, and ranks (n,) from 1.

    A row's length is lognormal, 3 at least; its words are drawn with probability proportional to
    (j + 25)^-1.05, j the word's place among the most frequent. A word drawn t times in a row, and
    in df of n rows, has the value (1 + log t) log(n / df). Rows have unit length. Places are
    permuted at random. A fifth of the words have a weight, standard normal; the ranks are equally
    frequent quantiles of x'theta and half its spread of noise.

    Parameters
    ----------
    shape : numbers of rows, features, nonzeros and ranks; nonzeros come out within some percent
    dtype : "float32" or "float64", of the values

    Returns
    -------
    Rows with sorted indices, and ranks as int64.

    Raises
    ------
    ConfigurationError
        dtype is neither.

    Examples
    --------
    >>> X, y = zipf_ordinal(SHAPES["treebank"].scaled(0.01))
    >>> X.shape, sorted(set(y.tolist()))
    ((119, 86), [1, 2, 3, 4, 5])
    """
    if dtype not in ("float32", "float64"):
        raise ConfigurationError(f"unknown dtype: dtype={dtype!r}; allowed: float32, float64")
    rng = np.random.default_rng(seed)
    lengths = _lengths(shape, rng)
    indptr = np.zeros(shape.rows + 1, np.int64)
    places = rng.permutation(shape.features).astype(np.int32)
    parts = []
    for start in range(0, shape.rows, _CHUNK):
        words, counts, sizes = _drawn(lengths[start : start + _CHUNK], shape.features, rng)
        parts.append((places[words], (1.0 + np.log(counts)).astype(dtype)))
        indptr[start + 1 : start + 1 + len(sizes)] = sizes
    indices, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    del parts
    ends = np.cumsum(indptr)
    if ends[-1] < 1 << 31:  # scipy widens the indices to what the pointers have
        ends = ends.astype(np.int32)
    X = sparse.csr_array((values, indices, ends), (shape.rows, shape.features))
    return _weighted(X), _ranks(X, shape.ranks, rng)


def _lengths(shape: TextShape, rng: np.random.Generator) -> Array:
    """Draw words to draw for each row, so that the distinct ones are as many as wanted."""
    wanted = rng.lognormal(-0.5 * _SPREAD**2, _SPREAD, shape.rows) * shape.length
    wanted = np.clip(wanted, _SHORTEST, shape.features / 2)
    chances = np.diff(_mass(np.arange(shape.features + 1.0)))
    chances /= chances.sum()
    draws = np.geomspace(1.0, 16.0 * shape.features, 64)
    distinct = np.array([-np.expm1(count * np.log1p(-chances)).sum() for count in draws])
    lengths: Array = np.rint(np.interp(wanted, distinct, draws)).astype(np.int64)
    return lengths


def _mass(place: Array) -> Array:
    """Integrate (x + 25)^-1.05, up to a constant, from half a place below each."""
    mass: Array = -((place - 0.5 + _OFFSET) ** (1.0 - _POWER))
    return mass


def _drawn(lengths: Array, features: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Draw words for some rows; gives each row's distinct ones, their counts, and how many."""
    low, high = _mass(np.array([0.0, features]))
    at = low + (high - low) * rng.random(lengths.sum())
    words = ((-at) ** (1.0 / (1.0 - _POWER)) - _OFFSET + 0.5).astype(np.int64)
    np.clip(words, 0, features - 1, out=words)
    keys = np.repeat(np.arange(len(lengths)), lengths) * features + words
    keys.sort()
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.diff(first, append=len(keys))
    rows, words = np.divmod(keys[first], features)
    return words, counts, np.bincount(rows, minlength=len(lengths))


def _weighted(X: sparse.csr_array) -> sparse.csr_array:
    """Weigh words by log(n / df), then give every row the length 1; sorted."""
    X.sort_indices()
    frequencies = np.bincount(X.indices, minlength=X.shape[1])
    X.data *= np.log(X.shape[0] / np.maximum(frequencies, 1)).astype(X.dtype)[X.indices]
    squares = np.add.reduceat(X.data.astype(np.float64) ** 2, X.indptr[:-1])
    scale = 1.0 / np.sqrt(np.where(squares > 0.0, squares, 1.0))
    X.data *= np.repeat(scale.astype(X.dtype), np.diff(X.indptr))
    return X


def _ranks(X: sparse.csr_array, ranks: int, rng: np.random.Generator) -> Array:
    theta = rng.normal(size=X.shape[1]) * (rng.random(X.shape[1]) < _TELLING)
    score = X @ theta.astype(X.dtype)
    score = score + _NOISE * score.std() * rng.normal(size=len(score))
    cuts = np.quantile(score, np.arange(1, ranks) / ranks)
    found: Array = 1 + np.searchsorted(cuts, score)
    return found.astype(np.int64)
