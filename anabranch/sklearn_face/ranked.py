"""What scikit-learn classifiers of ordered labels share: settings, labels as ranks, scores."""

import warnings
from collections.abc import Collection, Sequence
from numbers import Integral, Real
from sys import float_info
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from anabranch.errors import ConfigurationError
from anabranch.protocol import Array
from anabranch.sparse import SparseRows

__all__ = [
    "check_choice",
    "check_cost",
    "check_finite",
    "check_lengths",
    "check_positive",
    "costly",
    "lengths_of",
    "order_of",
    "rank_scores",
    "ranks_of",
    "rows_of",
    "seed_of",
    "warn_unfinished",
]

_LEAST, _MOST = 1e-20, 1e30
"""Costs whose dual variables keep their squares and sums in single precision."""


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
    number = isinstance(value, Real) and not isinstance(value, bool) and value <= float_info.max
    if not (number and (value >= 0.0 if zero else value > 0.0)):
        allowed = "0 and above" if zero else "above 0"
        raise ConfigurationError(f"{name} = {value!r} is out of range; allowed: {allowed}")


def check_cost(name: str, value: float) -> None:
    """Refuse a cost beyond 1e-20 to 1e30; raises ConfigurationError.

    >>> check_cost("C", 1e300)
    Traceback (most recent call last):
    anabranch.errors.ConfigurationError: C = 1e+300 is out of range; allowed: 1e-20 to 1e+30
    """
    check_positive(name, value)
    if not _LEAST <= value <= _MOST:
        raise ConfigurationError(
            f"{name} = {value!r} is out of range; allowed: {_LEAST:g} to {_MOST:g}"
        )


def costly(sample_weight: Any, X: Any, cost: float) -> Array:
    """Give the rows' weights (n,), 0 where `cost` times the weight is below 1e-20.

    Raises
    ------
    ValueError
        A weight is negative or not finite, or the largest times `cost` is beyond 1e-20 to 1e30.
    """
    weights: Array = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    largest = float(weights.max())
    if largest > 0.0 and not _LEAST / cost <= largest <= _MOST / cost:
        raise ValueError(
            f"sample_weight is up to {largest!r}, out of range where an error costs {cost:g}; "
            f"allowed: up to {_LEAST / cost:g} to {_MOST / cost:g}"
        )
    return np.where(weights < _LEAST / cost, 0.0, weights)


def rows_of(X: Any, kind: Any) -> SparseRows:
    """Give rows in a precision; what is beyond it is infinite, for `check_lengths` to refuse."""
    with np.errstate(over="ignore"):
        return SparseRows.of(X, kind)


def seed_of(random_state: Any) -> int:
    """Give a seed below 2**63.

    Raises
    ------
    ConfigurationError
        `random_state` is no whole number from 0 on, nor None, nor numpy's RandomState.
    """
    whole = isinstance(random_state, Integral) and not isinstance(random_state, bool)
    free = random_state is None or isinstance(random_state, np.random.RandomState)
    if not (free or (whole and 0 <= random_state < 1 << 32)):
        raise ConfigurationError(
            f"random_state = {random_state!r} is no seed; "
            "allowed: whole, 0 to 2**32 - 1, None or a RandomState"
        )
    return int(np.random.default_rng(random_state).integers(1 << 63))


def check_choice(name: str, value: str, allowed: Collection[str]) -> None:
    """Refuse a setting that is none of the words allowed; raises ConfigurationError."""
    if not isinstance(value, str) or value not in allowed:
        raise ConfigurationError(f"{name} = {value!r} is unknown; allowed: {', '.join(allowed)}")


def check_lengths(squares: Array) -> None:
    """Refuse rows whose squared length is not finite in their precision; raises ValueError."""
    if not np.isfinite(squares).all():
        row = int(np.argmin(np.isfinite(squares)))
        raise ValueError(f"X[{row}] is too long: its square is beyond {squares.dtype}; scale X")


def check_finite(objective: Array | float) -> None:
    """Refuse an objective beyond all numbers; raises ValueError."""
    if not np.isfinite(objective).all():
        raise ValueError("X and the cost give values that are not finite; scale X")


def lengths_of(X: Any, kind: Any) -> Array:
    """Give |x_i|^2 (n,) of rows, dense or sparse, in a precision."""
    squares = X.multiply(X) if sparse.issparse(X) else X * X
    return np.asarray(squares.sum(axis=1)).reshape(-1).astype(kind)


def warn_unfinished(name: str, steps: int, *, depth: int = 1) -> None:
    """Warn as scikit-learn does of a solver that stopped before its tolerance.

    The warning names the line that called the function `depth` calls further out than this one's.
    """
    warnings.warn(
        f"{name} stopped after {steps} steps, before its tolerance: see gap_; raise max_iter, or "
        "scale X",
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
        `classes` is no list of words or of numbers, or names a label twice.

    >>> ranks_of(["low", "mid", "low"], None)[1].tolist()
    [0, 1, 0]
    """
    if np.asarray(y).dtype.kind not in "iub":  # whole numbers are classes, however many
        check_classification_targets(y)
    if classes is None:
        return _sorted_labels(np.asarray(y))
    known = _known(classes)
    place = {label: rank for rank, label in enumerate(known.tolist())}
    labels = np.asarray(y).tolist()
    strange = sorted(set(labels) - set(place))
    if strange:
        raise ValueError(f"y has the label {strange[0]!r}; allowed: {known.tolist()}")
    return known, np.array([place[label] for label in labels], dtype=np.int64)


def _sorted_labels(y: Array) -> tuple[Array, Array]:
    """Give the labels in `y`, sorted, and each row's place among them; few numbers by counting."""
    low, span = 0, len(y) + 1
    if y.dtype.kind in "iu" and len(y):
        low = int(y.min())
        span = int(y.max()) - low
    if span > len(y):
        found, ranks = np.unique(y, return_inverse=True)
        return found, np.asarray(ranks, dtype=np.int64)
    places = (y - y.dtype.type(low)).astype(np.int64)
    seen = np.bincount(places) > 0
    return np.flatnonzero(seen).astype(y.dtype) + y.dtype.type(low), (np.cumsum(seen) - 1)[places]


def _known(classes: Any) -> Array:
    """Give the labels listed, once they are words or numbers, each named once."""
    in_order = isinstance(classes, Sequence) and not isinstance(classes, str | bytes)
    listed = in_order or getattr(classes, "ndim", 0) == 1
    kinds = {_kind(label) for label in classes} if listed else set()
    if kinds not in ({"word"}, {"number"}):
        raise ConfigurationError(
            f"classes = {classes!r} has no order of labels; "
            "allowed: a list of words or of numbers, from the lowest to the highest"
        )
    labels = np.asarray(classes)
    if len(np.unique(labels)) < len(labels):
        raise ConfigurationError(
            f"classes = {labels.tolist()!r} names a label twice; allowed: different labels"
        )
    return labels


def _kind(label: Any) -> str:
    if isinstance(label, str):
        return "word"
    return "number" if isinstance(label, Real | np.bool_) else "neither"


def order_of(y: Any, classes: Any) -> Any:
    """Give `classes`, or where that is None, the categories of an ordered pandas column."""
    kind: Any = getattr(y, "dtype", None)
    if classes is None and getattr(kind, "ordered", False):
        return np.asarray(kind.categories)
    return classes


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
