"""Rows of numbers under names, in one array that kernels can run over."""

from bisect import bisect_left

import numpy as np

from anabranch.errors import ModelError
from anabranch.protocol import Array, NodeId

__all__ = ["NamedRows"]


class NamedRows:
    """What each of some nodes said last, in sorted order of their names.

    Parameters
    ----------
    width : numbers in a row

    Attributes
    ----------
    names : sorted
    rows : (N, width), in their order

    Examples
    --------
    >>> said = NamedRows(2)
    >>> said.row("b")[:] = 1.0
    >>> said.row("a")[:] = 2.0
    >>> said.names, said.rows.tolist()
    (['a', 'b'], [[2.0, 2.0], [1.0, 1.0]])
    """

    def __init__(self, width: int) -> None:
        self.names: list[NodeId] = []
        self.rows = np.zeros((0, width))
        self._places: dict[NodeId, int] = {}

    def __contains__(self, name: NodeId) -> bool:
        return name in self._places

    def row(self, name: NodeId) -> Array:
        """Give a node's row, to be read or written at once: a new one's is 0."""
        place = self._places.get(name)
        if place is None:
            place = bisect_left(self.names, name)
            names = [*self.names[:place], name, *self.names[place:]]
            self._become(names, np.insert(self.rows, place, 0.0, axis=0))
        found: Array = self.rows[place]
        return found

    def drop(self, name: NodeId) -> None:
        """Forget a node, known or not."""
        place = self._places.get(name)
        if place is not None:
            names = [*self.names[:place], *self.names[place + 1 :]]
            self._become(names, np.delete(self.rows, place, axis=0))

    def _become(self, names: list[NodeId], rows: Array) -> None:
        self.names, self.rows = names, rows
        self._places = {name: place for place, name in enumerate(names)}

    def fill(self, names: list[NodeId], rows: Array) -> None:
        """Put these rows, of a saved state, in the place of all.

        Raises
        ------
        ModelError
            The names are not in order.
        """
        if names != sorted(set(names)):
            raise ModelError(f"damaged state: names={names}; allowed: each once, in sorted order")
        self._become(names, rows)
