"""The kernels that feature maps stand for, in closed form."""

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import xlogy

from anabranch.errors import ConfigurationError
from anabranch.protocol import Array

__all__ = ["kernel_matrix"]


def _cauchy(X: Array, Y: Array, gamma: float) -> Array:
    out = np.ones((len(X), len(Y)))
    for x, y in zip(X.T, Y.T, strict=True):
        out /= 1.0 + gamma * np.square(np.subtract.outer(x, y))
    return out


def _chi_squared(x: Array, y: Array) -> Array:
    total = x + y
    k: Array = 2.0 * x * y / np.where(total > 0.0, total, 1.0)
    return k


def _jensen_shannon(x: Array, y: Array) -> Array:
    total = x + y
    k: Array = (xlogy(total, total) - xlogy(x, x) - xlogy(y, y)) / (2.0 * np.log(2.0))
    return k


_PAIRS: dict[str, Callable[[Array, Array], Array]] = {
    "hellinger": lambda x, y: np.sqrt(x * y),
    "chi-squared": _chi_squared,
    "intersection": np.minimum,
    "jensen-shannon": _jensen_shannon,
}
_WHOLE: dict[str, Callable[[Array, Array, float], Array]] = {
    "linear": lambda X, Y, gamma: X @ Y.T,
    "gaussian": lambda X, Y, gamma: np.exp(-gamma * cdist(X, Y, "sqeuclidean")),
    "laplacian": lambda X, Y, gamma: np.exp(-gamma * cdist(X, Y, "cityblock")),
    "cauchy": _cauchy,
}


def kernel_matrix(kernel: str, X: Array, Y: Array, gamma: float = 1.0) -> Array:
    """Give k(x, y) for rows of X (n, K) and Y (m, K), as (n, m).

    The additive kernels are gamma sum_i k(x_i, y_i), for values that are not negative.

    Raises
    ------
    ConfigurationError
        The kernel is unknown.

    Examples
    --------
    >>> kernel_matrix("intersection", np.array([[1.0, 3.0]]), np.array([[2.0, 1.0]]), 0.5)
    array([[1.]])
    """
    if kernel in _WHOLE:
        return _WHOLE[kernel](X, Y, gamma)
    if kernel not in _PAIRS:
        allowed = ", ".join([*_WHOLE, *_PAIRS])
        raise ConfigurationError(f"unknown kernel: kernel={kernel!r}; allowed: {allowed}")
    out = np.zeros((len(X), len(Y)))
    for x, y in zip(X.T, Y.T, strict=True):
        out += _PAIRS[kernel](x[:, None], y[None, :])
    return gamma * out
