"""A synthetic stream of samples with sets of labels, whose best answers are known."""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtri

from anabranch.errors import ConfigurationError
from anabranch.kernels.counters import fill_normals
from anabranch.kernels.streams import fill_label_rows
from anabranch.protocol import Array

__all__ = ["LabelledStream", "labelled"]


@dataclass(frozen=True)
class LabelledStream:
    """An endless stream of (x, set of labels), readable from any position.

    x is standard normal; label j is there where w_j'x + noise e_j > c_j, with |w_j| = 1 and e_j
    standard normal. c_j is such that label j is in one of j + 2 samples: half of all, a third,
    a quarter, and so on.

    Attributes
    ----------
    features, count : numbers of features and of labels
    seed : decides the weights and every row
    noise : standard deviation of the noise, beside a value of deviation 1
    weights : (q, d), the w_j
    cuts : (q,), the c_j
    """

    features: int
    count: int
    seed: int
    noise: float
    weights: Array = field(init=False, repr=False, compare=False)
    cuts: Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        draws = np.empty(self.count * self.features)
        fill_normals(np.uint64(self.seed), draws)
        weights = draws.reshape(self.count, self.features)
        weights /= np.sqrt((weights**2).sum(axis=1, keepdims=True))
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "cuts", self.spread * ndtri(1.0 - self.frequencies))

    @property
    def ranks(self) -> int:
        """Number of ranks: there are none."""
        return 0

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features: x1, x2, ..."""
        return tuple(f"x{i + 1}" for i in range(self.features))

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the labels: y1, y2, ..."""
        return tuple(f"y{j + 1}" for j in range(self.count))

    @property
    def frequencies(self) -> Array:
        """Share of the samples that has each label, (q,)."""
        return np.asarray(1.0 / np.arange(2, self.count + 2))

    @property
    def spread(self) -> float:
        """Standard deviation of what is compared with the cuts."""
        return float(np.sqrt(1.0 + self.noise**2))

    def block(self, start: int, count: int) -> tuple[Array, Array]:
        """Give rows start .. start + count - 1: X (count, d) and y (count, q) of 0 and 1.

        Examples
        --------
        >>> stream = labelled(5, 3, seed=1)
        >>> X, y = stream.block(0, 10)
        >>> y.shape, bool((stream.block(7, 3)[1] == y[7:]).all())
        ((10, 3), True)
        """
        X, y = np.empty((count, self.features)), np.empty((count, self.count))
        seed = np.uint64(self.seed)
        fill_label_rows(seed, start, self.weights, self.noise, self.cuts, X, y)
        return X, y

    def best(self, X: Array) -> Array:
        """Give the labels that no predictor beats in Hamming loss: those with w_j'x > c_j."""
        return np.asarray(self.cuts < X @ self.weights.T, dtype=np.float64)

    def projection(self) -> tuple[Array, Array]:
        """Give the least squares of y on x and 1, in the limit: P (d, q) and the bias (q,).

        By Stein's lemma P_j = w_j phi(c_j / s) / s, s being `spread`; the bias is the label's
        frequency.
        """
        density = np.exp(-0.5 * (self.cuts / self.spread) ** 2) / np.sqrt(2.0 * np.pi)
        return self.weights.T * (density / self.spread), self.frequencies


def labelled(
    features: int = 20, labels: int = 6, *, noise: float = 0.1, seed: int = 0
) -> LabelledStream:
    """Linear stream of sets of labels, each label independent of the others given x.

    Raises
    ------
    ConfigurationError
        A number is out of its range.
    """
    for name, value, least in (("features", features, 1), ("labels", labels, 1)):
        if value < least:
            raise ConfigurationError(f"out of range: {name}={value}; allowed: >= {least}")
    if not noise >= 0:
        raise ConfigurationError(f"out of range: noise={noise}; allowed: >= 0")
    return LabelledStream(features, labels, seed, noise)
