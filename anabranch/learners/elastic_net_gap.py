"""How far parameters are from the optimum, at most: a duality gap from sums over the nodes."""

from collections.abc import Iterable
from math import inf, isfinite, nan

import numpy as np

from anabranch.learners.elastic_net_part import saved_names
from anabranch.learners.elastic_net_system import System
from anabranch.learners.states import saved_array
from anabranch.protocol import Array, NodeId, State, freeze

__all__ = ["Certificate", "answer_of", "duality_gap", "relative_gap"]


def answer_of(system: System, alpha: Array) -> Array:
    """Give what a node has to say of alpha: slope c - A alpha, the last column of A, the loss.

    Returns
    -------
    (2 (p + 1) + 1,), so that the answers of all nodes can be added
    """
    return np.concatenate([system.slope(alpha), system.A[:, -1], [system.loss(alpha)]])


def duality_gap(alpha: Array, answers: Array, l1: Array, l2: Array) -> tuple[float, float]:
    """Give the objective F at alpha, and what it exceeds the least F by, at most.

    The dual point is the residual r at alpha less its mean, which the intercept asks for, or a
    multiple t r: with S = X'r/M, D(t) = t (|r|^2/M + w'S) - t^2 |r|^2/2M - sum_j
    max(|t S_j| - l1_j, 0)^2/(2 l2_j). t is 1, or the largest that makes the last sum 0.

    Parameters
    ----------
    alpha : (p + 1,)
    answers : sum over the nodes of `answer_of`
    l1, l2 : (p + 1,), 0 for the intercept

    Returns
    -------
    objective, gap; the gap is infinite where nothing is known, as with u1 = u2 = 0

    Examples
    --------
    >>> system = System(2)
    >>> system.A[:], system.c[:], system.square = np.eye(2), [2.0, 0.0], 5.0
    >>> penalty = np.array([1.0, 0.0])
    >>> best = np.array([1.0, 0.0])
    >>> duality_gap(best, answer_of(system, best), l1=penalty, l2=0.0 * penalty)
    (2.0, 0.0)
    >>> duality_gap(0.0 * best, answer_of(system, 0.0 * best), l1=penalty, l2=0.0 * penalty)
    (2.5, 0.625)
    """
    size = alpha.size
    slope, lean, loss = answers[:size], answers[size : 2 * size], float(answers[-1])
    w, weight = alpha[:-1], float(lean[-1])
    objective = loss + float((l1 * abs(alpha) + 0.5 * l2 * alpha * alpha).sum())
    if weight <= 0.0:
        return objective, inf
    shift = float(slope[-1]) / weight
    S = slope[:-1] - shift * lean[:-1]
    square = max(0.0, 2.0 * loss - shift * shift * weight)  # |r|^2/M
    steps = {1.0, _inner(abs(S), l1[:-1])} - {0.0}  # at 0 the bound is F >= 0
    dual = max(_dual(t, square, float((w * S).sum()), abs(S), l1[:-1], l2[:-1]) for t in steps)
    return objective, max(0.0, objective - dual)


def relative_gap(objective: float, gap: float) -> dict[str, float]:
    """Give the gap as a share of the objective, as a measure; nothing where it is not known.

    >>> relative_gap(2.0, 0.5), relative_gap(2.0, inf)
    ({'gap': 0.25}, {})
    """
    if not isfinite(gap):
        return {}
    return {"gap": gap / objective if objective > 0.0 else 0.0}


def _inner(S: Array, l1: Array) -> float:
    """Give the largest t up to 1 with t S_j <= l1_j for all j."""
    over = l1 < S
    return float((l1[over] / S[over]).min(initial=1.0))


def _dual(t: float, square: float, wS: float, S: Array, l1: Array, l2: Array) -> float:
    over = np.maximum(t * S - l1, 0.0)
    # At the inner step what remains is rounding.
    over[over <= 1e-15 * l1] = 0.0
    if (over[l2 == 0.0] > 0.0).any():
        return -inf
    known = l2 > 0.0
    price = float((over[known] * over[known] / (2.0 * l2[known])).sum())
    return t * (square + wS) - 0.5 * t * t * square - price


class Certificate:
    """The server's question to all nodes, now and then, what they say of an alpha.

    Asked until all have answered for it, in the same units: then their sum tells how far it was
    from the optimum for the samples they spoke of.

    Parameters
    ----------
    size : p + 1

    Attributes
    ----------
    asked : number of the question, 0 for none
    objective, gap : of the last alpha that all have answered for; NaN before that
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.asked = 0
        self.objective = self.gap = nan
        self._alpha, self._own = np.zeros(size), np.zeros(2 * size + 1)
        self._answers: dict[NodeId, Array] = {}

    def ask(self, number: int, alpha: Array, own: Array) -> None:
        """Begin anew; `own` is the answer by the server's own samples."""
        self.asked, self._alpha, self._own = number, freeze(alpha.copy()), own
        self._answers.clear()

    def question(self, name: NodeId) -> dict[str, Array]:
        """Give what goes into a message to a node, if it is still to answer."""
        if not self.asked or name in self._answers:
            return {}
        return {"question": self._alpha, "number": freeze(np.array([float(self.asked)]))}

    def drop(self) -> None:
        """Ask no longer: the units have changed."""
        self.asked = 0
        self._answers.clear()

    def hear(self, name: NodeId, number: int, answer: Array) -> None:
        """Take a node's answer, if it is to this question."""
        if number == self.asked > 0:
            self._answers[name] = answer

    def conclude(self, names: Iterable[NodeId], l1: Array, l2: Array) -> None:
        """Work the gap out if the nodes named have all answered."""
        names = sorted(names)
        if not self.asked or not names or any(name not in self._answers for name in names):
            return
        total = self._own
        for name in names:
            total = total + self._answers[name]
        self.objective, self.gap = duality_gap(self._alpha, total, l1, l2)
        self.drop()

    def measures(self) -> dict[str, float]:
        """Give the gap as a share of the objective, where it is known."""
        return relative_gap(self.objective, self.gap)

    def export(self) -> State:
        """Give the state."""
        names = sorted(self._answers)
        rows = np.array([self._answers[n] for n in names]).reshape(len(names), 2 * self.size + 1)
        known = (self.objective, self.gap) if isfinite(self.gap) else ()
        return {
            "asked": np.array([self.asked, *self._alpha, *self._own]),
            "answered": names,
            "answers": rows,
            "certified": np.array(known, dtype=np.float64),
        }

    def restore(self, state: State) -> None:
        """Take it back.

        Raises
        ------
        ModelError
            It is damaged.
        """
        asked = saved_array(state, "asked", (3 * self.size + 2,))
        self.asked = int(asked[0])
        self._alpha, self._own = freeze(asked[1 : 1 + self.size].copy()), asked[1 + self.size :]
        names = saved_names(state, "answered")
        rows = saved_array(state, "answers", (len(names), 2 * self.size + 1))
        self._answers = dict(zip(names, rows, strict=True))
        known = saved_array(state, "certified", (-1,)).tolist()
        self.objective, self.gap = known if len(known) == 2 else (nan, nan)
