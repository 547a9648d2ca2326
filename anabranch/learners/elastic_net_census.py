"""How far the hub of a graph is from the optimum: a question that goes round, and comes back."""

from collections.abc import Iterable, Mapping
from math import isfinite, nan

import numpy as np

from anabranch.learners.elastic_net_gap import answer_of, duality_gap, relative_gap
from anabranch.learners.elastic_net_part import saved_names
from anabranch.learners.elastic_net_system import System
from anabranch.learners.elastic_net_tree import Tree
from anabranch.learners.states import saved_array
from anabranch.protocol import Array, NodeId, State, freeze

__all__ = ["Census"]

_EVERY = 20
"""Messages of the hub from one question to the next."""

_PATIENCE = 3
"""Rounds beyond the way there and back after which a child is asked again."""


class Census:
    """What all nodes say of the hub's parameters, summed up along a `Tree`.

    The hub's question is passed on to the children; a node answers its parent when its
    children have answered, by the sum of theirs and its own (`answer_of`), with the number
    of nodes it stands for. A child that does not answer is asked again.

    Parameters
    ----------
    tree : the node's place in the graph

    Attributes
    ----------
    objective, gap : at the parameters last asked about, where this is the hub; else NaN
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.objective = self.gap = nan
        self._number, self._open, self._owed = 0, False, False
        self._theta = freeze(np.zeros(tree.size))
        self._own = np.zeros(self.width)
        self._answers: dict[NodeId, Array] = {}
        self._waited: dict[NodeId, int] = {}
        """Rounds since a child was asked."""
        self._next = _EVERY

    @property
    def width(self) -> int:
        """Length of an answer."""
        return 2 * self.tree.size + 2

    @staticmethod
    def groups(size: int) -> tuple[Mapping[str, int], ...]:
        """Lay out the arrays that come with some messages."""
        return ({"question": size, "number": 1}, {"answer": 2 * size + 2, "to": 1})

    def drop(self) -> None:
        """Ask no longer: the units have changed."""
        self._open = self._owed = False

    def forget(self, names: Iterable[NodeId]) -> None:
        """Drop what was said by, or asked of, who is no neighbour any more."""
        for name in names:
            self._answers.pop(name, None)
            self._waited.pop(name, None)

    def hear(self, sender: NodeId, arrays: Mapping[str, Array], system: System) -> None:
        """Take a parent's question or a child's answer, in the node's own units."""
        if "question" in arrays and sender == self.tree.parent:
            number = int(arrays["number"][0])
            if number > self._number or not self._open:
                self._ask(number, arrays["question"], system)
            self._owed = True
        if "answer" in arrays and int(arrays["to"][0]) == self._number and self._open:
            self._answers[sender] = arrays["answer"]

    def _ask(self, number: int, theta: Array, system: System) -> None:
        self._number, self._theta, self._open = number, freeze(theta.copy()), True
        self._own = np.append(answer_of(system, theta), 1.0)
        self._answers.clear()
        self._waited.clear()

    def lead(self, sequence: int, theta: Array, system: System, l1: Array, l2: Array) -> None:
        """Let the hub ask if it is time, and work out what came back."""
        if self._open and self._complete:
            total = self._total()
            if total[-1] == self.tree.nodes:
                self.objective, self.gap = duality_gap(self._theta, total[:-1], l1, l2)
            self._open = False
        if sequence >= self._next and not self._open:
            self._next = sequence + _EVERY
            self._ask(self._number + 1, theta, system)

    def pass_time(self) -> None:
        """Note that a round has passed."""
        for name in self._waited:
            self._waited[name] += 1

    @property
    def _complete(self) -> bool:
        return all(name in self._answers for name in self.tree.children)

    def _total(self) -> Array:
        total = self._own
        for name in self.tree.children:
            total = total + self._answers[name]
        return total

    def due(self, name: NodeId) -> bool:
        """Tell whether a neighbour is to be asked or answered."""
        if not self._open:
            return False
        if name == self.tree.parent:
            return self._owed and self._complete
        if name in self._answers or name not in self.tree.children:
            return False
        patience = 2 * self.tree.depth(name) + _PATIENCE
        return self._waited.get(name, patience) >= patience

    def arrays(self, name: NodeId) -> dict[str, Array]:
        """Give what goes into the message to a neighbour."""
        if not self.due(name):
            return {}
        number = freeze(np.array([float(self._number)]))
        if name == self.tree.parent:
            self._owed = False
            return {"answer": freeze(self._total()), "to": number}
        self._waited[name] = 0
        return {"question": self._theta, "number": number}

    def measures(self) -> dict[str, float]:
        """Give objective and gap, as a share of it, where they are known."""
        if not isfinite(self.objective):
            return {}
        return {"objective": self.objective, **relative_gap(self.objective, self.gap)}

    def export(self) -> State:
        """Give the state."""
        answered, asked = sorted(self._answers), sorted(self._waited)
        rows = np.array([self._answers[n] for n in answered])
        known = [v if isfinite(v) else -1.0 for v in (self.objective, self.gap)]
        turns = [self._number, self._open, self._owed, self._next, *known]
        return {
            "census": np.array([*turns, *self._theta, *self._own]),
            "answered": answered,
            "answers": rows.reshape(len(answered), self.width),
            "asked": asked,
            "waited": [self._waited[name] for name in asked],
        }

    def restore(self, state: State) -> None:
        """Take it back.

        Raises
        ------
        ModelError
            It is damaged.
        """
        size = self.tree.size
        census = saved_array(state, "census", (6 + size + self.width,))
        self._number, self._open, self._owed = int(census[0]), bool(census[1]), bool(census[2])
        self._next = int(census[3])
        self.objective, self.gap = (v if v >= 0.0 else nan for v in census[4:6].tolist())
        self._theta, self._own = freeze(census[6 : 6 + size].copy()), census[6 + size :]
        answered, asked = saved_names(state, "answered"), saved_names(state, "asked")
        rows = saved_array(state, "answers", (len(answered), self.width))
        self._answers = dict(zip(answered, rows, strict=True))
        waited = saved_array(state, "waited", (len(asked),)).astype(np.int64).tolist()
        self._waited = dict(zip(asked, waited, strict=True))
