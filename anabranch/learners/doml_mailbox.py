"""What a DOML node knows of its neighbours: the last each one said."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from anabranch.errors import ModelError
from anabranch.learners.doml_level import edge_weight
from anabranch.learners.doml_wire import STATE, Telling
from anabranch.learners.states import saved_array, saved_value
from anabranch.protocol import Array, NodeId, State

__all__ = ["Mailbox", "Neighbour", "Totals"]

_NUMBERS = 3
"""Numbers of a neighbour besides the last message's state."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The last that was heard of a neighbour.

    Attributes
    ----------
    state : name -> number, of its last message
    echo : tags of the messages that one was made from
    at : steps this node had made then
    pair : P and beta (2, d, q) in this node's coordinates and columns; None before any
    tag, version : of the last message up to which `pair` is complete
    """

    state: Mapping[str, float]
    echo: Array
    at: int
    pair: Array | None = None
    tag: float = 0.0
    version: int = 0

    @property
    def key(self) -> tuple[float, int]:
        """Of its coordinates."""
        return self.state["count"], int(self.state["digest"])

    def told(self, one: Telling, pair: Array) -> "Neighbour":
        """Give this with a message's parameters, as far as they can be used."""
        base, number, before = int(one.state["base"]), int(one.state["version"]), self.pair
        complete = replace(self, tag=one.state["tag"], version=number)
        if one.rows is None and not one.moves:
            return replace(complete, pair=pair)
        if before is None or number == self.version:
            return self
        if one.rows is None:
            return replace(complete, pair=before + pair) if base == self.version else self
        after = before.copy()
        after[:, one.rows] = pair
        return replace(complete if base <= self.version else self, pair=after)


@dataclass(frozen=True, slots=True)
class Totals:
    """What a step needs of the neighbours: d_i = sum w, and sum w (P_j, beta_j), (2, d, q)."""

    degree: float
    pair: Array


class Mailbox:
    """The neighbours by name; a silent one keeps its last value, one that left is dropped."""

    def __init__(self) -> None:
        self.known: dict[NodeId, Neighbour] = {}
        self.silent = False
        """Whether some neighbour was never heard."""

    def keep(self, names: Iterable[NodeId]) -> None:
        """Drop who is no neighbour any more."""
        names = set(names)
        self.known = {name: near for name, near in sorted(self.known.items()) if name in names}
        self.silent = len(self.known) < len(names)

    def put(self, one: Telling, pair: Array | None, at: int) -> None:
        """Note what a neighbour said; without usable parameters those before stay."""
        before = self.known.get(one.sender, Neighbour(one.state, one.echo, at))
        near = replace(before, state=one.state, echo=one.echo, at=at)
        self.known[one.sender] = near if pair is None else near.told(one, pair)

    def forget(self) -> None:
        """Wait for parameters anew."""
        for name, near in self.known.items():
            self.known[name] = replace(near, pair=None)

    def change(self, P: Callable[[Array], Array], beta: Callable[[Array], Array]) -> None:
        """Take all parameters to other coordinates or columns."""
        for name, near in self.known.items():
            if near.pair is not None:
                pair = np.stack((P(near.pair[0]), beta(near.pair[1])))
                self.known[name] = replace(near, pair=pair)

    @property
    def usable(self) -> list[tuple[Neighbour, Array]]:
        """Neighbours with parameters, and these, by name."""
        near = (self.known[name] for name in sorted(self.known))
        return [(one, one.pair) for one in near if one.pair is not None]

    def totals(self, scale: float, w: float | None) -> Totals | None:
        """Sum over the neighbours, each edge with weight `w` or one that both ends agree on."""
        degree, total = 0.0, None
        for near, pair in self.usable:
            weight = edge_weight(scale, near.state["scale"]) if w is None else w
            degree += weight
            part = pair * pair.dtype.type(weight)
            total = part if total is None else np.add(total, part, out=total)
        return None if total is None else Totals(degree, total)

    def disagreement(self, P: Array) -> float:
        """Give the largest |P - P_j|; 0 without neighbours."""
        return max((float(np.linalg.norm(P - pair[0])) for _, pair in self.usable), default=0.0)

    def export(self, shape: tuple[int, ...], dtype: Any) -> State:
        """Give the state: names, and arrays over the neighbours."""
        near = [self.known[name] for name in sorted(self.known)]
        nothing = np.zeros((2, *shape), dtype)
        pairs = [nothing if one.pair is None else one.pair for one in near]
        rows = [[*one.state.values(), one.at, one.tag, one.version] for one in near]
        return {
            "near": sorted(self.known),
            "near_silent": self.silent,
            "near_usable": [one.pair is not None for one in near],
            "near_state": np.array(rows, dtype=float).reshape(len(near), len(STATE) + _NUMBERS),
            "near_echo": np.concatenate([np.zeros(0), *(one.echo for one in near)]),
            "near_pairs": np.array(pairs, dtype=dtype).reshape(len(near), 2, *shape),
        }

    @classmethod
    def restore(cls, state: State, shape: tuple[int, ...], dtype: Any) -> Self:
        """Read the state of `export`.

        Raises
        ------
        ModelError
            It is damaged.
        """
        box = cls()
        names, usable = saved_value(state, "near"), saved_value(state, "near_usable")
        if not (isinstance(names, list) and isinstance(usable, list) and len(names) == len(usable)):
            raise ModelError(f"damaged state: near={names!r}; allowed: names")
        box.silent = bool(saved_value(state, "near_silent"))
        rows = saved_array(state, "near_state", (len(names), len(STATE) + _NUMBERS))
        if (rows < 0.0).any():
            raise ModelError("damaged state: near_state is negative")
        counts = rows[:, STATE.index("echoes")].astype(np.int64)
        echo = saved_array(state, "near_echo", (int(counts.sum()),))
        pairs = saved_array(state, "near_pairs", (len(names), 2, *shape))
        echoes = np.split(echo, np.cumsum(counts)[:-1]) if names else []
        for i, name in enumerate(names):
            values, (at, tag, version) = rows[i, : len(STATE)], rows[i, len(STATE) :].tolist()
            pair = pairs[i].astype(dtype) if usable[i] else None
            box.known[str(name)] = Neighbour(
                dict(zip(STATE, values.tolist(), strict=True)), echoes[i], int(at), pair, tag,
                int(version),
            )  # fmt: skip
        return box
