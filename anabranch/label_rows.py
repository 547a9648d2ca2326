"""Rows of labels: in the columns of a learner, and as plain values where columns may change."""

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar

import numpy as np

from anabranch.labels import aligned, joined
from anabranch.protocol import Array, Labelled, Learner, freeze

__all__ = ["Label", "admitted", "array_of", "columns_of", "paired", "values_of"]

Label = float | tuple[str, ...]
"""What a sample's label is: a number, or the names of its set of labels."""


T = TypeVar("T")


def columns_of(learner: Learner, otherwise: T) -> tuple[str, ...] | T:
    """Give the names of a learner's columns, if it has any."""
    return learner.labels if _has_labels(type(learner)) else otherwise  # type: ignore[attr-defined]


@cache
def _has_labels(kind: type[Learner]) -> bool:
    """Tell whether learners of a class are `Labelled`; `isinstance` is slow, for every block."""
    return hasattr(kind, "labels") and hasattr(kind, "admit")


def admitted(learner: Learner, y: Array, names: Sequence[str] | None) -> Array:
    """Give y in a learner's columns, after it has taken up the labels that are new to it.

    Parameters
    ----------
    learner : one without named columns gets y as it is
    y : (n, len(names)), or (n,) where there are no sets of labels
    names : of y's columns; None where they are the learner's own
    """
    if names is None or not isinstance(learner, Labelled) or names == learner.labels:
        return y
    learner.admit(names)
    return aligned(y, names, learner.labels)


def paired(
    y: Array, names: Sequence[str], predicted: Array, columns: Sequence[str]
) -> tuple[Array, Array, tuple[str, ...]]:
    """Give y, with columns `names`, and what was predicted the same columns, and their names.

    >>> y, predicted = np.array([[1.0]]), np.array([[0.0, 1.0]])
    >>> y, predicted, names = paired(y, ["b"], predicted, ["c", "a"])
    >>> y.tolist(), predicted.tolist(), names
    ([[0.0, 0.0, 1.0]], [[0.0, 1.0, 0.0]], ('c', 'a', 'b'))
    """
    if names == columns:
        return y, predicted, tuple(columns)
    both = joined(columns, names, len(columns))
    return aligned(y, names, both), aligned(predicted, columns, both), both


def values_of(y: Array, names: Sequence[str] | None) -> list[Any]:
    """Give each row as a plain value: of (n,) a number, of (n, q) the names of what is there.

    >>> values_of(np.array([[1.0, 0.0], [1.0, 1.0]]), ["calm", "sad"])
    [('calm',), ('calm', 'sad')]
    """
    if names is None:
        return list(y.tolist())
    return [tuple(names[i] for i in np.flatnonzero(row).tolist()) for row in y]


def array_of(
    values: Sequence[Label], known: Sequence[str] = ()
) -> tuple[Array, tuple[str, ...] | None]:
    """Give rows from plain values, and of sets the names of the columns: known ones come first.

    >>> y, names = array_of([("calm",), ("sad", "calm")], known=["quiet"])
    >>> y.tolist(), names
    ([[0.0, 1.0, 0.0], [0.0, 1.0, 1.0]], ('quiet', 'calm', 'sad'))
    """
    sets = [value for value in values if isinstance(value, tuple)]
    if not sets:
        return freeze(np.array(values)), None
    names = joined(known, [name for value in sets for name in value], len(known))
    place = {name: i for i, name in enumerate(names)}
    y = np.zeros((len(sets), len(names)))
    for row, value in enumerate(sets):
        y[row, [place[name] for name in value]] = 1.0
    return freeze(y), names
