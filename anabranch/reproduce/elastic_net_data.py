"""The data of the elastic net paper's experiments."""

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_diabetes

from anabranch.protocol import Array

__all__ = ["Split", "diabetes", "synthetic"]


@dataclass(frozen=True, slots=True)
class Split:
    """Rows to learn, 70 %, and to test; z-scores by the moments of those to learn."""

    X: Array
    y: Array
    held: Array
    held_targets: Array


def synthetic(seed: int = 0, rows: int = 1500, features: int = 9) -> Split:
    """Give the linear regression of Boyd 2011 (section 11): normal fields, little noise.

    Weights are normal too, all of them: that set has 100 that are not zero, here there are
    fewer. Noise has a variance of .001.

    >>> split = synthetic()
    >>> split.X.shape, split.held.shape
    ((1050, 9), (450, 9))
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    w = rng.normal(size=features)
    y = (X * w).sum(axis=1) + np.sqrt(1e-3) * rng.normal(size=rows)
    return _split(X, y, rng)


def diabetes(seed: int = 0) -> Split:
    """Give the 442 patients of scikit-learn's diabetes set, in random order.

    >>> diabetes().X.shape
    (309, 10)
    """
    X, y = load_diabetes(return_X_y=True)
    return _split(X, y, np.random.default_rng(seed))


def _split(X: Array, y: Array, rng: np.random.Generator) -> Split:
    order = rng.permutation(len(y))
    learned, tested = np.split(order, [7 * len(y) // 10])
    mean, deviation = X[learned].mean(axis=0), X[learned].std(axis=0)
    middle, spread = y[learned].mean(), y[learned].std()
    Z, v = (X - mean) / deviation, (y - middle) / spread
    return Split(Z[learned], v[learned], Z[tested], v[tested])
