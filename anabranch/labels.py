"""Sets of labels as columns of 0 and 1, and the names of the columns."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from anabranch.errors import ConfigurationError
from anabranch.protocol import Array

__all__ = ["aligned", "joined", "named"]


def named(labels: int | Sequence[str]) -> tuple[str, ...]:
    """Give labels names: themselves, or their numbers.

    Raises
    ------
    ConfigurationError
        The number is negative, or a name is empty or there twice.

    >>> named(2), named(["calm", "sad"])
    (('0', '1'), ('calm', 'sad'))
    """
    if isinstance(labels, int):
        if labels < 0:
            raise ConfigurationError(f"labels = {labels} is negative; allowed: 0 or more")
        return tuple(str(i) for i in range(labels))
    names = tuple(labels)
    twice = Counter(names)
    for name in names:
        if not isinstance(name, str) or not name or twice[name] > 1:
            raise ConfigurationError(
                f"labels names {name!r}; allowed: texts that are not empty, each once"
            )
    return names


def joined(labels: Sequence[str], others: Sequence[str], first: int) -> tuple[str, ...]:
    """Take other labels up: the `first` ones stay where they are, the rest is sorted.

    >>> joined(("z", "a", "m"), ["b", "m"], first=1)
    ('z', 'a', 'b', 'm')
    """
    known = set(labels)
    if known.issuperset(others):
        return tuple(labels)
    fixed = tuple(labels[:first])
    return fixed + tuple(sorted((known | set(others)) - set(fixed)))


def aligned(y: Array, names: Sequence[str], labels: Sequence[str]) -> Array:
    """Give y (n, len(names)) with a column for each of `labels`; those not named are 0.

    >>> aligned(np.array([[1.0, 0.0]]), ["b", "a"], ["a", "b", "c"]).tolist()
    [[0.0, 1.0, 0.0]]
    """
    if tuple(names) == tuple(labels):
        return y
    place = {label: i for i, label in enumerate(labels)}
    out = np.zeros((len(y), len(labels)), dtype=y.dtype)
    for column, name in enumerate(names):
        if name in place:
            out[:, place[name]] = y[:, column]
    return out
