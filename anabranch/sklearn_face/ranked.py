"""What scikit-learn classifiers of ordered labels share: settings, labels as ranks, scores."""

import warnings
from collections.abc import Collection
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets

from anabranch.errors import ConfigurationError
from anabranch.protocol import Array

__all__ = [
    "check_choice",
    "check_lengths",
    "check_positive",
    "lengths_of",
    "rank_scores",
    "ranks_of",
    "warn_unfinished",
]


def check_positive(name: str, value: float, *, zero: bool = False) -> None:
    """Refuse a setting that is not a finite number above 0.

    Raises
    ------
    ConfigurationError
        Naming the setting, its value and what is allowed.

    >>> check_positive("C", 0.0)
    Traceback (most recent call last):
    anabranch.errors.ConfigurationError: C = 0.0 is out of range; allowed: above 0
    """
    number = isinstance(value, Real) and np.isfinite(float(value))
    if not (number and (value >= 0.0 if zero else value > 0.0)):
        allowed = "0 and above" if zero else "above 0"
        raise ConfigurationError(f"{name} = {value!r} is out of range; allowed: {allowed}")


def check_choice(name: str, value: str, allowed: Collection[str]) -> None:
    """Refuse a setting that is none of the words allowed; raises ConfigurationError."""
    if value not in allowed:
        raise ConfigurationError(f"{name} = {value!r} is unknown; allowed: {', '.join(allowed)}")


def check_lengths(squares: Array) -> None:
    """Refuse rows whose squared length is not finite in their precision; raises ValueError."""
    if not np.isfinite(squares).all():
        row = int(np.argmin(np.isfinite(squares)))
        raise ValueError(f"X[{row}] is too long: its square is beyond {squares.dtype}; scale X")


def lengths_of(X: Any, kind: Any) -> Array:
    """Give |x_i|^2 (n,) of rows, dense or sparse, in a precision."""
    squares = X.multiply(X) if sparse.issparse(X) else X * X
    return np.asarray(squares.sum(axis=1)).reshape(-1).astype(kind)


def warn_unfinished(name: str, steps: int, *, depth: int = 1) -> None:
    """Warn as scikit-learn does of a solver that stopped before its tolerance.

    The warning names the line that called the function `depth` calls further out than this one's.
    """
    warnings.warn(
        f"{name} stopped after {steps} steps, before its tolerance: see gap_; raise max_iter",
        ConvergenceWarning,
        stacklevel=2 + depth,
    )


def ranks_of(y: Any, classes: Any) -> tuple[Array, Array]:
    """Give all labels in order, and each row's rank (n,) from 0.

    `classes` are all labels from the lowest to the highest, or None for those in `y`, sorted.

    Raises
    ------
    ValueError
        Labels are no classes, or not among `classes`.
    ConfigurationError
        `classes` names a label twice.

    >>> ranks_of(["low", "mid", "low"], None)[1].tolist()
    [0, 1, 0]
    """
    if np.asarray(y).dtype.kind not in "iub":  # whole numbers are classes, however many
        check_classification_targets(y)
    found, ranks = np.unique(y, return_inverse=True)
    if classes is None:
        return found, np.asarray(ranks, dtype=np.int64)
    known = np.asarray(classes)
    if len(np.unique(known)) < len(known):
        raise ConfigurationError(f"classes = {known.tolist()!r} names a label twice")
    place = {label: rank for rank, label in enumerate(known.tolist())}
    labels = np.asarray(y).tolist()
    strange = sorted(set(labels) - set(place))
    if strange:
        raise ValueError(f"y has the label {strange[0]!r}; allowed: {known.tolist()}")
    return known, np.array([place[label] for label in labels], dtype=np.int64)


def rank_scores(above: Array) -> Array:
    """Give scores (n, p), largest at 1 + the number of positive values among (n, p - 1).

    The score of rank r is the sum of the r - 1 largest values. Two ranks have one, (n,).

    >>> rank_scores(np.array([[2.0, -1.0, 1.0]])).tolist()
    [[0.0, 2.0, 3.0, 2.0]]
    """
    if above.shape[1] == 1:
        return above[:, 0]
    sums = np.cumsum(-np.sort(-above, axis=1), axis=1)
    return np.hstack([np.zeros((len(sums), 1)), sums])
