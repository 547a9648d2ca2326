"""The features of River's samples as columns, in sorted order of their names."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np

from anabranch.protocol import Array
from anabranch.river_face.names import name_of

__all__ = ["Columns"]


class _Spare(Enum):
    """What stands in a column where the first sample has no feature."""

    COLUMN = 0


class Columns:
    """Which feature stands in which column; features that are new move the others apart.

    If the first sample has no feature there is a column of zeros, which stays.

    Examples
    --------
    >>> columns = Columns()
    >>> _ = columns.take_up({"b": 1.0, "d": 2.0})
    >>> columns.take_up({"a": 0.0, "b": 0.0}).tolist()  # where the others stand now
    [1, 2]
    >>> columns.names, columns.row({"d": 5.0, "unknown": 1.0}).tolist()
    (['a', 'b', 'd'], [[0.0, 0.0, 5.0]])
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self._column: dict[Any, int] = {}

    def take_up(self, values: Mapping[Any, float]) -> Array | None:
        """Know the features of a sample; give the new places of those known, None if all are."""
        features = values.keys() if values or self.names else [_Spare.COLUMN]
        new = {f: name_of(f) for f in features if f not in self._column}
        if not new:
            return None
        names = {f: self.names[i] for f, i in self._column.items()} | new
        ordered = sorted(names, key=names.__getitem__)
        column = {feature: i for i, feature in enumerate(ordered)}
        known = sorted(self._column, key=self._column.__getitem__)
        places = np.array([column[feature] for feature in known], dtype=np.int64)
        self._column, self.names = column, [names[feature] for feature in ordered]
        return places

    def row(self, values: Mapping[Any, float]) -> Array:
        """Give a sample as (1, K); features that it lacks are 0, unknown ones are left out."""
        row = np.zeros((1, len(self.names)))
        for feature, value in values.items():
            place = self._column.get(feature)
            if place is not None:
                row[0, place] = value
        return row
